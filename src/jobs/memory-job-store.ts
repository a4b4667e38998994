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
  type Claimed,
  DAY_MS,
  type JobQuery,
  type JobStore,
  JobStoreUnavailable,
  KEPT_MS,
  MOST_OF_CALLER,
  type Reservation,
  type Reserved,
  RESERVED_MS,
  type StoredChunk,
  type UnfinishedJob,
} from './job-store.ts';

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
  owner: string;
  leaseEnds: number;
  claims: number;
  changedAt: number;
}

/** The jobs of one process, for as long as it lives. */
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
        owner: '',
        leaseEnds: 0,
        claims: 0,
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
        .map(({ job, claims, leaseEnds, changedAt }) => ({
          jobId: job.definition.jobId,
          claims,
          isLeased: leaseEnds > performance.now(),
          createdAt: job.createdAt,
          changedAt,
          state: job.state,
        })),
    );
  }

  claim(jobId: string, owner: string, leaseMs: number): Promise<Claimed> {
    return now(() => {
      const held = this.#jobs.get(jobId);
      if (!held) return { kind: 'missing' };
      if (isEnded(held.job.state)) return { kind: 'ended' };
      if (held.leaseEnds > performance.now()) return { kind: 'busy' };
      held.owner = owner;
      held.leaseEnds = performance.now() + leaseMs;
      held.claims++;
      this.#change(held, { state: 'running', startedAt: held.job.startedAt ?? Date.now() });
      return { kind: 'claimed', job: held.job, calls: new Map(held.calls) };
    });
  }

  renew(jobId: string, owner: string, leaseMs: number): Promise<'renewed' | 'cancelled' | 'lost'> {
    return now(() => {
      const held = this.#owned(jobId, owner);
      if (!held) return 'lost';
      held.leaseEnds = performance.now() + leaseMs;
      return held.job.isCancelled ? 'cancelled' : 'renewed';
    });
  }

  async giveBack(jobId: string, owner: string): Promise<void> {
    await this.renew(jobId, owner, 0);
  }

  begin(jobId: string, owner: string, chunk: number, calls: number): Promise<'begun' | 'cancelled' | 'lost'> {
    return now(() => {
      const held = this.#owned(jobId, owner);
      if (!held || held.leaseEnds <= performance.now()) return 'lost';
      if (held.job.isCancelled) return 'cancelled';
      held.calls.set(chunk, calls);
      return 'begun';
    });
  }

  save({ jobId, owner, chunk, results, counts, waiting }: ChunkChange): Promise<boolean> {
    return now(() => {
      const held = this.#owned(jobId, owner);
      if (!held) return false;
      held.counts.set(chunk, counts);
      held.stored.set(chunk, { results, waiting });
      if (!waiting) held.calls.delete(chunk);
      const total: Record<string, number> = {};
      for (const each of held.counts.values())
        for (const [status, count] of Object.entries(each)) total[status] = (total[status] ?? 0) + count;
      this.#change(held, { counts: total as Counts });
      return true;
    });
  }

  prepared(jobId: string, owner: string, chunks: number, total: number): Promise<boolean> {
    return now(() => {
      const held = this.#owned(jobId, owner);
      if (held) this.#change(held, { prepared: true, chunks, total });
      return held !== undefined;
    });
  }

  finish(jobId: string, owner: string, state: JobState, problem: ProblemBody | null): Promise<boolean> {
    return now(() => {
      const held = this.#owned(jobId, owner);
      if (held) this.#finish(held, state, problem);
      return held !== undefined;
    });
  }

  cancel(jobId: string): Promise<void> {
    return now(() => {
      const held = this.#jobs.get(jobId);
      if (!held || isEnded(held.job.state)) return;
      this.#change(held, { isCancelled: true });
      if (held.job.startedAt === null) this.#finish(held, 'cancelled', null);
    });
  }

  #finish(held: Held, state: JobState, problem: ProblemBody | null): void {
    for (const [chunk, { results }] of held.stored) held.stored.set(chunk, { results });
    held.owner = '';
    held.leaseEnds = 0;
    held.calls.clear();
    this.#slots.delete(held.job.definition.jobId);
    this.#change(held, { state, problem, finishedAt: Date.now() });
  }

  #change(held: Held, change: Partial<JobRecord>): void {
    held.job = { ...held.job, ...change, version: held.job.version + 1 };
    held.changedAt = Date.now();
  }

  #owned(jobId: string, owner: string): Held | undefined {
    const held = this.#jobs.get(jobId);
    return held?.owner === owner ? held : undefined;
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
