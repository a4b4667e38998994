/** A move of a record, as the step that made it wrote it down. */
export interface LoggedMove {
  /** See {@link CURSOR}. */
  readonly id: string;
  /** In ms since the epoch, by the clock of the store. */
  readonly at: number;
  /** What the record is of. */
  readonly of: 'order' | 'job';
  /** The record's name in its own store, which opens it. */
  readonly name: string;
  /** The state that it moved to. */
  readonly state: string;
  /** The record after the move, as its own store keeps it. */
  readonly record: unknown;
}

/** What a reader wants: `order:in_doubt`, `job:failed`. */
export type WantedMove = `${LoggedMove['of']}:${string}`;

/** What was found in one part of the log. */
export interface Moves {
  /** Those that the reader wants, oldest first. */
  readonly found: readonly LoggedMove[];
  /** The last one that was looked at, wanted or not; undefined where there was none. */
  readonly last: string | undefined;
  /** None were left after it. */
  readonly isEnd: boolean;
}

/**
 * Every move of an order, and the end of every job, in the order in which they were made. The step that moves the record writes it, so there
 * is no move without its entry and no entry without its move. What is older than {@link MOVES_KEPT_MS}, more than {@link MAX_MOVES}, or too
 * large for the store's memory is dropped, oldest first.
 */
export interface MoveLog {
  /**
   * Looks through so many moves after this one; without `after` from the oldest that is kept, without `wanted` for all. Rejects with
   * {@link MovesDropped} if later ones were dropped, and with `OrderLedgerUnavailable` while the store is away.
   */
  read(after: string | undefined, count: number, wanted?: readonly WantedMove[]): Promise<Moves>;
  /** A move that has been shown before, also while replicas do not acknowledge it; undefined where it is kept no longer. */
  one(id: string): Promise<LoggedMove | undefined>;
  /** The newest move that was ever written; {@link NO_MOVE} without one. */
  newest(): Promise<string>;
  /** Drops what is kept no longer. */
  trim(): Promise<void>;
}

export const MOVE_LOG = Symbol('MoveLog');

export const MOVES_KEPT_MS = 7 * 24 * 3_600_000;
export const MAX_MOVES = 1_000_000;
/** Moves and jobs together may take this part of the store's memory. */
export const PART_OF_STORE = 0.1;

/**
 * The place of a move in the log. It is given out where the move is written: a later one has a greater cursor, compared as text. Of
 * Redis it is the id of a stream's entry, with zeros in front of its two numbers.
 */
export const CURSOR = /^\d{15}$/;
export const NO_MOVE = '0'.repeat(15);

export function cursorOf(entryId: string): string {
  const [time = '', sequence = ''] = entryId.split('-');
  return `${time.padStart(15, '0')}-${sequence.padStart(10, '0')}`;
}

/** The opposite of {@link cursorOf}. */
export function entryIdOf(cursor: string): string {
  return cursor.split('-').map(Number).join('-');
}

/** Moves that the reader has not had were dropped. Those after `oldest` are there. */
export class MovesDropped extends Error {
  override readonly name = 'MovesDropped';

  constructor(readonly oldest: string) {
    super('moves were dropped');
  }
}

/**
 * A part of the scripts that move a record, by a clock that they have as `now`. Redis gives out ids that grow, also where its clock steps
 * back.
 */
export const LOG_MOVE = `
local function logMove(moves, of, name, state, record)
  redis.call('XADD', moves, '*', 'of', of, 'state', state, 'name', name, 'at', now, 'record', cjson.encode(record))
end
`;
