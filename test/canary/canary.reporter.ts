import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { newMark } from '../support/canary.ts';
import { scan } from './scan.ts';

const MIB = 1024 * 1024;

/**
 * After every run of tests, searches its output for the run's secrets, and fails the run when it finds one. The output is that of Jest,
 * the gateways and all other processes, the responses and logs of gateways, the content of Redis, and every file of the project.
 */
export default class CanaryReporter {
  readonly #root: string;
  readonly #mark = newMark();
  readonly #folder = mkdtempSync(join(tmpdir(), 'canaries-'));
  readonly #printed: string[] = [];
  #error: Error | undefined;

  constructor({ rootDir }: { rootDir: string }) {
    this.#root = rootDir;
    // The workers inherit this mark, so it is set before they start.
    process.env['CANARY_MARK'] = this.#mark;
    process.env['CANARY_FOLDER'] = this.#folder;
    for (const stream of [process.stdout, process.stderr]) this.#record(stream);
  }

  onRunComplete(): void {
    writeFileSync(join(this.#folder, 'printed-by-jest'), this.#printed.join(''));
    const started = performance.now();
    const { findings, files, bytes } = scan([this.#folder, this.#root], this.#mark, isForeign);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stderr.write(
      `\nCanaries: ${this.#kindsMade()} kinds made, ${files} files and ${(bytes / MIB).toFixed(1)} MiB looked through ` +
        `in ${seconds} s, ${findings.length} found\n`,
    );
    if (findings.length === 0) {
      rmSync(this.#folder, { recursive: true, force: true });
      return;
    }
    for (const { kind, form, file, before } of findings)
      process.stderr.write(`  ${kind}, ${form}, in ${file} after: ${before}\n`);
    process.stderr.write(`What was kept is in ${this.#folder}\n`);
    this.#error = new Error(`${findings.length} secrets of this run were written down`);
  }

  /** Jest then fails the run. */
  getLastError(): Error | undefined {
    return this.#error;
  }

  #record(stream: NodeJS.WriteStream): void {
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
    stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      this.#printed.push(String(chunk));
      return write(chunk, ...rest);
    };
  }

  #kindsMade(): number {
    const made = readdirSync(this.#folder).filter((name) => name.startsWith('made.'));
    return new Set(made.flatMap((name) => [...readFileSync(join(this.#folder, name), 'utf8')])).size;
  }
}

function isForeign(path: string): boolean {
  return ['node_modules', '.git'].includes(basename(path));
}
