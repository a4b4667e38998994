import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { TraceContext } from '../../observability/tracing.ts';
import type { ProblemBody } from '../../problem/problem.exception.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';

/**
 * The number of rows of a chunk, which is recorded, sent and settled as one. The platform accepts as many rows in one call (interface
 * section 8).
 */
export const ROWS_PER_CHUNK = 100;

export const jobKinds = enumeration('JobKind', ['import'], 'What a job does');

export const jobStates = enumeration(
  'JobState',
  ['queued', 'running', 'succeeded', 'completed', 'cancelled', 'failed'],
  'How far a job is: `succeeded` (every row), `completed` (some rows failed or are unknown), `cancelled` and `failed` (nothing more can be done; `problem` says why) are ends',
);
export type JobState = WordOf<typeof jobStates>;
export type EndState = Exclude<JobState, 'queued' | 'running'>;

export const importModes = enumeration(
  'ImportMode',
  ['add', 'upsert'],
  '`add`: rows of members who exist fail; `upsert`: those members are updated',
);

export const rowStatuses = enumeration(
  'RowStatus',
  ['pending', 'added', 'updated', 'unchanged', 'deleted', 'failed', 'unknown'],
  'What became of a row: `pending` was not sent (yet), `unknown` may have been carried out',
);
export type RowStatus = WordOf<typeof rowStatuses>;

/** The final statuses of a row. Counts are stored in this order. */
export const DONE = ['added', 'updated', 'unchanged', 'deleted', 'failed', 'unknown'] as const;
export type Counts = Readonly<Record<(typeof DONE)[number], number>>;

/** The user of the platform on whose behalf a job acts: the user of its request. */
export type JobUser =
  | { readonly alias: string; readonly username: string }
  | { readonly sessionId: string; readonly username: string };

export interface ImportOptions {
  readonly mode: WordOf<typeof importModes>;
  /** Undefined if members who are not in the file are kept. */
  readonly deletes: { readonly most: number; readonly keep: readonly string[] } | undefined;
}

/** The request of the caller. It never changes. */
export interface JobDefinition extends ImportOptions {
  readonly jobId: string;
  readonly enterpriseGlobalId: string;
  readonly caller: string;
  /** True if the caller's entry had the scope of imports, and must keep it. */
  readonly isScoped: boolean;
  readonly user: JobUser;
  readonly requestId: string;
  /** The trace of the request, as the caller's other services see it. */
  readonly trace?: TraceContext;
}

export interface JobRecord {
  readonly definition: JobDefinition;
  readonly state: JobState;
  /** The rows of the file and, once the plan is made, the members to delete. */
  readonly total: number;
  readonly counts: Counts;
  /** When the job was made, in ms since the epoch, by the store's clock. */
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly problem: ProblemBody | null;
  /** A number that grows with every change. */
  readonly version: number;
  /** True once the plan is made: the rows were compared with the enterprise's members. Nothing is sent before. */
  readonly prepared: boolean;
  readonly chunks: number;
  readonly isCancelled: boolean;
}

/** The part of a row that callers see, and its plan. */
export interface RowResult {
  readonly account: string;
  /** The account as the check of the file reads it, if that still has the code of the enterprise. */
  readonly inFile?: string;
  readonly status: RowStatus;
  readonly code?: string;
  readonly message?: string;
  readonly memberGlobalId?: string;
  /**
   * The state of the member before anything was sent: its data was different (`different`), it is to be deleted (`surplus`), or it was not
   * known whether a member has the account (`perhaps`). Absent if there was no member.
   */
  readonly was?: 'different' | 'surplus' | 'perhaps';
}

/** A row with its number in the file. The number is null for a member who was to be deleted. */
export interface NumberedResult {
  readonly row: number | null;
  readonly result: RowResult;
}

/** A row that waits, with its password. */
export interface WaitingRow {
  /** The index of the row in its chunk. */
  readonly at: number;
  readonly member: WaitingMember;
  /**
   * The number of recorded calls of the chunk up to which it is known what they did to the row. If there are more, one of them may have
   * carried the row out. Absent: 0.
   */
  readonly knownUpTo?: number;
  /** True if the outcome of some call with the row was not known. The platform may then refuse the row because of that call. */
  readonly wasDoubtful?: boolean;
  /** The number of answers to calls with this row that the gateway could not read. */
  readonly unreadable?: number;
  /** The code that the gateway does not know with which the platform refused a call, and the number of rows in the next call. */
  readonly refused?: { readonly by: string; readonly next: number };
}

/** The stored form of a row. It does not change with the DTO of the file. A row of a new member has a password and a name. */
export interface WaitingMember {
  readonly account: string;
  /** The user name from which the account was read, if the row has no account of its own. */
  readonly userName?: string;
  /** The user name of a row that has an account too. */
  readonly besideAccount?: string;
  readonly password?: string;
  readonly name?: string;
  readonly departmentId?: string;
  readonly remark?: string;
  readonly passwordMobile?: string;
}

export function isEnded(state: JobState): boolean {
  return state !== 'queued' && state !== 'running';
}

export function countsOf(results: readonly RowResult[]): Counts {
  return countsFrom(DONE.map((done) => results.filter(({ status }) => status === done).length));
}

export function sumOf(counts: Counts): number {
  return countList(counts).reduce((sum, count) => sum + count, 0);
}

export function countList(counts: Counts): number[] {
  return DONE.map((status) => counts[status]);
}

/** Reverses {@link countList}. A missing count is 0. */
export function countsFrom(list: readonly number[]): Counts {
  return Object.fromEntries(DONE.map((status, index) => [status, list[index] ?? 0])) as unknown as Counts;
}

/** Packs rows. Packing is fast, and a packed row takes a fifth of its JSON. */
export function packed(value: readonly object[]): Buffer {
  return deflateRawSync(JSON.stringify(value), { level: 3 });
}

export function unpacked<T>(bytes: Buffer): T[] {
  return JSON.parse(inflateRawSync(bytes).toString('utf8')) as T[];
}
