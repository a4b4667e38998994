import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from '../../src/database/database.ts';
import { newEncryptionKey } from './canary.ts';
import { postgresUrl } from './postgres.ts';
import { serverFolder } from './redis.ts';
import { credential, RecordedLog, settings } from './settings.ts';

export const engines = ['memory', 'file', 'postgres'] as const;
export type EngineName = (typeof engines)[number];

/** The URL of an empty database, and what removes it. */
export async function emptyDatabase(engine: EngineName): Promise<{ url: string; remove: () => void }> {
  if (engine === 'memory') return { url: 'sqlite::memory:', remove: () => undefined };
  if (engine === 'postgres') return { url: await postgresUrl(), remove: () => undefined };
  const folder = serverFolder('sqlite-test-');
  return {
    url: `sqlite:${join(folder, 'gateway.db')}`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface Opened {
  readonly database: Database;
  readonly log: RecordedLog;
}

/** A database as a gateway opens it. `environment` has further variables, such as another `UPSTREAM_BASE_URL`. */
export async function openDatabase(
  url: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Opened> {
  const log = new RecordedLog();
  const config = settings({ DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey(), ...environment });
  log.log.addSecrets([url]);
  const database = new Database(config.database, log.log);
  await database.open();
  return { database, log };
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

export function databaseInit(url: string, ...options: readonly string[]) {
  return runProgram('database-init', initEnvironment(url), ...options);
}
