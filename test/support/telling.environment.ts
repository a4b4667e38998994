import { TestEnvironment } from 'jest-environment-node';
import type { Told } from './told.ts';

/** A failed test also shows what its gateways were asked last, what they answered, and what they warned of. */
export default class TellingEnvironment extends TestEnvironment {
  handleTestEvent(event: { name: string; test?: { errors: unknown[] } }): void {
    const global = this.global as unknown as Told;
    if (event.name === 'test_start') global.told = [];
    const last = global.told ?? [];
    if (event.name !== 'test_done' || !event.test?.errors.length || last.length === 0) return;
    const error = new Error('told');
    error.stack = `What the gateways of this test did last:\n${last.join('\n')}`;
    event.test.errors.push(error);
  }
}
