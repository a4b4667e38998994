import { expect, it, jest } from '@jest/globals';
import { RecordedLog } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { MaintenanceWatch } from './maintenance-watch.ts';
import { Maintenance } from './state/maintenance.ts';
import type { WindowStore } from './state/window-store.ts';

const PAUSE_MS = 90_000;

it.each<[string, number, number[]]>([
  ['agree', 0, []],
  ['agree up to a few seconds', -20_000, []],
  ['differ, the database is behind', -40_000, [-40_000]],
  ['differ, the database is ahead', PAUSE_MS + 40_000, [40_000]],
])(
  'a process that pauses while it reads the window tells whether the clocks %s',
  async (_, aheadMs, told) => {
    jest.useFakeTimers();
    try {
      const recorded = new RecordedLog();
      const read = () => {
        const now = Date.now() + aheadMs;
        jest.setSystemTime(Date.now() + PAUSE_MS);
        return Promise.resolve({ window: undefined, now });
      };
      const store = { read } as unknown as WindowStore;
      const watch = new MaintenanceWatch(store, new Maintenance(), recorded.log, new Metrics());
      await watch.look();
      const differ = recorded.lines.filter(({ event }) => event === 'clocks-differ');
      expect(differ.map((line) => line['aheadMs'])).toEqual(told);
    } finally {
      jest.useRealTimers();
    }
  },
);
