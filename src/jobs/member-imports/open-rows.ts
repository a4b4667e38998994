import type { ChunkRows } from '../store/held-job.ts';
import type { RowResult, WaitingRow } from '../store/job-record.ts';
import type { RowOutcome } from './row-outcomes.ts';

/** The time after which the platform carries out no call that the gateway has given up. */
const LATE_MS = 10_000;

/** What is known of an open row after a call. */
type Terms = Pick<WaitingRow, 'unreadable' | 'refused'>;

/** The rows of a chunk: their results, and the rows without one. */
export class OpenRows {
  readonly results: RowResult[];
  /** The rows without a result, by their index. */
  readonly #open: Map<number, WaitingRow>;
  /** The open rows that may have been carried out. */
  readonly #doubtful = new Set<number>();
  #doubtedAt = performance.now();

  constructor({ results, waiting }: ChunkRows, recorded: number) {
    this.results = [...results];
    this.#open = new Map(waiting.map((row) => [row.at, row]));
    // The record of a call does not say which rows it had, so all rows are doubtful whose outcome was not saved since.
    for (const { at, knownUpTo = 0 } of waiting) if (recorded > knownUpTo) this.doubt(at);
  }

  get size(): number {
    return this.#open.size;
  }

  get hasDoubts(): boolean {
    return this.#doubtful.size > 0;
  }

  /** The time until a call that was given up is not carried out any more. */
  get lateInMs(): number {
    return Math.max(0, this.#doubtedAt + LATE_MS - performance.now());
  }

  all(): readonly WaitingRow[] {
    return [...this.#open.values()];
  }

  doubtful(): readonly WaitingRow[] {
    return this.all().filter(({ at }) => this.#doubtful.has(at));
  }

  at(at: number): WaitingRow | undefined {
    return this.#open.get(at);
  }

  result(at: number): RowResult {
    return this.results[at] as RowResult;
  }

  /** The open rows as they are saved. They say what is known of the calls so far. */
  saved(recorded: number): readonly WaitingRow[] {
    return this.all().map((row) => (this.#doubtful.has(row.at) ? row : { ...row, knownUpTo: recorded }));
  }

  /** True if a call with the open row may have been carried out, or may be a moment later. */
  mayBeDone(at: number): boolean {
    return this.#doubtful.has(at) || (this.#open.get(at)?.wasDoubtful === true && this.lateInMs > 0);
  }

  /** Marks an open row as one that may have been carried out. */
  doubt(at: number, terms: Terms = {}): void {
    const row = this.#open.get(at);
    if (row) this.#open.set(at, { ...row, ...terms, wasDoubtful: true });
    this.#doubtful.add(at);
    this.#doubtedAt = performance.now();
  }

  /** The doubtful rows were looked up. */
  looked(): void {
    this.#doubtful.clear();
  }

  /** Marks the rows once more that were doubtful and were not found. Returns false if there are none. */
  doubtAgain(): boolean {
    for (const { at, wasDoubtful } of this.#open.values()) if (wasDoubtful) this.#doubtful.add(at);
    return this.hasDoubts;
  }

  /** Gives a row the result, which ends it unless `row` is what remains to be sent. */
  replan(at: number, result: RowResult, row: WaitingRow): void {
    this.results[at] = result;
    if (result.status === 'pending') this.#open.set(at, row);
    else this.#open.delete(at);
  }

  settle(at: number, outcome: RowOutcome): void {
    if (!outcome) return;
    const { account, inFile, memberGlobalId, was } = this.result(at);
    this.results[at] = {
      account,
      ...(inFile !== undefined && { inFile }),
      // The result still says that the member was to be deleted.
      ...(was === 'surplus' && { was }),
      ...(memberGlobalId !== undefined && { memberGlobalId }),
      ...outcome,
    };
    this.#open.delete(at);
    this.#doubtful.delete(at);
  }
}
