import { countsOf, packed, type RowResult, type WaitingRow } from './job-record.ts';
import type { ChunkChange } from './job-store.ts';

/** What becomes of a row, or that it stays open. */
export type RowOutcome = Omit<RowResult, 'account' | 'was'> | undefined;

/** The rows of a chunk: the result of each, and those that still wait. */
export class ChunkRows {
  readonly #results: RowResult[];
  readonly #open: Map<number, WaitingRow>;

  constructor(results: readonly RowResult[], waiting: readonly WaitingRow[]) {
    this.#results = [...results];
    this.#open = new Map(waiting.map((row) => [row.at, row]));
  }

  /** Rows without a result. */
  get open(): readonly WaitingRow[] {
    return [...this.#open.values()];
  }

  get areSettled(): boolean {
    return this.#open.size === 0;
  }

  result(at: number): RowResult {
    return this.#results[at] as RowResult;
  }

  /** Without an outcome the row stays open. */
  settle(at: number, outcome: RowOutcome): void {
    if (!outcome) return;
    const { account, memberGlobalId, was } = this.result(at);
    // A member to delete stays known as one.
    const mark = was === 'surplus' && { was };
    this.#results[at] = {
      account,
      ...mark,
      ...(memberGlobalId !== undefined && { memberGlobalId }),
      ...outcome,
    };
    this.#open.delete(at);
  }

  /** As the store has them. `goesOn`: what is open still waits. Otherwise its passwords are deleted. */
  stored(goesOn: boolean): Pick<ChunkChange, 'results' | 'counts' | 'waiting'> {
    return {
      results: packed(this.#results),
      counts: countsOf(this.#results),
      waiting: goesOn && !this.areSettled ? packed(this.open) : undefined,
    };
  }
}
