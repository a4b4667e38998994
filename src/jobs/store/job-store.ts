import type { TaskHold } from '../../kit/task-queue/task-queue.ts';
import type { LoggedMove } from '../../order-ledger/move-log.ts';
import { type ProblemBody, ProblemException } from '../../problem/problem.exception.ts';
import type { Counts, JobDefinition, JobRecord, JobState } from './job-record.ts';

export const JOB_STORE = Symbol('JobStore');

const DAY_MS = 24 * 3_600_000;
/** Jobs and the results of their rows are kept for this time. */
export const KEPT_MS = 7 * DAY_MS;
/** The rows of an accepted job wait for this time at most, with their passwords. */
export const WAITING_MS = DAY_MS;
/** A caller may have this many unfinished imports. */
export const MAX_OF_CALLER = 5;
/** Room stays reserved for this time while the file is read, which takes less. The process may die meanwhile. */
export const RESERVED_MS = 30_000;

export interface Reservation {
  readonly jobId: string;
  /** Names this request alone: another request cannot use the room, not even under the same id. */
  readonly owner: string;
  readonly enterpriseGlobalId: string;
  readonly caller: string;
  readonly bytes: number;
}

export type Reserved =
  | { readonly kind: 'reserved' }
  | { readonly kind: 'in-progress'; readonly jobId: string }
  | { readonly kind: 'full'; readonly limit: 'caller' | 'store' };

/** A chunk as the store keeps it: both parts are packed. `waiting` is absent when nothing of the chunk is to be sent any more. */
export interface StoredChunk {
  readonly results: Buffer;
  readonly waiting?: Buffer | undefined;
}

/** A job, and how many calls were recorded for each of its chunks that has any. */
export type Taken =
  | { readonly kind: 'taken'; readonly job: JobRecord; readonly calls: ReadonlyMap<number, number> }
  | { readonly kind: 'lost' | 'ended' };

/** What became of a step. `lost`: another process has the job, so the step had no effect. */
export type StepResult = 'done' | 'cancelled' | 'lost';

export interface ChunkChange extends StoredChunk {
  readonly jobId: string;
  readonly owner: string;
  readonly chunk: number;
  readonly counts: Counts;
}

export interface UnfinishedJob {
  readonly jobId: string;
  readonly changedAt: number;
  readonly state: JobState;
}

/** Undefined stands for every enterprise, and for every state. */
export interface JobQuery {
  readonly enterprises: ReadonlySet<string> | undefined;
  readonly state: JobState | undefined;
}

export interface JobList {
  /** Newest first. */
  readonly jobs: readonly JobRecord[];
  readonly total: number;
}

/** Each call is one atomic step by the store's own clock. When a call rejects with {@link JobStoreUnavailable}, nothing may be sent. */
export interface JobStore {
  /** The same owner may reserve again, to keep its room for longer. */
  reserve(wanted: Reservation): Promise<Reserved>;
  /** Frees the room of a file that was refused. Without effect if there is a job: the creation may have succeeded without a reply. */
  release(jobId: string, owner: string): Promise<void>;
  /** Uses the room that this owner has reserved. May be repeated. */
  create(
    owner: string,
    definition: JobDefinition,
    chunks: readonly StoredChunk[],
    rows: number,
  ): Promise<JobRecord>;
  read(jobId: string): Promise<JobRecord | undefined>;
  /** The job at its end. Undefined where it is sealed under a key that this gateway does not have. */
  recordIn(move: LoggedMove): JobRecord | undefined;
  list(query: JobQuery, offset: number, count: number): Promise<JobList>;
  chunk(jobId: string, chunk: number): Promise<StoredChunk | undefined>;
  unfinished(): Promise<readonly UnfinishedJob[]>;

  /** Makes the process with this hold the only one that may change the job. The owner of the hold is the owner of the steps below. */
  take(jobId: string, hold: TaskHold): Promise<Taken>;
  /** Before a call is sent. Resolves when that is durable. No effect if the job is cancelled or the lock has ended: no call may come late. */
  begin(jobId: string, hold: TaskHold, chunk: number, calls: number): Promise<StepResult>;
  /** May be repeated. `cancelled`: the chunk is saved, and the job is cancelled. */
  save(change: ChunkChange): Promise<StepResult>;
  /** Records that the plan is made: the rows and the members to delete are in this many chunks. */
  prepared(jobId: string, owner: string, chunks: number, total: number): Promise<StepResult>;
  finish(jobId: string, owner: string, state: JobState, problem: ProblemBody | null): Promise<StepResult>;
  /** A job that has not begun ends at once. Another one ends when what was sent is settled. */
  cancel(jobId: string): Promise<void>;
}

/** The store cannot say what is recorded, so nothing is sent. */
export class JobStoreUnavailable extends ProblemException {
  override readonly name = 'JobStoreUnavailable';

  constructor(cause: unknown) {
    super('dependency-unavailable', {
      detail:
        'The order store of the gateway, which also keeps jobs, does not respond. Nothing was sent to the platform.',
      retryAfter: 1,
      cause,
    });
  }
}
