import type { Counts, JobDefinition, JobRecord, JobState } from './job-record.ts';
import { ProblemException, type ProblemBody } from '../problem/problem.exception.ts';
import type { TaskHold } from '../kit/task-queue/task-queue.ts';

export const DAY_MS = 24 * 3_600_000;
/** Jobs and the results of their rows are kept so long. */
export const KEPT_MS = 7 * DAY_MS;
/** From its acceptance a job's rows wait so long at most, with their passwords. */
export const WAITING_MS = 24 * 3_600_000;
/** A caller may have so many unfinished imports. */
export const MOST_OF_CALLER = 5;
/** The part of the store's memory that all jobs together may take. */
export const PART_OF_STORE = 0.1;
/** For this time room stays reserved while the file is read, which takes less; a process may die meanwhile. */
export const RESERVED_MS = 30_000;

/** The room that an import needs, before its file is read. */
export interface Reservation {
  readonly jobId: string;
  /** Of this request alone: another one has no use of the room, also under the same id. */
  readonly owner: string;
  readonly enterpriseGlobalId: string;
  readonly caller: string;
  readonly bytes: number;
}

export type Reserved =
  | { readonly kind: 'reserved' }
  | { readonly kind: 'in-progress'; readonly jobId: string }
  /** The caller has too many unfinished imports, or all jobs together take too much memory. */
  | { readonly kind: 'full'; readonly of: 'caller' | 'store' };

/** A chunk as the store keeps it; `waiting` is absent once nothing of it is to be sent. Both are packed. */
export interface StoredChunk {
  readonly results: Buffer;
  readonly waiting?: Buffer | undefined;
}

/** A job and the chunks of which a call was recorded, with the number of those calls. */
export type Taken =
  | { readonly kind: 'taken'; readonly job: JobRecord; readonly calls: ReadonlyMap<number, number> }
  | { readonly kind: 'lost' | 'ended' };

/** What became of a step: `lost`, so without effect, where another process has the job. */
export type StepResult = 'done' | 'cancelled' | 'lost';

export interface ChunkChange {
  readonly jobId: string;
  readonly owner: string;
  readonly chunk: number;
  readonly results: Buffer;
  readonly counts: Counts;
  /** What still waits; absent: nothing. */
  readonly waiting?: Buffer | undefined;
}

export interface UnfinishedJob {
  readonly jobId: string;
  readonly changedAt: number;
  readonly state: JobState;
}

/** Undefined: of every enterprise, in every state. */
export interface JobQuery {
  readonly enterprises: ReadonlySet<string> | undefined;
  readonly state: JobState | undefined;
}

/**
 * Jobs, in Redis for all replicas or in the process for one. Each call is one atomic step on the store's own clock. Where it rejects
 * with {@link JobStoreUnavailable}, nothing may be sent.
 */
export interface JobStore {
  /** The same owner may reserve again, to have its room for longer. */
  reserve(wanted: Reservation): Promise<Reserved>;
  /** The file was refused: its room is free again. Without effect where there is a job, also one whose creation got no response. */
  release(jobId: string, owner: string): Promise<void>;
  /** In the room that this owner has reserved; it may be repeated. */
  create(
    owner: string,
    definition: JobDefinition,
    chunks: readonly StoredChunk[],
    rows: number,
  ): Promise<JobRecord>;
  read(jobId: string): Promise<JobRecord | undefined>;
  /** Newest first. */
  list(
    query: JobQuery,
    offset: number,
    count: number,
  ): Promise<{ jobs: readonly JobRecord[]; total: number }>;
  chunk(jobId: string, chunk: number): Promise<StoredChunk | undefined>;
  unfinished(): Promise<readonly UnfinishedJob[]>;

  /** Makes the process with this hold the only one that may change the job. Its token is the owner of what follows. */
  take(jobId: string, hold: TaskHold): Promise<Taken>;
  /**
   * Records that a call for this chunk is about to be sent. Resolves when the record is durable. Without effect for a cancelled job, and
   * where the lock has ended: results may come late, and a call may not.
   */
  begin(jobId: string, hold: TaskHold, chunk: number, calls: number): Promise<StepResult>;
  /** Repeatable. `cancelled`: saved, and the job is cancelled. */
  save(change: ChunkChange): Promise<StepResult>;
  /** The plan is made: the rows and the members to delete are in so many chunks. */
  prepared(jobId: string, owner: string, chunks: number, total: number): Promise<StepResult>;
  finish(jobId: string, owner: string, state: JobState, problem: ProblemBody | null): Promise<StepResult>;
  /** A job that has not begun ends at once, another one when what was sent is settled. */
  cancel(jobId: string): Promise<void>;
}

/** The store cannot say what is recorded, so nothing is sent. */
export class JobStoreUnavailable extends ProblemException {
  override readonly name = 'JobStoreUnavailable';

  constructor(cause: unknown) {
    super('dependency-unavailable', { retryAfter: 1, cause });
  }
}
