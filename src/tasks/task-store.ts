import { type Rows, rowsAs } from '../database/engine.ts';
import {
  among,
  amongTexts,
  either,
  FOR_UPDATE,
  NOW,
  type Query,
  rows,
  type Sql,
  sql,
} from '../database/sql.ts';
import type { Step } from '../database/step.ts';

/** A task that an attempt holds. The attempt has a random name, because a number would restart when the same task is added again. */
export interface HeldTask {
  readonly kind: string;
  readonly name: string;
  readonly attempt: string;
}

const EARLIER = either(sql`LEAST(tasks.due_at, excluded.due_at)`, sql`min(tasks.due_at, excluded.due_at)`);
/** The rows are sorted in the same way in every transaction, so that no two transactions wait for each other. */
const ADD = sql`
  INSERT INTO tasks (platform, kind, name, due_at, calls, attempt, lease_until)
  SELECT CAST(:platform AS text), CAST(:kind AS text), name, coalesce(due_at, ${NOW}), 1, '', 0
  FROM ${rows('added', { name: 'text', dueAt: 'bigint' })} WHERE true ORDER BY name
  ON CONFLICT (platform, kind, name) DO UPDATE SET due_at = ${EARLIER}, calls = tasks.calls + 1`;

/** A task to add. `dueAt` is in ms by the clock of the database; without it, the task is due at once. */
export interface NewTask {
  readonly name: string;
  readonly dueAt?: number;
}

/**
 * Returns the writes with which a step adds tasks. A name alone is a task that is due at once, even if it exists already. A task that is running
 * runs once more.
 */
export function addTasks(kind: string, tasks: readonly (string | NewTask)[]): Query[] {
  if (tasks.length === 0) return [];
  const added = tasks.map((task) => (typeof task === 'string' ? { name: task } : task));
  return [{ ...ADD.with({ kind, added }), wakes: channelOf(kind) }];
}

export function channelOf(kind: string): string {
  return `tasks ${kind}`;
}

const keyOf = ({ kind, name }: Pick<HeldTask, 'kind' | 'name'>) => `${kind} ${name}`;

export const add: Step<Pick<HeldTask, 'kind' | 'name'>, undefined> = {
  name: 'add tasks',
  key: keyOf,
  repeatable: true,
  decide: (added) => {
    const byKind = Map.groupBy(added, ({ kind }) => kind);
    const namesOf = (tasks: readonly { name: string }[]) => tasks.map(({ name }) => name);
    return { writes: [...byKind].flatMap(([kind, tasks]) => addTasks(kind, namesOf(tasks))) };
  },
};

/** No lease is longer. One that ends later was written before the clock stepped back, and has ended. */
const MAX_LEASE = sql`900000`;
/** A SELECT of its own reads the clock once, so that the index of due tasks can be used. */
const IS_DUE = sql`
  due_at <= (SELECT ${NOW}) AND (lease_until <= (SELECT ${NOW}) OR lease_until > (SELECT ${NOW}) + ${MAX_LEASE})`;
const SKIP_LOCKED = either(sql`FOR UPDATE SKIP LOCKED`, sql``);
/** Tells the owner of a task: a text about a row of `tasks`. */
export type TaskOwner = Sql;
/** The owner of tasks that all are of one. */
const NOBODY: TaskOwner = sql`''`;
const isOfOthers = (owner: TaskOwner) => sql`NOT (${amongTexts(owner, sql`:passed`)})`;

export interface DueTasks {
  /** The time for which the task has been due; default: 0. */
  readonly forMs?: number;
  /** The owners whose tasks do not count; default: none. */
  readonly passed?: readonly string[];
}

/** Makes the queries that return one row if such a task of the kind may be taken. Asking costs less than taking. */
export function dueBy(owner = NOBODY) {
  const due = sql`
    SELECT name FROM tasks WHERE platform = :platform AND kind = :kind AND ${IS_DUE} AND due_at <= (SELECT ${NOW}) - :forMs
      AND ${isOfOthers(owner)} LIMIT 1`;
  return (kind: string, which: DueTasks): Query => due.with({ kind, forMs: 0, passed: [], ...which });
}

export interface Taking {
  readonly kind: string;
  /** The attempt of all tasks that are taken at once. */
  readonly attempt: string;
  readonly count: number;
  readonly leaseMs: number;
  /** Limits the search to tasks that have been due for less than this time. */
  readonly withinMs?: number;
  /** The owners whose tasks are not taken. */
  readonly passed?: readonly string[];
}

/** A time that is longer than any task can have been due. */
const EVER_MS = 10 ** 15;

export interface TakenTask extends HeldTask {
  /** How often the task was added so far. */
  readonly calls: number;
  readonly owner: string;
}

/** Makes the step that takes the tasks that have been due the longest, of those that nobody holds. */
export function takeBy(owner = NOBODY): Step<Taking, readonly TakenTask[]> {
  const next = sql`
    SELECT name FROM tasks WHERE platform = :platform AND kind = :kind AND ${IS_DUE} AND due_at > (SELECT ${NOW}) - :withinMs
      AND ${isOfOthers(owner)}
    ORDER BY due_at LIMIT :count ${SKIP_LOCKED}`;
  const taken = sql`
    UPDATE tasks SET attempt = :attempt, lease_until = ${NOW} + :leaseMs
    WHERE platform = :platform AND kind = :kind AND ${among(sql`name`, next)} RETURNING name, calls, ${owner} AS owner`;
  return {
    name: 'take tasks',
    key: ({ attempt }) => attempt,
    decide: (takings) => ({
      writes: takings.map((taking) => taken.with({ withinMs: EVER_MS, passed: [], ...taking })),
      results: (written) =>
        takings.map(({ kind, attempt }, at) =>
          rowsAs<Omit<TakenTask, keyof HeldTask> & Pick<HeldTask, 'name'>>(written[at]).map((row) => ({
            ...{ kind, attempt },
            ...row,
          })),
        ),
    }),
  };
}

const OF_ATTEMPT = sql`platform = :platform AND kind = :kind AND name = :name AND attempt = :attempt`;
const RENEW = sql`
  UPDATE tasks SET lease_until = ${NOW} + :leaseMs WHERE ${OF_ATTEMPT} AND lease_until > (SELECT ${NOW}) RETURNING name`;

export interface Renewal extends HeldTask {
  readonly leaseMs: number;
}

/**
 * Extends the lease, and resolves to whether it did. A lease that has ended stays ended, even if nobody has taken the task since. Each task has a
 * statement of its own, which finds it by its whole key, and locks it in the order of the keys.
 */
export const renew: Step<Renewal, boolean> = {
  name: 'renew tasks',
  key: keyOf,
  repeatable: true,
  decide: (held) => ({
    writes: held.map((each) => RENEW.with({ ...each })),
    results: (written) => held.map((_, at) => (written[at] ?? []).length > 0),
  }),
};

const FORGET = sql`DELETE FROM tasks WHERE ${OF_ATTEMPT} AND calls = :calls`;
const GIVE_BACK = sql`
  UPDATE tasks SET attempt = '', lease_until = 0, due_at = ${NOW} + CASE WHEN calls = :calls THEN CAST(:inMs AS bigint) ELSE CAST(:againMs AS bigint) END
  WHERE ${OF_ATTEMPT}`;

export interface EndedTask extends Omit<TakenTask, 'owner'> {
  /** The time after which the task is due again. A fraction of a millisecond is rounded up. Undefined if the task is done. */
  readonly inMs: number | undefined;
  /** The same for a task that was added again meanwhile; default: at once. */
  readonly againMs?: number;
}

/** Ends an attempt. Has no effect where another attempt has the task. */
export const end: Step<EndedTask, undefined> = {
  name: 'end tasks',
  key: keyOf,
  repeatable: true,
  withinMs: 2_000,
  decide: (ended) => ({
    writes: ended.flatMap(({ inMs, againMs = 0, ...task }) => [
      ...(inMs === undefined ? [FORGET.with(task)] : []),
      { ...GIVE_BACK.with({ ...task, inMs: Math.ceil(inMs ?? 0), againMs }), wakes: channelOf(task.kind) },
    ]),
  }),
};

const HELD = sql`
  SELECT name, attempt, CASE WHEN lease_until > ${NOW} THEN 1 ELSE 0 END AS live FROM tasks
  WHERE platform = :platform AND kind = :kind AND ${amongTexts(sql`name`, sql`:names`)}
  ORDER BY name ${FOR_UPDATE}`;

/** Locks the tasks in the `look` of a step that records work on them: nobody takes them before the step ends. {@link holdIn} reads the result. */
export function heldTasks(kind: string, names: readonly string[]): Query {
  return HELD.with({ kind, names });
}

/** `live`: the lease of the attempt has not ended. `ended`: the lease has ended, and nobody has taken the task since. */
export function holdIn(found: Rows | undefined, name: string, attempt: string): 'live' | 'ended' | 'lost' {
  type Row = { readonly name: string; readonly attempt: string; readonly live: 0 | 1 };
  const row = rowsAs<Row>(found).find((each) => each.name === name);
  if (row?.attempt !== attempt) return 'lost';
  return row.live === 1 ? 'live' : 'ended';
}
