import type { Run } from './measure.ts';
import type { Task } from './tasks.ts';

export interface Scenario {
  readonly name: string;
  /** Measured in turns, the reference first. */
  readonly runs: readonly Run[];
}

const KB = 1_024;
const read = (bytes: number, how: 'fresh' | 'miss' | 'cached'): Task => ({ kind: 'read', bytes, how });
const order = (items: number): Task => ({ kind: 'order', items });
const each = (task: Task, ...contenders: string[]): Run[] =>
  contenders.map((contender) => ({ contender, task }));

export const scenarios: readonly Scenario[] = [
  { name: 'read 1 KB, past the cache', runs: each(read(KB, 'fresh'), 'bare', 'gateway') },
  { name: 'read 20 KB, past the cache', runs: each(read(20 * KB, 'fresh'), 'bare', 'gateway') },
  { name: 'read 1 KB, not in the cache', runs: each(read(KB, 'miss'), 'bare', 'gateway') },
  { name: 'cached read 1 KB', runs: each(read(KB, 'cached'), 'bare', 'gateway') },
  { name: 'cached read 20 KB', runs: each(read(20 * KB, 'cached'), 'bare', 'gateway') },
  { name: 'batch order of 10', runs: each(order(10), 'bare', 'gateway', 'gateway, embedded') },
  {
    name: 'batch order of 1,000',
    // One at a time: 64 of them would be 50 MB under way.
    runs: each(order(1_000), 'bare', 'gateway', 'gateway, embedded').map((run) => ({
      ...run,
      connections: 1,
    })),
  },
];
