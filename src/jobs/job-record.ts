import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { TraceContext } from '../observability/trace-context.ts';
import type { ProblemBody } from '../problem/problem.exception.ts';
import { enumeration, type WordOf } from '../shared/enumeration.ts';

/** As many rows as the platform takes in one call (interface section 8). A chunk is what is recorded, sent and settled together. */
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
type ImportMode = WordOf<typeof importModes>;

export const rowStatuses = enumeration(
  'RowStatus',
  ['pending', 'added', 'updated', 'unchanged', 'deleted', 'failed', 'unknown'],
  'What became of a row: `pending` was not sent (yet), `unknown` may have been carried out',
);
export type RowStatus = WordOf<typeof rowStatuses>;

/** The statuses in which a row stays. */
const DONE = ['added', 'updated', 'unchanged', 'deleted', 'failed', 'unknown'] as const;
export type Counts = Readonly<Record<(typeof DONE)[number], number>>;
const NO_COUNTS: Counts = { added: 0, updated: 0, unchanged: 0, deleted: 0, failed: 0, unknown: 0 };

/** The platform's user on whose behalf a job acts: the one of its request. */
export type JobUser =
  | { readonly alias: string; readonly username: string }
  | { readonly sessionId: string; readonly username: string };

export interface ImportOptions {
  readonly mode: ImportMode;
  /** Undefined: members who are not in the file stay. */
  readonly deletes: { readonly most: number; readonly keep: readonly string[] } | undefined;
}

/** What a job was asked for; it never changes. */
export interface JobDefinition extends ImportOptions {
  readonly jobId: string;
  readonly enterpriseGlobalId: string;
  readonly caller: string;
  /** The caller's entry had the scope of imports; it must keep it. */
  readonly isScoped: boolean;
  readonly user: JobUser;
  readonly requestId: string;
  /** Of the request, as the caller's other services see it. */
  readonly trace?: TraceContext;
}

export interface JobRecord {
  readonly definition: JobDefinition;
  readonly state: JobState;
  /** Rows of the file and, once the plan is made, members to delete. */
  readonly total: number;
  readonly counts: Counts;
  /** In ms since the epoch, by the store's clock. */
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly problem: ProblemBody | null;
  /** Grows with every change. */
  readonly version: number;
  /** Whether the rows have been compared with the enterprise's members. Nothing is sent before. */
  readonly prepared: boolean;
  readonly chunks: number;
  readonly isCancelled: boolean;
}

/** What is known about a row, for callers, and what the plan says about it. */
export interface RowResult {
  readonly account: string;
  readonly status: RowStatus;
  readonly code?: string;
  readonly message?: string;
  readonly memberGlobalId?: string;
  /** Before anything was sent the member was there with other data, or is to be deleted. Absent: it was not there. */
  readonly was?: 'different' | 'surplus';
}

/** A row that waits, with its password, at its place in the chunk. */
export interface WaitingRow {
  readonly at: number;
  readonly member: WaitingMember;
}

export interface WaitingMember {
  readonly account: string;
  readonly password: string;
  readonly name: string;
  readonly departmentId?: string;
  readonly remark?: string;
  readonly passwordMobile?: string;
}

export function isEnded(state: JobState): boolean {
  return state !== 'queued' && state !== 'running';
}

export function countsOf(results: readonly RowResult[]): Counts {
  const counts: Record<string, number> = { ...NO_COUNTS };
  for (const { status } of results) if (status !== 'pending') counts[status] = (counts[status] ?? 0) + 1;
  return counts as Counts;
}

export function sumOf(counts: Counts): number {
  return DONE.reduce((sum, status) => sum + counts[status], 0);
}

/** As the store keeps them: in this order. */
export function countList(counts: Counts): number[] {
  return DONE.map((status) => counts[status]);
}

export function countsFrom(list: readonly number[]): Counts {
  return Object.fromEntries(DONE.map((status, index) => [status, list[index] ?? 0])) as unknown as Counts;
}

const FAST = { level: 3 };

/** Compact: a row takes a fifth of its JSON. */
export function packed(value: readonly object[]): Buffer {
  return deflateRawSync(JSON.stringify(value), FAST);
}

export function unpacked<T>(bytes: Buffer): T[] {
  return JSON.parse(inflateRawSync(bytes).toString('utf8')) as T[];
}
