import { afterAll, beforeAll } from '@jest/globals';
import type { Database } from '../../src/database/database.ts';
import type { Query } from '../../src/database/sql.ts';
import type { Step } from '../../src/database/step.ts';
import { take, type TakenTask } from '../../src/tasks/task-store.ts';
import { emptyDatabase, type EngineName, openDatabase } from './database.ts';
import { until } from './redis.ts';

/** Longer than any test. */
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
    /** Before the database is closed. */
    atEnd: (end: () => unknown) => void ends.unshift(end),
    /** Takes the tasks of a kind until it has this one, as a worker does. */
    takeTask: async (kind: string, name: string, leaseMs = LONG_MS): Promise<TakenTask> => {
      let found: TakenTask | undefined;
      await until(`the task ${name} is taken`, async () => {
        const taking = { kind, attempt: `attempt-${++attempts}`, count: 100, leaseMs };
        found = (await first.step(take, taking)).find((task) => task.name === name);
        return found !== undefined;
      });
      return found as TakenTask;
    },
  };
}
