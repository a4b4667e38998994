import type { Rows } from './engine.ts';
import { either, type Query, sql } from './sql.ts';

/** The writes of a step, and the result for each of its inputs. */
export interface Decision<Output> {
  readonly writes?: readonly Query[];
  /**
   * Returns the results in the order of the inputs. If absent, each result is undefined. `written` has the rows that each write returned.
   */
  readonly results?: (written: readonly Rows[]) => readonly Output[];
}

export type Inputs<Input> = readonly [Input, ...Input[]];

/**
 * One transaction for up to {@link MAX_GROUP} inputs of one turn of the event loop. Its functions must be right for one input and for many.
 * The inputs are sorted by key, so two processes lock rows in the same order. A transaction that loses against another one runs again from
 * its beginning.
 */
export interface Step<Input, Output> {
  readonly name: string;
  /** Names the record that the input changes. Two inputs with one key are never in one transaction. If absent, all inputs have one key. */
  readonly key?: (input: Input) => string;
  /** Returns whose input it is. The inputs of one owner do not hold up those of another. Absent: all are of one. */
  readonly of?: (input: Input) => string;
  /**
   * Estimates the bytes that the input writes. One transaction has {@link MAX_GROUP_BYTES} at most, so large inputs of one caller delay no
   * other callers.
   */
  readonly bytes?: (input: Input) => number;
  /** Returns the statements that read and lock the rows on which the decision depends. */
  readonly look?: (inputs: Inputs<Input>) => readonly Query[];
  /** Runs once for each attempt. `now` is the time of the database, and 0 in a step without `look`. */
  readonly decide: (inputs: Inputs<Input>, found: readonly Rows[], now: number) => Decision<Output>;
  /** True if the step must not write while the database cannot be trusted. Such a step needs `look`. */
  readonly guarded?: true;
  /**
   * True if the step raises the feed even in a database that has lost commits. It records the loss, and goes on from numbers
   * that no reader of this gateway has seen. Such a step needs `look`.
   */
  readonly pastLoss?: true;
  /** True if the step recognises its own earlier run, so that it can run again after the answer to its commit was lost. */
  readonly repeatable?: true;
  /** The caller gets a fault after this time: `away` if the step had not begun, `unknown` if it may still be carried out. */
  readonly withinMs?: number;
}

export const MAX_GROUP = 64;
export const MAX_GROUP_BYTES = 1024 * 1024;

/** The channel that wakes those who wait for new events. */
export const FEED = 'feed';

/** The statement that {@link raise} runs. */
export const RAISE = sql`
  UPDATE numbers SET value = value + :by WHERE platform = :platform AND name = :name RETURNING name, value`;

/**
 * Raises a row of `numbers`, whose values only rise, and returns the new value. The row stays locked until the commit, so the numbers have
 * the order of the commits, and a reader that continues from the highest number that it saw skips none. The gateway remembers the highest
 * number (trust.ts): a database with a lower one has lost commits.
 */
export function raise(name: 'begun' | 'feed', by: number): Query {
  return { ...RAISE.with({ name, by }), ...(name === FEED && { wakes: FEED }) };
}

/** The value of the row `:number` after {@link raise} in the same transaction. */
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
 * Locks a name until the commit, together with other holders (`shared`) or alone. Use it before the reads that it protects. PostgreSQL
 * serves waiters in their order, so a flood of these shared locks does not delay an exclusive one. A flood of shared locks on a row would.
 */
export function locked(lock: string, how: 'shared' | 'alone'): Query {
  return (how === 'shared' ? LOCK_SHARED : LOCK_ALONE).with({ lock });
}
