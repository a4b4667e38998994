import { among, either, FOR_UPDATE, NOW, type Query, rows, sql } from '../database/sql.ts';
import type { Step } from '../database/step.ts';

/** What one attempt has. The attempt has a random name, because a number would begin anew with a task that is added again. */
export interface HeldTask {
  readonly kind: string;
  readonly name: string;
  readonly attempt: string;
}

export interface AddedTask {
  readonly kind: string;
  readonly name: string;
  /** It is due after this time; 0: now. */
  readonly inMs: number;
}

const EARLIER = either(sql`LEAST(tasks.due_at, excluded.due_at)`, sql`min(tasks.due_at, excluded.due_at)`);
const ADD = sql`
  INSERT INTO tasks (platform, kind, name, due_at, calls, attempt, lease_until)
  SELECT CAST(:platform AS text), kind, name, ${NOW} + in_ms, 1, '', 0
  FROM ${rows('added', { kind: 'text', name: 'text', in_ms: 'bigint' })} WHERE 1 = 1
  ON CONFLICT (platform, kind, name) DO UPDATE SET due_at = ${EARLIER}, calls = tasks.calls + 1`;

/**
 * In the step that makes something to do. A task that is there becomes due at the earlier of the two times; one that is being worked on runs
 * once more. The step also wakes {@link channelOf} its kind.
 */
export function addTasks(added: readonly AddedTask[]): Query {
  return ADD.with({ added: added.map(({ kind, name, inMs }) => ({ kind, name, in_ms: inMs })) });
}

export function channelOf(kind: string): string {
  return `tasks ${kind}`;
}

export const add: Step<AddedTask, undefined> = {
  name: 'add tasks',
  key: ({ kind, name }) => `${kind} ${name}`,
  repeatable: true,
  decide: (added) => ({
    writes: [addTasks(added)],
    wakes: [...new Set(added.map(({ kind }) => channelOf(kind)))],
  }),
};

/** A clock in a SELECT of its own is read once, and the index of what is due can be used. */
const IS_DUE = sql`due_at <= (SELECT ${NOW}) AND lease_until <= (SELECT ${NOW})`;
const DUE = sql`SELECT name FROM tasks WHERE platform = :platform AND kind = :kind AND ${IS_DUE} LIMIT 1`;
const SKIP_LOCKED = either(sql`FOR UPDATE SKIP LOCKED`, sql``);
const NEXT = sql`
  SELECT name FROM tasks WHERE platform = :platform AND kind = :kind AND ${IS_DUE}
  ORDER BY due_at LIMIT :count ${SKIP_LOCKED}`;
const TAKE = sql`
  UPDATE tasks SET attempt = :attempt, lease_until = ${NOW} + :lease_ms
  WHERE platform = :platform AND kind = :kind AND ${among(sql`name`, NEXT)} RETURNING name, calls`;

/** One row where a task of the kind may be taken: asking costs less than taking. */
export function isDue(kind: string): Query {
  return DUE.with({ kind });
}

export interface Taking {
  readonly kind: string;
  /** Of all that is taken at once. */
  readonly attempt: string;
  readonly count: number;
  readonly leaseMs: number;
}

export interface TakenTask extends HeldTask {
  /** How often it was added so far. */
  readonly calls: number;
}

/** Takes what has been due the longest, and what nobody holds any more. */
export const take: Step<Taking, readonly TakenTask[]> = {
  name: 'take tasks',
  key: ({ attempt }) => attempt,
  decide: (takings) => ({
    writes: takings.map(({ kind, attempt, count, leaseMs }) =>
      TAKE.with({ kind, attempt, count, lease_ms: leaseMs }),
    ),
    results: (written) =>
      takings.map(({ kind, attempt }, at) =>
        (written[at] ?? []).map((row) => ({
          kind,
          name: String(row['name']),
          attempt,
          calls: Number(row['calls']),
        })),
      ),
  }),
};

const IN_HELD = rows('held', { kind: 'text', name: 'text', attempt: 'text' });
const NAMES = sql`SELECT name FROM ${IN_HELD}`;
const RENEW = sql`
  UPDATE tasks SET lease_until = ${NOW} + :lease_ms FROM ${IN_HELD}
  WHERE platform = :platform AND ${among(sql`tasks.name`, NAMES)} AND lease_until > (SELECT ${NOW})
    AND tasks.kind = held.kind AND tasks.name = held.name AND tasks.attempt = held.attempt
  RETURNING tasks.kind, tasks.name`;

export interface Renewal extends HeldTask {
  readonly leaseMs: number;
}

/** Resolves to whether the attempt has the task for longer: not where its lease has ended, even if nobody has taken the task since. */
export const renew: Step<Renewal, boolean> = {
  name: 'renew tasks',
  key: ({ kind, name }) => `${kind} ${name}`,
  repeatable: true,
  decide: (held) => ({
    writes: [RENEW.with({ held: toRows(held), lease_ms: Math.min(...held.map(({ leaseMs }) => leaseMs)) })],
    results: ([renewed = []]) => {
      const names = new Set(renewed.map((row) => `${String(row['kind'])} ${String(row['name'])}`));
      return held.map(({ kind, name }) => names.has(`${kind} ${name}`));
    },
  }),
};

const OF_ATTEMPT = sql`platform = :platform AND kind = :kind AND name = :name AND attempt = :attempt`;
const FORGET = sql`DELETE FROM tasks WHERE ${OF_ATTEMPT} AND calls = :calls`;
const GIVE_BACK = sql`
  UPDATE tasks SET attempt = '', lease_until = 0, due_at = ${NOW} + CASE WHEN calls = :calls THEN CAST(:in_ms AS bigint) ELSE 0 END
  WHERE ${OF_ATTEMPT}`;

export interface EndedTask extends TakenTask {
  /** It is due again after this time; undefined: it is done. */
  readonly inMs: number | undefined;
}

/** Ends an attempt. A task that was added again meanwhile is due at once. Without effect where another attempt has the task. */
export const end: Step<EndedTask, undefined> = {
  name: 'end tasks',
  key: ({ kind, name }) => `${kind} ${name}`,
  repeatable: true,
  withinMs: 2_000,
  decide: (ended) => ({
    writes: ended.flatMap(({ kind, name, attempt, calls, inMs }) => {
      const named = { kind, name, attempt, calls };
      const isDone = inMs === undefined;
      return [...(isDone ? [FORGET.with(named)] : []), GIVE_BACK.with({ ...named, in_ms: inMs ?? 0 })];
    }),
    wakes: [...new Set(ended.map(({ kind }) => channelOf(kind)))],
  }),
};

const HELD = sql`
  SELECT tasks.name, tasks.attempt, CASE WHEN lease_until > ${NOW} THEN 1 ELSE 0 END AS live FROM tasks
  WHERE platform = :platform AND kind = :kind AND ${among(sql`tasks.name`, NAMES)} ORDER BY tasks.name ${FOR_UPDATE}`;

/**
 * In the look of a step that records the work on tasks of one kind: nobody takes them before the step has ended. {@link holds} says what was
 * found.
 */
export function heldTasks(kind: string, held: readonly Omit<HeldTask, 'kind'>[]): Query {
  return HELD.with({ kind, held: toRows(held.map((each) => ({ kind, ...each }))) });
}

/** `live`: the lease of the attempt has not ended. `ended`: it has, and nobody has taken the task since. */
export function holdIn(
  found: readonly Readonly<Record<string, unknown>>[] | undefined,
  { name, attempt }: Omit<HeldTask, 'kind'>,
): 'live' | 'ended' | 'lost' {
  const row = found?.find((each) => each['name'] === name);
  if (!row || row['attempt'] !== attempt) return 'lost';
  return row['live'] === 1 ? 'live' : 'ended';
}

function toRows(held: readonly HeldTask[]) {
  return held.map(({ kind, name, attempt }) => ({ kind, name, attempt }));
}
