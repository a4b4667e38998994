/** A move of a record, as the step that made it wrote it down. */
export interface LoggedMove {
  /** See {@link CURSOR}. */
  readonly id: string;
  /** The time in ms since the epoch, by the clock of the store. */
  readonly at: number;
  /** The kind of thing that the record describes. */
  readonly of: 'order' | 'job' | 'estate';
  /** The record's name in its own store, which opens it. */
  readonly name: string;
  /** The state that the record moved to. */
  readonly state: string;
  /** The record after the move, as its own store keeps it. */
  readonly record: unknown;
}

/** What a reader wants: `order:in_doubt`, `job:failed`. */
export type WantedMove = `${LoggedMove['of']}:${string}`;

/** What was found in one part of the log. */
export interface Moves {
  /** The moves that the reader wants, oldest first. */
  readonly found: readonly LoggedMove[];
  /** The cursor of the last move that was read, wanted or not; undefined where there was none. */
  readonly last: string | undefined;
  /** Whether no move is left after `last`. */
  readonly isEnd: boolean;
}

export const MOVES_KEPT_MS = 7 * 24 * 3_600_000;
export const MAX_MOVES = 1_000_000;
/** The place of a move in the feed: its number, so that a later one has a greater cursor, compared as text. */
export const CURSOR = /^\d{15}$/;

/** Moves that the reader has not had were dropped. The moves after `oldest` are there. */
export class MovesDropped extends Error {
  override readonly name = 'MovesDropped';

  constructor(readonly oldest: string) {
    super('moves were dropped');
  }
}
