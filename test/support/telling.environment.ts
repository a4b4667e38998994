import { TestEnvironment } from 'jest-environment-node';
import type { Told } from './told.ts';

/**
 * A worker that Jest ends leaves its memory to the system. To free several hundred MB by itself may take it longer than the half second
 * after which Jest stops it, and warns of a leak. Jest takes its listener off when all results have arrived.
 */
if (process.channel)
  process.on('removeListener', (event) => event === 'message' && process.kill(process.pid, 'SIGKILL'));

/** A failed test also shows what it waited for, what its gateways were asked last, what they answered, and what they warned of. */
export default class TellingEnvironment extends TestEnvironment {
  handleTestEvent(event: { name: string; test?: { errors: unknown[] } }): void {
    const global = this.global as unknown as Told;
    if (event.name === 'test_start') global.told = [];
    if (event.name === 'run_finish') global.areTestsOver = true;
    if (event.name !== 'test_done' || !event.test?.errors.length) return;
    const show = (title: string, lines: readonly string[]) => {
      if (lines.length === 0) return;
      const error = new Error('told');
      error.stack = [title, ...lines].join('\n');
      event.test?.errors.push(error);
    };
    show('What the test was waiting for:', [...(global.waits ?? [])]);
    show('What the gateways of this test did last:', global.told ?? []);
  }
}
