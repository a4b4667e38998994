import type { Counts, JobRecord, JobState } from './job-record.ts';

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
export type TakenJob =
  | { readonly kind: 'taken'; readonly job: JobRecord; readonly calls: ReadonlyMap<number, number> }
  | { readonly kind: 'lost' | 'ended' };

/** What became of a step. `lost`: another attempt has the job, or may have it, so the step had no effect. */
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
  /** Newest first. */
  readonly jobs: readonly JobRecord[];
  readonly total: number;
}
