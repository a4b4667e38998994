import pLimit from 'p-limit';
import { DatabaseUnavailable } from '../../database/database-unavailable.ts';
import { ProblemException } from '../../problem/problem.exception.ts';
import { type HeldJob, TryLater } from '../store/held-job.ts';
import { type EndState, type RowResult, sumOf } from '../store/job-record.ts';
import type { ImportCalls } from './import-calls.ts';
import { ImportChunk } from './import-chunk.ts';
import { makePlan, withoutValues } from './import-plan.ts';
import { GONE } from './row-outcomes.ts';

/** Two chunks at a time halve the time of an import, and leave the platform able to serve other requests. */
const CHUNKS_AT_A_TIME = 2;

const LOST = 'The database has lost rows of this import. What became of them is unknown.';

export class ImportRun {
  #chunks: number;
  /** The chunks in progress in this process. They know which rows may have been carried out. */
  readonly #begun = new Map<number, ImportChunk>();
  /** The chunks whose waiting rows the store has lost. */
  readonly #lost = new Map<number, readonly RowResult[]>();
  /** The chunks of which the store has lost everything, including the accounts. */
  readonly #nameless = new Set<number>();

  constructor(
    private readonly held: HeldJob,
    private readonly calls: ImportCalls,
    /** The number of calls that were recorded for each chunk before this process took the job. */
    private readonly recorded: ReadonlyMap<number, number>,
  ) {
    this.#chunks = held.job.chunks;
  }

  /** Resolves to the final state of the job. Rejects if this process has lost the job, or if the job cannot go on now ({@link TryLater}). */
  async run(): Promise<EndState> {
    const { held } = this;
    try {
      if (!held.job.prepared && !held.isCancelled)
        this.#chunks = await makePlan(held, this.calls, this.recorded);
      await this.#runChunks();
    } catch (error) {
      if (!(error instanceof ProblemException) || error instanceof DatabaseUnavailable) throw error;
      return this.#fail(error);
    }
    if (this.#nameless.size + this.#lost.size === 0) return held.finish(await this.#endState(), null);
    await this.#settleLost();
    return held.finish('failed', new ProblemException('outcome-unknown', { detail: LOST }));
  }

  /**
   * Runs the chunks. After a failure no further chunk begins, and the failure is thrown when no chunk is at work any more. If a chunk has to
   * wait ({@link TryLater}), the others run one at a time. If a second one has to wait, no further chunk begins.
   */
  async #runChunks(): Promise<void> {
    const limit = pLimit({ concurrency: CHUNKS_AT_A_TIME, rejectOnClear: true });
    const work = async (chunk: number) => {
      try {
        const open = await this.#open(chunk);
        if (open) this.#begun.set(chunk, open);
        await open?.run();
        this.#begun.delete(chunk);
      } catch (error) {
        if (error instanceof TryLater && limit.concurrency > 1) limit.concurrency--;
        else limit.clearQueue();
        throw error;
      }
    };
    const chunks = Array.from({ length: this.#chunks }, (_, chunk) => limit(work, chunk));
    for (const result of await Promise.allSettled(chunks))
      if (result.status === 'rejected') throw result.reason;
  }

  /** Returns undefined for a chunk without work. */
  async #open(chunk: number): Promise<ImportChunk | undefined> {
    const { held, calls } = this;
    held.assertHeld();
    const rows = await held.chunk(chunk);
    if (!rows) {
      this.#nameless.add(chunk);
      return undefined;
    }
    const { results } = rows;
    calls.authorise(results.flatMap(({ memberGlobalId }) => memberGlobalId ?? []));
    const pending = results.flatMap(({ status, account }, at) =>
      status === 'pending' ? [withoutValues(account, at)] : [],
    );
    if (pending.length === 0) return undefined;
    const areGone = rows.waiting.length === 0;
    if (areGone && !held.isOverdue) {
      if (!held.isCancelled) this.#lost.set(chunk, results);
      return undefined;
    }
    // No process ran for a day, so the rows were deleted. What was sent of them can be looked up by their accounts.
    const waiting = areGone ? pending : rows.waiting;
    return new ImportChunk(held, calls, chunk, { results, waiting }, this.recorded.get(chunk) ?? 0);
  }

  /** Ends the job with a failure: the rows that were not sent fail, and the job says why. */
  async #fail(problem: ProblemException): Promise<EndState> {
    for (let chunk = 0; chunk < this.#chunks; chunk++)
      await (this.#begun.get(chunk) ?? (await this.#open(chunk)))?.close(problem);
    await this.#settleLost();
    return this.held.finish('failed', problem);
  }

  async #settleLost(): Promise<void> {
    const { held } = this;
    for (const [chunk, rows] of this.#lost) {
      const results = rows.map((row) => (row.status === 'pending' ? { ...row, ...GONE } : row));
      await held.save(chunk, { results, waiting: [] });
    }
    const [nameless] = this.#nameless;
    if (nameless === undefined) return;
    const { total, counts } = await held.read();
    const length = Math.max(0, total - sumOf(counts));
    const results = Array.from({ length }, () => ({ account: '', ...GONE }));
    await held.save(nameless, { results, waiting: [] });
  }

  async #endState(): Promise<EndState> {
    const { counts, total, isCancelled } = await this.held.read();
    const { added, updated, unchanged, deleted } = counts;
    if (added + updated + unchanged + deleted === total) return 'succeeded';
    return isCancelled && sumOf(counts) < total ? 'cancelled' : 'completed';
  }
}
