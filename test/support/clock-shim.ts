import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { endianness, tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileShim } from './compile-shim.ts';

/** A wall clock for servers of a test, which the test can step forward and back while they run; see clock-shim.c. */
export class SteppedClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'stepped-clock-'));
  readonly #file = join(this.#folder, 'ahead-ms');
  readonly #library = join(this.#folder, 'clock-shim.so');

  private constructor() {}

  /** Starts at the true time. Fails without a C compiler. */
  static make(): SteppedClock {
    const clock = new SteppedClock();
    // A server of another user reads it.
    chmodSync(clock.#folder, 0o755);
    clock.step(0);
    try {
      compileShim('clock-shim.c', clock.#library);
    } catch (error) {
      clock.stop();
      throw error;
    }
    return clock;
  }

  /** The variables of the processes that use this clock. */
  get environment(): Record<string, string> {
    return { LD_PRELOAD: this.#library, CLOCK_SHIM_FILE: this.#file };
  }

  /** Sets the clock this many ms ahead of the true time; negative: behind it. */
  step(aheadMs: number): void {
    const bytes = Buffer.alloc(8);
    if (endianness() === 'LE') bytes.writeBigInt64LE(BigInt(aheadMs));
    else bytes.writeBigInt64BE(BigInt(aheadMs));
    // Written in place, since running processes have the file mapped.
    writeFileSync(this.#file, bytes, { flag: existsSync(this.#file) ? 'r+' : 'w' });
  }

  stop(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
