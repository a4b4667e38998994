import { type Query, sql } from '../database/sql.ts';

/** The kind of the tasks that search the platform for an order. The name of a task is that of the record. */
export const SEARCH = 'reconciliation';
/** The kind of the tasks that place scheduled orders, each due at the time of its order. */
export const SCHEDULE = 'schedule';
/** The owner of such tasks: the caller of the order. */
export const CALLER_OF_ORDER = sql`
  coalesce((SELECT caller FROM writes WHERE writes.platform = tasks.platform AND writes.name = tasks.name), '')`;
/** The most orders that one scan returns. The next scan finds the others. */
const MAX_FOUND = 1_000;

const WITHOUT_TASK = sql`
  SELECT name FROM writes
  WHERE platform = :platform AND channel IS NOT NULL AND state IN ('in_doubt', 'incomplete', 'accepted') AND NOT EXISTS (
    SELECT 1 FROM tasks WHERE tasks.platform = :platform AND tasks.kind = :kind AND tasks.name = writes.name)
  ORDER BY submitted_at, name LIMIT :most`;

/** Selects the names of orders that reconciliation looks for and that have no task, the oldest first. */
export function ordersWithoutSearch(): Query {
  return WITHOUT_TASK.with({ kind: SEARCH, most: MAX_FOUND });
}
