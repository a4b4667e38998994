import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { jest } from '@jest/globals';
import { Database } from '../../src/database/database.ts';
import { keptFolder, newEncryptionKey } from './canary.ts';
import { keepSchema, postgresUrl } from './postgres.ts';
import { serverFolder } from './redis.ts';
import { credential, RecordedLog, settings } from './settings.ts';

export const engines = ['memory', 'file', 'postgres'] as const;
export type EngineName = (typeof engines)[number];

/** The URL of an empty database, and what removes it, once its content is kept for the search for secrets. */
export async function emptyDatabase(
  engine: EngineName,
): Promise<{ url: string; remove: () => Promise<void> }> {
  if (engine === 'memory') return { url: 'sqlite::memory:', remove: () => Promise.resolve() };
  if (engine === 'postgres') {
    const url = await postgresUrl();
    return { url, remove: () => keepSchema(url) };
  }
  const folder = serverFolder('sqlite-test-');
  const remove = async () => {
    const kept = keptFolder();
    if (kept) await cp(folder, join(kept, basename(folder)), { recursive: true });
    await rm(folder, { recursive: true, force: true });
  };
  return { url: `sqlite:${join(folder, 'gateway.db')}`, remove };
}

export interface Opened {
  readonly database: Database;
  readonly log: RecordedLog;
}

/** One key for all: a database knows the keys of its gateways. */
const ENCRYPTION_KEYS = newEncryptionKey();

/** A database as a gateway opens it. `environment` has further variables, such as another `UPSTREAM_BASE_URL`. */
export async function openDatabase(
  url: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Opened> {
  const log = new RecordedLog();
  const config = settings({ DATABASE_URL: url, ENCRYPTION_KEYS, ...environment });
  log.log.addSecrets([url]);
  const database = new Database(config.database, log.log);
  await database.open();
  return { database, log };
}

/** What a read may return: records of 1 MiB, the one that passes it, and the names of its columns. */
export const MAX_OF_READ = 1.5 * 2 ** 20;

/** Returns the size of the largest result that the database gave to a read during this work. */
export async function largestRead(database: Database, work: () => Promise<unknown>): Promise<number> {
  const reading = jest.spyOn(database, 'read');
  try {
    await work();
    const results = await Promise.all(reading.mock.results.map(({ value }) => value));
    return Math.max(...results.map((found) => JSON.stringify(found).length));
  } finally {
    reading.mockRestore();
  }
}

/** All that `database-init` needs. */
export function initEnvironment(url: string): Record<string, string> {
  return {
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    UPSTREAM_TOKEN_URL: 'http://127.0.0.1:9/oauth/token',
    UPSTREAM_APP_KEY: credential(),
    UPSTREAM_APP_SECRET: credential(),
    CALLERS_FILE: 'unused',
    DATABASE_URL: url,
    ENCRYPTION_KEYS: newEncryptionKey(),
  };
}

/** Runs a program of the build as an operator does. */
export async function runProgram(
  name: 'database-init' | 'database-backup',
  environment: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<{ code: number; output: string }> {
  const { PATH = '' } = process.env;
  return new Promise((resolve) => {
    const program = ['--no-warnings', '--enable-source-maps', `dist/bundle/${name}.js`, ...options];
    execFile(process.execPath, program, { env: { PATH, ...environment } }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    );
  });
}

/** The environment is that of a gateway, where one has records there. */
export function databaseInit(
  given: string | Readonly<Record<string, string>>,
  ...options: readonly string[]
) {
  return runProgram('database-init', typeof given === 'string' ? initEnvironment(given) : given, ...options);
}
