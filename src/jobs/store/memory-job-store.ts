import type { TaskHold } from '../../kit/task-queue/task-queue.ts';
import type { MemoryMoveLog } from '../../order-ledger/memory-move-log.ts';
import type { LoggedMove } from '../../order-ledger/move-log.ts';
import type { ProblemBody } from '../../problem/problem.exception.ts';
import {
  type Counts,
  countsFrom,
  DONE,
  isEnded,
  type JobDefinition,
  type JobRecord,
  type JobState,
} from './job-record.ts';
import {
  type ChunkChange,
  type JobList,
  type JobQuery,
  type JobStore,
  JobStoreUnavailable,
  KEPT_MS,
  MAX_OF_CALLER,
  type Reservation,
  type Reserved,
  RESERVED_MS,
  type StepResult,
  type StoredChunk,
  type Taken,
  type UnfinishedJob,
  WAITING_MS,
} from './job-store.ts';

/** All jobs together of a process without Redis. */
const MAX_BYTES = 64 * 1024 * 1024;

interface Slot extends Reservation {
  readonly ends: number;
}

interface Kept {
  job: JobRecord;
  readonly chunks: Map<number, StoredChunk>;
  readonly counts: Map<number, Counts>;
  readonly calls: Map<number, number>;
  changedAt: number;
}

/** The jobs of one process, for as long as it lives. The queue gives each job to one run, so no step checks who has the job. */
export class MemoryJobStore implements JobStore {
  readonly #slots = new Map<string, Slot>();
  readonly #jobs = new Map<string, Kept>();

  constructor(private readonly moves: MemoryMoveLog) {}

  async reserve(wanted: Reservation): Promise<Reserved> {
    this.#forgetOld();
    const { jobId, owner, enterpriseGlobalId, caller, bytes } = wanted;
    const own = this.#slots.get(jobId);
    if (own && own.owner !== owner) return { kind: 'in-progress', jobId };
    const others = [...this.#slots.values()].filter((slot) => slot.jobId !== jobId);
    const same = others.find((slot) => slot.enterpriseGlobalId === enterpriseGlobalId);
    if (same) return { kind: 'in-progress', jobId: same.jobId };
    if (others.filter((slot) => slot.caller === caller).length >= MAX_OF_CALLER)
      return { kind: 'full', limit: 'caller' };
    if (others.reduce((sum, slot) => sum + slot.bytes, bytes) > MAX_BYTES)
      return { kind: 'full', limit: 'store' };
    this.#slots.set(jobId, { ...wanted, ends: Date.now() + RESERVED_MS });
    return { kind: 'reserved' };
  }

  async release(jobId: string, owner: string): Promise<void> {
    if (!this.#jobs.has(jobId) && this.#slots.get(jobId)?.owner === owner) this.#slots.delete(jobId);
  }

  async create(
    owner: string,
    definition: JobDefinition,
    chunks: readonly StoredChunk[],
    rows: number,
  ): Promise<JobRecord> {
    const { jobId } = definition;
    const slot = this.#slots.get(jobId);
    if (slot?.owner !== owner) throw new JobStoreUnavailable(new Error('the reserved room is gone'));
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
    const sizes = chunks.map(({ results, waiting }) => results.length + (waiting?.length ?? 0));
    const bytes = sizes.reduce((sum, each) => sum + each, 0);
    this.#slots.set(jobId, { ...slot, bytes, ends: Date.now() + WAITING_MS });
    this.#jobs.set(jobId, {
      job,
      chunks: new Map(chunks.entries()),
      counts: new Map(),
      calls: new Map(),
      changedAt: Date.now(),
    });
    return job;
  }

  async read(jobId: string): Promise<JobRecord | undefined> {
    return this.#jobs.get(jobId)?.job;
  }

  recordIn({ record }: LoggedMove): JobRecord {
    return record as JobRecord;
  }

  async list({ enterprises, state }: JobQuery, offset: number, count: number): Promise<JobList> {
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
  }

  async chunk(jobId: string, chunk: number): Promise<StoredChunk | undefined> {
    return this.#jobs.get(jobId)?.chunks.get(chunk);
  }

  async unfinished(): Promise<readonly UnfinishedJob[]> {
    return [...this.#jobs.values()]
      .filter(({ job }) => !isEnded(job.state))
      .map(({ job, changedAt }) => ({ jobId: job.definition.jobId, changedAt, state: job.state }));
  }

  async take(jobId: string): Promise<Taken> {
    const kept = this.#unfinished(jobId);
    if (!kept) return { kind: 'ended' };
    this.#change(kept, { state: 'running', startedAt: kept.job.startedAt ?? Date.now() });
    return { kind: 'taken', job: kept.job, calls: new Map(kept.calls) };
  }

  begin(jobId: string, _: TaskHold, chunk: number, calls: number): Promise<StepResult> {
    return this.#step(jobId, (kept) => {
      if (!kept.job.isCancelled) kept.calls.set(chunk, calls);
    });
  }

  save({ jobId, chunk, results, counts, waiting }: ChunkChange): Promise<StepResult> {
    return this.#step(jobId, (kept) => {
      kept.counts.set(chunk, counts);
      kept.chunks.set(chunk, { results, waiting });
      if (!waiting) kept.calls.delete(chunk);
      const all = [...kept.counts.values()];
      const totals = DONE.map((status) => all.reduce((sum, each) => sum + each[status], 0));
      this.#change(kept, { counts: countsFrom(totals) });
    });
  }

  prepared(jobId: string, _: string, chunks: number, total: number): Promise<StepResult> {
    return this.#step(jobId, (kept) => this.#change(kept, { prepared: true, chunks, total }));
  }

  finish(jobId: string, _: string, state: JobState, problem: ProblemBody | null): Promise<StepResult> {
    return this.#step(jobId, (kept) => this.#finish(kept, state, problem));
  }

  async cancel(jobId: string): Promise<void> {
    const kept = this.#unfinished(jobId);
    if (!kept) return;
    this.#change(kept, { isCancelled: true });
    if (kept.job.startedAt === null) this.#finish(kept, 'cancelled', null);
  }

  #finish(kept: Kept, state: JobState, problem: ProblemBody | null): void {
    for (const [chunk, { results }] of kept.chunks) kept.chunks.set(chunk, { results });
    kept.calls.clear();
    this.#slots.delete(kept.job.definition.jobId);
    const finishedAt = Date.now();
    this.#change(kept, { state, problem, finishedAt });
    this.moves.add('job', kept.job.definition.jobId, state, kept.job, finishedAt);
  }

  #change(kept: Kept, change: Partial<JobRecord>): void {
    kept.job = { ...kept.job, ...change, version: kept.job.version + 1 };
    kept.changedAt = Date.now();
  }

  async #step(jobId: string, step: (kept: Kept) => void): Promise<StepResult> {
    const kept = this.#unfinished(jobId);
    if (!kept) return 'lost';
    step(kept);
    return kept.job.isCancelled ? 'cancelled' : 'done';
  }

  #unfinished(jobId: string): Kept | undefined {
    const kept = this.#jobs.get(jobId);
    return kept && !isEnded(kept.job.state) ? kept : undefined;
  }

  #forgetOld(): void {
    for (const [jobId, { ends }] of this.#slots) if (ends <= Date.now()) this.#slots.delete(jobId);
    for (const [jobId, { job }] of this.#jobs)
      if (job.createdAt + KEPT_MS <= Date.now()) this.#jobs.delete(jobId);
  }
}
