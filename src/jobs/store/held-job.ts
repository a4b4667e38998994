import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../database/database-unavailable.ts';
import type { TaskHold } from '../../tasks/task-worker.ts';
import { ProblemException } from '../../problem/problem.exception.ts';
import {
  countsOf,
  type EndState,
  type JobRecord,
  packed,
  type RowResult,
  unpacked,
  type WaitingRow,
} from './job-record.ts';
import type { JobStore } from './job-store.ts';
import type { ReadJob, StepResult } from './stored-job.ts';

/** The time for which a step is repeated while the store is away. After that, another process takes the job and finds out what was sent. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 200;
/**
 * The age at which a job ends with its open rows. Its rows are deleted a day after its acceptance, and each of them gets a result before.
 */
const OVERDUE_MS = 23.5 * 3_600_000;

/** A job that could not go on is tried again after its age divided by this number, so a long failure costs few calls. */
const PART_OF_AGE = 10;
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** The job cannot go on now. It gives its place to other jobs and is tried again after `inMs`. */
export class TryLater extends Error {
  override readonly name = 'TryLater';

  constructor(
    readonly inMs: number,
    /** What the job waits for. Undefined if it is not known. */
    readonly problem: ProblemException | undefined,
  ) {
    super('the job is tried again later');
  }
}

/** True if a job is so old by both clocks that it ends with its open rows. */
export function isOverdue({ createdAt, now }: ReadJob): boolean {
  return Math.min(Date.now(), now()) >= createdAt + OVERDUE_MS;
}

/** This process has lost the job, or may not go on with it. */
export class HoldLost extends Error {
  override readonly name = 'HoldLost';
}

export interface ChunkRows {
  readonly results: readonly RowResult[];
  readonly waiting: readonly WaitingRow[];
}

/**
 * The steps of the process that holds a job. While the store is away, a step is repeated, which has no further effect. A step throws {@link
 * HoldLost} if another process has the job.
 */
export class HeldJob {
  /** The signal after which nothing more may begin. */
  readonly over: AbortSignal;
  readonly #lost = new AbortController();
  #isCancelled: boolean;

  constructor(
    private readonly store: JobStore,
    private readonly hold: TaskHold,
    /** The job as it was when this process took it. */
    readonly job: ReadJob,
    /** Why the rows of a job that is overdue were not sent. */
    readonly overdueProblem = new ProblemException('upstream-unavailable'),
  ) {
    this.over = AbortSignal.any([this.#lost.signal, hold.over]);
    this.#isCancelled = job.isCancelled;
  }

  /** True if one of the steps so far has found that the job is cancelled. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  get isOverdue(): boolean {
    return isOverdue(this.job);
  }

  /** True if the job sends no further call, and only finds out what became of the calls that were sent. */
  get sendsNothing(): boolean {
    return this.#isCancelled || this.isOverdue;
  }

  assertHeld(): void {
    if (this.over.aborted) throw new HoldLost('the job is given back');
  }

  /** Returns the failure with which a run ends that cannot go on for this reason. */
  tryLater(problem: ProblemException | undefined): TryLater {
    const afterMs = Number(problem?.headers['retry-after'] ?? 0) * 1_000;
    const byAgeMs = (this.job.now() - this.job.createdAt) / PART_OF_AGE;
    const inMs = Math.ceil(Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, byAgeMs, afterMs)));
    return new TryLater(inMs, problem);
  }

  /** Throws if the process loses the job during the pause. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.over }).catch(() => undefined);
    this.assertHeld();
  }

  async read(): Promise<JobRecord> {
    const job = await this.#persist(() => this.store.read(this.#jobId));
    if (!job) throw this.#loss();
    return job;
  }

  /** Returns undefined if the store has lost the chunk. If the store has lost only the waiting rows, `waiting` is empty. */
  async chunk(chunk: number): Promise<ChunkRows | undefined> {
    const stored = await this.#persist(() => this.store.chunk(this.#jobId, chunk));
    if (!stored) return undefined;
    const { results, waiting } = stored;
    return { results: unpacked<RowResult>(results), waiting: waiting ? unpacked<WaitingRow>(waiting) : [] };
  }

  /** Records that the call with this number is about to be sent for the chunk. Returns false if the job sends nothing any more. */
  async begin(chunk: number, number: number): Promise<boolean> {
    if (this.isOverdue) return false;
    const isBegun = await this.#change(() => this.store.begin(this.#jobId, this.hold.attempt, chunk, number));
    this.assertHeld();
    return isBegun;
  }

  /** Saves the chunk. Rows that are not in `waiting` lose their passwords. */
  async save(chunk: number, { results, waiting }: ChunkRows): Promise<void> {
    const { attempt } = this.hold;
    const counts = countsOf(results);
    const parts = { results: packed(results), waiting: waiting.length > 0 ? packed(waiting) : undefined };
    await this.#change(() => this.store.save({ jobId: this.#jobId, attempt, chunk, counts, ...parts }));
  }

  async prepared(chunks: number, total: number): Promise<void> {
    await this.#change(() => this.store.prepared(this.#jobId, this.hold.attempt, chunks, total));
  }

  async finish(state: EndState, problem: ProblemException | null): Promise<EndState> {
    const body = problem && problem.bodyFor(this.job.definition.requestId);
    await this.#change(() => this.store.finish(this.#jobId, this.hold.attempt, state, body));
    return state;
  }

  get #jobId(): string {
    return this.job.definition.jobId;
  }

  #loss(): HoldLost {
    this.#lost.abort();
    return new HoldLost('another process has the job');
  }

  /** Returns false if the job is cancelled. */
  async #change(step: () => Promise<StepResult>): Promise<boolean> {
    const result = await this.#persist(step);
    if (result === 'lost') throw this.#loss();
    if (result === 'cancelled') this.#isCancelled = true;
    return result === 'done';
  }

  async #persist<T>(step: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const isSealed = error instanceof DatabaseUnavailable && error.reason === 'sealed';
        if (isSealed || performance.now() >= giveUpAt || this.#lost.signal.aborted) throw error;
        await sleep(RETRY_MS);
      }
    }
  }
}
