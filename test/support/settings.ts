import { PassThrough } from 'node:stream';
import { type AppConfig, loadConfig } from '../../src/config/app-config.ts';
import { createLog, type Log } from '../../src/observability/log.ts';
import { FollowedFiles } from '../../src/observability/followed-files.ts';
import { Metrics } from '../../src/observability/metrics.ts';
import { keep, newSecret } from './canary.ts';

/** A credential of no special kind, of at least this many random bytes. */
export function credential(bytes = 20): string {
  return newSecret('c', Math.ceil((bytes * 8) / 6));
}

/** A complete configuration, with made-up credentials and `environment` on top. */
export function settings(environment: Readonly<Record<string, string>> = {}): AppConfig {
  return loadConfig({
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    UPSTREAM_TOKEN_URL: 'http://127.0.0.1:9/oauth/token',
    UPSTREAM_APP_KEY: newSecret('a'),
    UPSTREAM_APP_SECRET: newSecret('s'),
    CALLERS_FILE: 'unused',
    ...environment,
  });
}

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** A log that keeps its lines, and lets a test wait for one by its event. */
export class RecordedLog {
  readonly lines: LogLine[] = [];
  readonly log: Log;
  readonly files: FollowedFiles;
  readonly #waiting = new Map<string, ((line: LogLine) => void)[]>();

  constructor() {
    const stream = new PassThrough();
    stream.on('data', (chunk: Buffer) => {
      keep('log', chunk);
      for (const text of String(chunk).trim().split('\n')) this.#add(JSON.parse(text) as LogLine);
    });
    this.log = createLog('debug', stream);
    this.files = new FollowedFiles(this.log, new Metrics());
  }

  /** The next line of that event after the call. */
  next(event: string): Promise<LogLine> {
    const { promise, resolve } = Promise.withResolvers<LogLine>();
    this.#waiting.set(event, [...(this.#waiting.get(event) ?? []), resolve]);
    return promise;
  }

  get text(): string {
    return JSON.stringify(this.lines);
  }

  #add(line: LogLine): void {
    this.lines.push(line);
    const waiting = this.#waiting.get(line.event) ?? [];
    this.#waiting.delete(line.event);
    for (const resolve of waiting) resolve(line);
  }
}
