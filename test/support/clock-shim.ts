import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { endianness, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

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
    const source = resolve('test/support/clock-shim.c');
    const options = ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', clock.#library, source];
    const { error, status, stderr } = spawnSync('gcc', options, { encoding: 'utf8' });
    if (status === 0) return clock;
    clock.stop();
    throw new Error(
      error
        ? 'gcc is not on the PATH: install a C compiler (Debian and Ubuntu: apt-get install gcc libc6-dev)'
        : `gcc ended with ${status}: ${stderr}`,
    );
  }

  /** For the processes that use this clock. */
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
