import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileShim } from './compile-shim.ts';

/** Names that end in `.slow.example`, whose look-ups do not end until the test stops this; see slow-names.c. */
export class SlowNames {
  readonly #folder = mkdtempSync(join(tmpdir(), 'slow-names-'));
  readonly #file = join(this.#folder, 'slow');
  readonly #library = join(this.#folder, 'slow-names.so');

  private constructor() {
    writeFileSync(this.#file, '');
  }

  static make(): SlowNames {
    const names = new SlowNames();
    compileShim('slow-names.c', names.#library);
    return names;
  }

  /** The variables of the processes that look them up. */
  get environment(): Record<string, string> {
    return { LD_PRELOAD: this.#library, SLOW_NAMES_FILE: this.#file };
  }

  /** Ends the look-ups. A process waits for them before it ends. */
  stop(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
