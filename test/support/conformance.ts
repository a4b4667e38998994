import 'reflect-metadata';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeEach } from '@jest/globals';
import { runConformance } from '../../src/conformance/run.ts';
import { keep } from './canary.ts';
import { COMPILE_CACHE, NODE_PATH } from './gateway-process.ts';
import type { TestSandbox } from './sandbox.ts';

export const HARBOUR = 'ent-harbour';

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Told {
  readonly code: string | null;
  readonly words: string;
}

export interface Report {
  readonly readings: Readonly<Record<string, unknown>>;
  readonly notAsked: readonly string[];
  readonly tokens: Readonly<Record<string, number>>;
  readonly differing: readonly string[];
  readonly refused: readonly (Told & { readonly operation: string })[];
  readonly codes: readonly (Told & { readonly module: string })[];
  readonly gaps: readonly string[];
  readonly remarks: readonly { readonly what: string; readonly isWrong: boolean }[];
  readonly notSeen: readonly string[];
  readonly left: readonly string[];
  readonly unread: readonly string[];
  readonly exitCode: number;
}

export const ofHarbour = (...options: string[]) => ['--enterprise', HARBOUR, '--channel', 'crm', ...options];

/**
 * `npm run conformance` for all tests of a file, with the sandbox as the platform. `run` and `report` run the sources in this process, which
 * takes a tenth of a start. With `isShipped`, and by `start`, it is the shipped file, as an operator runs it.
 */
export class TestConformance {
  readonly #folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  readonly profileFile = join(this.#folder, 'platform-profile.json');

  constructor(
    private readonly sandbox: TestSandbox,
    private readonly isShipped = false,
  ) {
    beforeEach(() => {
      rmSync(this.profileFile, { force: true });
      return sandbox.reset();
    });
    afterAll(() => rmSync(this.#folder, { recursive: true }));
  }

  /** Writes a file for the run, and returns its path. */
  file(name: string, content: object): string {
    const path = join(this.#folder, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  }

  usersFile(alias = 'default', password = this.sandbox.seedPassword): string {
    return this.file(`users-${alias}.json`, { [alias]: { username: 'admin@harbour', password } });
  }

  start(options: readonly string[], over: Record<string, string> = {}) {
    const args = ['dist/bundle/conformance.js', '--profile', this.profileFile, ...options];
    const env = { PATH: NODE_PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...this.#environment(over) };
    const child = spawn(process.execPath, args, { env });
    const text = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (text.err += chunk.toString()));
    const run = once(child, 'close').then(([code]): Run => {
      keep('output', text.out + text.err);
      return { code: code as number | null, ...text };
    });
    return { child: child as ChildProcess, run };
  }

  async run(options: readonly string[], over: Record<string, string> = {}): Promise<Run> {
    if (this.isShipped) return this.start(options, over).run;
    const text = { out: '', err: '' };
    const into = (name: keyof typeof text) =>
      new Writable({ write: (chunk, _encoding, done) => done(void (text[name] += String(chunk))) });
    const code = await runConformance(['--profile', this.profileFile, ...options], {
      ...{ environment: this.#environment(over), input: Readable.from([]) },
      ...{ output: into('out'), errors: into('err'), over: new AbortController().signal },
    });
    keep('output', text.out + text.err);
    return { code, ...text };
  }

  #environment(over: Record<string, string>): Record<string, string> {
    const { sandbox } = this;
    return {
      UPSTREAM_BASE_URL: sandbox.url,
      UPSTREAM_TOKEN_URL: sandbox.tokenUrl,
      UPSTREAM_APP_KEY: sandbox.appKey,
      UPSTREAM_APP_SECRET: sandbox.appSecret,
      UPSTREAM_USERS_FILE: over['UPSTREAM_USERS_FILE'] ?? this.usersFile(),
      CALLERS_FILE: this.file('callers.json', { callers: [] }),
      ...over,
    };
  }

  /** A run whose report is complete, with what it says to people on standard error. */
  async report(options: readonly string[], over?: Record<string, string>): Promise<Report & Run> {
    const run = await this.run([...options, '--json'], over);
    return { ...(JSON.parse(run.out) as Report), ...run };
  }

  /** The same for a run that has nothing more to say. */
  async reported(options: readonly string[], over?: Record<string, string>): Promise<Report & Run> {
    const report = await this.report(options, over);
    if (report.err !== '') throw new Error(`standard error has: ${report.err}`);
    return report;
  }

  get profile(): Pick<Report, 'readings' | 'notAsked'> {
    return JSON.parse(readFileSync(this.profileFile, 'utf8')) as Report;
  }
}
