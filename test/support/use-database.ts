import { afterAll, beforeAll, jest } from '@jest/globals';
import { Database } from '../../src/database/database.ts';
import type { Query } from '../../src/database/sql.ts';
import type { Step } from '../../src/database/step.ts';
import { takeBy, type TakenTask } from '../../src/tasks/task-store.ts';
import { newEncryptionKey } from './canary.ts';
import { emptyDatabase, type EngineName } from './database.ts';
import { until } from './redis.ts';
import { RecordedLog, settings } from './settings.ts';

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

/** The most bytes of a read: records of 1 MiB, the one that passes it, and the names of its columns. */
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

/** The time is longer than any test. */
export const LONG_MS = 600_000;

/** What no store does: a test makes a row old, or breaks it. */
export const change: Step<Query, undefined> = {
  name: 'change in a test',
  decide: ([query]) => ({ writes: [query] }),
};

/** A database for all tests of a `describe` block, as two processes have it. In memory both are one. */
export function useDatabase(engine: EngineName) {
  const ends: (() => unknown)[] = [];
  let url = '';
  let attempts = 0;
  let first: Database;
  let second: Database;
  beforeAll(async () => {
    const empty = await emptyDatabase(engine);
    ({ url } = empty);
    first = (await openDatabase(url)).database;
    second = engine === 'memory' ? first : (await openDatabase(url)).database;
    ends.push(
      () => first.close(),
      () => second.close(),
      empty.remove,
    );
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  return {
    url: () => url,
    database: () => first,
    other: () => second,
    change: (query: Query) => first.step(change, query),
    /** Registers what runs before the database is closed. */
    atEnd: (end: () => unknown) => void ends.unshift(end),
    /** Takes the tasks of a kind until it has this one, as a worker does. */
    takeTask: async (kind: string, name: string, leaseMs = LONG_MS): Promise<TakenTask> => {
      let found: TakenTask | undefined;
      await until(`the task ${name} is taken`, async () => {
        const taking = { kind, attempt: `attempt-${++attempts}`, count: 100, leaseMs };
        found = (await first.step(takeBy(), taking)).find((task) => task.name === name);
        return found !== undefined;
      });
      return found as TakenTask;
    },
  };
}
