import 'reflect-metadata';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { loadConfig } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';

/**
 * `npm run database-backup -- <file>` copies the database of SQLite into a new file while gateways keep running. It is part of the build,
 * so that the image has it too (`node dist/bundle/database-backup.js <file>`).
 */

/** Another process may hold the lock of the file for this long. */
const BUSY_MS = 10_000;

class Refused extends Error {}

function backUp(options: readonly string[]): void {
  const [target] = options;
  if (target === undefined || target.startsWith('-') || options.length > 1)
    throw new Refused('usage: npm run database-backup -- <file>');
  const { address } = loadConfig(process.env).database;
  if (address.kind === 'memory')
    throw new Refused(
      'DATABASE_URL is sqlite::memory:, which is forgotten with the process: there is nothing to back up',
    );
  if (address.kind !== 'file')
    throw new Refused(
      'DATABASE_URL is a PostgreSQL: back it up with pg_dump or pg_basebackup, or as its service does it',
    );
  const { path } = address;
  if (!existsSync(path)) throw new Refused(`The file of DATABASE_URL is not there: ${path}`);
  if (existsSync(target)) throw new Refused(`${target} is there already: name a file that is not`);
  copy(path, target);
  process.stdout.write(`${target} has the database as it is now (${statSync(target).size} bytes).\n`);
}

/** Writes the copy under a temporary name, and renames it once the copy is whole and on the disk. */
function copy(path: string, target: string): void {
  try {
    accessSync(dirname(target), constants.W_OK);
  } catch {
    throw new Refused(`The folder ${dirname(target)} is not there or not writable: name a file in another`);
  }
  const part = `${target}.part-${process.pid}`;
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
  try {
    // The copy has the names of callers and orders in plain text. VACUUM would make a file that all users of the machine can read.
    const { mode } = statSync(path);
    const file = openSync(part, 'wx', mode);
    fchmodSync(file, mode);
    database.prepare('VACUUM INTO ?').run(part);
    fsyncSync(file);
    closeSync(file);
    renameSync(part, target);
  } finally {
    database.close();
    rmSync(part, { force: true });
  }
}

try {
  backUp(process.argv.slice(2));
} catch (error) {
  const isKnown = error instanceof Refused || error instanceof ConfigError;
  const words = error instanceof Error ? error.message : 'an unexpected fault';
  process.stderr.write(`${isKnown ? words : `The backup failed: ${words}`}\n`);
  process.exitCode = 1;
}
