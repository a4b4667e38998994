import type { SqlRow, Rows } from './engine.ts';
import { either, type Query, sql } from './sql.ts';

/** What a step writes, and what each of its inputs gets for it. */
export interface Decision<Output> {
  readonly writes?: readonly Query[];
  /** The results in the order of the inputs. `written` has the rows that each write returned. */
  readonly results: (written: readonly Rows[]) => readonly Output[];
  /** Channels whose waiters wake once it is committed. */
  readonly wakes?: readonly string[];
}

/**
 * One transaction for up to {@link MAX_GROUP} inputs of one turn. It must be right for one input and for many. The inputs come sorted by key,
 * so that two processes lock rows in the same order. A transaction that lost against another one runs again from its beginning.
 */
export interface Step<Input, Output> {
  readonly name: string;
  /** What it changes: two inputs with one key are never in one transaction. */
  readonly key: (input: Input) => string;
  /** About what it writes: one transaction has {@link MAX_GROUP_BYTES} at most, so that large inputs of one caller delay no others. */
  readonly bytes?: (input: Input) => number;
  /** Reads what decides, and locks it. */
  readonly look?: (inputs: readonly Input[]) => readonly Query[];
  /** Called once for each attempt. `now` is the time of the database, 0 in a step that looks at nothing. */
  readonly decide: (inputs: readonly Input[], found: readonly Rows[], now: number) => Decision<Output>;
  /** Nothing is written where the database cannot be trusted. It needs `look`. */
  readonly guarded?: true;
  /** It recognises what it has done: where the answer to its commit was lost, it runs again. */
  readonly repeatable?: true;
  /** After this time its caller gets a fault: `away` where the step had not begun, `unknown` where it may still be carried out. */
  readonly withinMs?: number;
}

export const MAX_GROUP = 64;
export const MAX_GROUP_BYTES = 1024 * 1024;

/** Statement of {@link raise}. */
export const RAISE = sql`
  UPDATE numbers SET value = value + :by WHERE platform = :platform AND name = :name RETURNING name, value`;

/**
 * Takes the next numbers of a row of `numbers`, which only rise. The row is locked until the commit, so numbers are in the order of the
 * commits, and a reader who goes on from the highest that it saw skips none. The gateway remembers the highest (trust.ts): a database that
 * has a lower one has lost commits.
 */
export function raise(name: 'begun' | 'feed', by: number): Query {
  return RAISE.with({ name, by });
}

/** In a write after {@link raise}: the number that the row has now. */
export const NUMBER = sql`(SELECT value FROM numbers WHERE platform = :platform AND name = :number)`;

const LOCK_SHARED = either(
  sql`SELECT pg_advisory_xact_lock_shared(hashtextextended(:platform || ' ' || :lock, 0))`,
  sql`SELECT :platform, :lock`,
);
const LOCK_ALONE = either(
  sql`SELECT pg_advisory_xact_lock(hashtextextended(:platform || ' ' || :lock, 0))`,
  sql`SELECT :platform, :lock`,
);

/**
 * In a look, before the reads that it is for: until the commit others may share the lock, or nobody has it (`alone`). Those that wait come in
 * their order, so a flood of steps that share it keeps nobody from having it alone, as a shared lock on a row would.
 */
export function locked(lock: string, how: 'shared' | 'alone'): Query {
  return (how === 'shared' ? LOCK_SHARED : LOCK_ALONE).with({ lock });
}

export function numberIn(found: Rows | undefined): number {
  const [row]: (SqlRow | undefined)[] = [...(found ?? [])];
  return Number(row?.['value'] ?? 0);
}
