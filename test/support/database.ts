import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { keptFolder, newEncryptionKey, newSecret } from './canary.ts';
import { keepSchema, postgresUrl } from './postgres.ts';
import { serverFolder } from './redis.ts';

/** Databases for the suites. This file imports no file of the gateway, because each suite would then load Nest and other packages with it. */

export type EngineName = 'memory' | 'file' | 'postgres';
/** The engines for the contract of a store. A database in memory runs the statements of a file. */
export const engines: readonly EngineName[] = ['file', 'postgres'];

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

/** All that `database-init` needs. */
export function initEnvironment(url: string): Record<string, string> {
  return {
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    UPSTREAM_TOKEN_URL: 'http://127.0.0.1:9/oauth/token',
    UPSTREAM_APP_KEY: newSecret('a'),
    UPSTREAM_APP_SECRET: newSecret('s'),
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
