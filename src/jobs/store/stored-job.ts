import type { Counts, JobRecord, JobState } from './job-record.ts';

const DAY_MS = 24 * 3_600_000;
/** The time for which jobs and the results of their rows are kept. */
export const KEPT_MS = 7 * DAY_MS;
/** The longest time for which the rows of an accepted job wait, with their passwords. */
export const WAITING_MS = DAY_MS;
/** The most unfinished imports of a caller. */
export const MAX_OF_CALLER = 5;
/** The time for which space is reserved while the file is read, which takes less time. The process may die before it frees the space. */
export const RESERVED_MS = 30_000;

/** The most bytes of the unfinished jobs, and of all jobs that are kept. */
export interface JobRoom {
  readonly unfinished: number;
  readonly all: number;
}

export interface Reservation {
  /** The id of the job to make. It is random, so no other request can use the space. */
  readonly jobId: string;
  readonly enterpriseGlobalId: string;
  readonly caller: string;
  readonly bytes: number;
}

export type Reserved =
  | { readonly kind: 'reserved' }
  | { readonly kind: 'in-progress'; readonly jobId: string }
  /** The gateway still reads another file of the enterprise, and has made no job of it yet. */
  | { readonly kind: 'being-read' }
  | { readonly kind: 'full'; readonly limit: 'caller' | 'store' };

/** A chunk as the store keeps it. Both parts are packed. `waiting` is absent once nothing of the chunk is to be sent any more. */
export interface StoredChunk {
  readonly results: Buffer;
  readonly waiting?: Buffer | undefined;
}

/** A job as it was read. */
export interface ReadJob extends JobRecord {
  /** Returns the time of the database, which `createdAt` has too. */
  readonly now: () => number;
}

/** A job, and the number of recorded calls of each chunk that has any. */
export type TakenJob =
  | { readonly kind: 'taken'; readonly job: ReadJob; readonly calls: ReadonlyMap<number, number> }
  | { readonly kind: 'lost' | 'ended' };

/** The result of a step. `lost`: another attempt has the job, or may have it, so the step had no effect. */
export type StepResult = 'done' | 'cancelled' | 'lost';

export interface ChunkChange extends StoredChunk {
  readonly jobId: string;
  readonly attempt: string;
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
  /** The jobs, newest first. */
  readonly jobs: readonly JobRecord[];
  readonly total: number;
}
