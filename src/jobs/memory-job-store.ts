import type { ProblemBody } from '../problem/problem.exception.ts';
import {
  type Counts,
  countsFrom,
  isEnded,
  type JobDefinition,
  type JobRecord,
  type JobState,
} from './job-record.ts';
import {
  type ChunkChange,
  DAY_MS,
  type JobQuery,
  type JobStore,
  JobStoreUnavailable,
  KEPT_MS,
  MOST_OF_CALLER,
  type Reservation,
  type Reserved,
  RESERVED_MS,
  type StepResult,
  type StoredChunk,
  type Taken,
  type UnfinishedJob,
} from './job-store.ts';
import type { TaskHold } from '../kit/task-queue/task-queue.ts';

/** All jobs of a process without Redis together. */
const MOST_BYTES = 64 * 1024 * 1024;

interface Slot extends Reservation {
  ends: number;
}

interface Held {
  job: JobRecord;
  readonly stored: Map<number, StoredChunk>;
  readonly counts: Map<number, Counts>;
  readonly calls: Map<number, number>;
  changedAt: number;
}

/** The jobs of one process, for as long as it lives. Its queue gives each job to one run, so no step is asked who has the job. */
export class MemoryJobStore implements JobStore {
  readonly #slots = new Map<string, Slot>();
  readonly #jobs = new Map<string, Held>();

  reserve(wanted: Reservation): Promise<Reserved> {
    return now(() => {
      this.#forgetOld();
      const own = this.#slots.get(wanted.jobId);
      if (own && own.owner !== wanted.owner) return { kind: 'in-progress', jobId: wanted.jobId };
      const others = [...this.#slots.values()].filter(({ jobId }) => jobId !== wanted.jobId);
      const same = others.find(({ enterpriseGlobalId }) => enterpriseGlobalId === wanted.enterpriseGlobalId);
      if (same) return { kind: 'in-progress', jobId: same.jobId };
      if (others.filter(({ caller }) => caller === wanted.caller).length >= MOST_OF_CALLER)
        return { kind: 'full', of: 'caller' };
      if (others.reduce((sum, { bytes }) => sum + bytes, wanted.bytes) > MOST_BYTES)
        return { kind: 'full', of: 'store' };
      this.#slots.set(wanted.jobId, { ...wanted, ends: Date.now() + RESERVED_MS });
      return { kind: 'reserved' };
    });
  }

  release(jobId: string, owner: string): Promise<void> {
    return now(() => {
      if (!this.#jobs.has(jobId) && this.#slots.get(jobId)?.owner === owner) this.#slots.delete(jobId);
    });
  }

  create(
    owner: string,
    definition: JobDefinition,
    chunks: readonly StoredChunk[],
    rows: number,
  ): Promise<JobRecord> {
    return now(() => {
      const { jobId, enterpriseGlobalId, caller } = definition;
      if (this.#slots.get(jobId)?.owner !== owner)
        throw new JobStoreUnavailable(new Error('the reserved room is gone'));
      const job: JobRecord = {
        definition,
        state: 'queued',
        total: rows,
        counts: countsFrom([]),
        createdAt: Date.now(),
        startedAt: null,
        finishedAt: null,
        problem: null,
        version: 1,
        prepared: false,
        chunks: chunks.length,
        isCancelled: false,
      };
      const bytes = chunks.reduce(
        (sum, { results, waiting }) => sum + results.length + (waiting?.length ?? 0),
        0,
      );
      this.#slots.set(jobId, { jobId, owner, enterpriseGlobalId, caller, bytes, ends: Date.now() + DAY_MS });
      this.#jobs.set(jobId, {
        job,
        stored: new Map(chunks.entries()),
        counts: new Map(),
        calls: new Map(),
        changedAt: Date.now(),
      });
      return job;
    });
  }

  read(jobId: string): Promise<JobRecord | undefined> {
    return now(() => this.#jobs.get(jobId)?.job);
  }

  list(
    { enterprises, state }: JobQuery,
    offset: number,
    count: number,
  ): Promise<{ jobs: readonly JobRecord[]; total: number }> {
    return now(() => {
      this.#forgetOld();
      const jobs = [...this.#jobs.values()]
        .map(({ job }) => job)
        .filter(
          (job) =>
            (enterprises === undefined || enterprises.has(job.definition.enterpriseGlobalId)) &&
            (state === undefined || job.state === state),
        )
        .reverse();
      return { jobs: jobs.slice(offset, offset + count), total: jobs.length };
    });
  }

  chunk(jobId: string, chunk: number): Promise<StoredChunk | undefined> {
    return now(() => this.#jobs.get(jobId)?.stored.get(chunk));
  }

  unfinished(): Promise<readonly UnfinishedJob[]> {
    return now(() =>
      [...this.#jobs.values()]
        .filter(({ job }) => !isEnded(job.state))
        .map(({ job, changedAt }) => ({ jobId: job.definition.jobId, changedAt, state: job.state })),
    );
  }

  take(jobId: string): Promise<Taken> {
    return now(() => {
      const held = this.#unended(jobId);
      if (!held) return { kind: 'ended' };
      this.#change(held, { state: 'running', startedAt: held.job.startedAt ?? Date.now() });
      return { kind: 'taken', job: held.job, calls: new Map(held.calls) };
    });
  }

  begin(jobId: string, _: TaskHold, chunk: number, calls: number): Promise<StepResult> {
    return this.#step(jobId, (held) => {
      if (held.job.isCancelled) return;
      held.calls.set(chunk, calls);
    });
  }

  save({ jobId, chunk, results, counts, waiting }: ChunkChange): Promise<StepResult> {
    return this.#step(jobId, (held) => {
      held.counts.set(chunk, counts);
      held.stored.set(chunk, { results, waiting });
      if (!waiting) held.calls.delete(chunk);
      const total: Record<string, number> = {};
      for (const each of held.counts.values())
        for (const [status, count] of Object.entries(each)) total[status] = (total[status] ?? 0) + count;
      this.#change(held, { counts: total as Counts });
    });
  }

  prepared(jobId: string, _: string, chunks: number, total: number): Promise<StepResult> {
    return this.#step(jobId, (held) => this.#change(held, { prepared: true, chunks, total }));
  }

  finish(jobId: string, _: string, state: JobState, problem: ProblemBody | null): Promise<StepResult> {
    return this.#step(jobId, (held) => this.#finish(held, state, problem));
  }

  cancel(jobId: string): Promise<void> {
    return now(() => {
      const held = this.#unended(jobId);
      if (!held) return;
      this.#change(held, { isCancelled: true });
      if (held.job.startedAt === null) this.#finish(held, 'cancelled', null);
    });
  }

  #finish(held: Held, state: JobState, problem: ProblemBody | null): void {
    for (const [chunk, { results }] of held.stored) held.stored.set(chunk, { results });
    held.calls.clear();
    this.#slots.delete(held.job.definition.jobId);
    this.#change(held, { state, problem, finishedAt: Date.now() });
  }

  #change(held: Held, change: Partial<JobRecord>): void {
    held.job = { ...held.job, ...change, version: held.job.version + 1 };
    held.changedAt = Date.now();
  }

  #step(jobId: string, step: (held: Held) => void): Promise<StepResult> {
    return now(() => {
      const held = this.#unended(jobId);
      if (!held) return 'lost';
      step(held);
      return held.job.isCancelled ? 'cancelled' : 'done';
    });
  }

  #unended(jobId: string): Held | undefined {
    const held = this.#jobs.get(jobId);
    return held && !isEnded(held.job.state) ? held : undefined;
  }

  #forgetOld(): void {
    for (const [jobId, { ends }] of this.#slots) if (ends <= Date.now()) this.#slots.delete(jobId);
    for (const [jobId, { job }] of this.#jobs)
      if (job.createdAt + KEPT_MS <= Date.now()) this.#jobs.delete(jobId);
  }
}

/** A step that is over at once; what it throws is a rejection. */
function now<T>(step: () => T): Promise<T> {
  return new Promise((resolve) => resolve(step()));
}
