import type { SealedTexts } from '../../database/sealed-texts.ts';
import { among, FOR_UPDATE, NOW, type Query, rows, sql } from '../../database/sql.ts';
import type { ProblemBody } from '../../problem/problem.exception.ts';
import { countsFrom, type JobDefinition, type JobRecord, type JobState } from './job-record.ts';
import { KEPT_MS } from './stored-job.ts';

/** A row of `jobs`. While its state is `reserved` it is the room of a file, and no job. */
export interface JobRow {
  readonly job_id: string;
  readonly state: JobState | 'reserved';
  readonly owner: string;
  readonly enterprise: string;
  readonly caller: string;
  readonly bytes: number;
  readonly definition: string;
  readonly problem: string | null;
  readonly total: number;
  readonly chunks: number;
  readonly counts: string;
  readonly prepared: number;
  readonly cancelled: number;
  readonly version: number;
  readonly created_at: number;
  readonly changed_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
}

export const COLUMNS = sql`job_id, state, owner, enterprise, caller, bytes, definition, problem, total, chunks, counts, prepared,
  cancelled, version, created_at, changed_at, started_at, finished_at`;
export const IS_KEPT = sql`state <> 'reserved' AND created_at > (SELECT ${NOW}) - ${sql`CAST(:kept_ms AS bigint)`}`;
export const OF_JOB = sql`platform = :platform AND job_id = :job_id`;

const LOCKED = sql`
  SELECT ${COLUMNS} FROM jobs
  WHERE platform = :platform AND ${among(sql`job_id`, sql`SELECT job_id FROM ${rows('ids', { job_id: 'text' })}`)}
  ORDER BY job_id ${FOR_UPDATE}`;
const READ = sql`SELECT ${COLUMNS} FROM jobs WHERE ${OF_JOB} AND ${IS_KEPT}`;

export function readJob(jobId: string): Query {
  return READ.with({ job_id: jobId, kept_ms: KEPT_MS });
}

/** In the look of a step that changes jobs, after the tasks that it locks. */
export function lockJobs(jobIds: readonly string[]): Query {
  return LOCKED.with({ ids: jobIds.map((jobId) => ({ job_id: jobId })) });
}

export function rowOf(found: readonly object[] | undefined, jobId: string): JobRow | undefined {
  return (found as readonly JobRow[] | undefined)?.find((row) => row.job_id === jobId);
}

/** Seals what a job was asked for, its rows and its problem. States, counts and times are columns. */
export class JobSeal {
  constructor(private readonly texts: SealedTexts) {}

  definition(definition: JobDefinition): string {
    return this.texts.seal(JSON.stringify(definition), `job ${definition.jobId}`);
  }

  /** It may name members. */
  problem(jobId: string, problem: ProblemBody | null): string | null {
    return problem && this.texts.seal(JSON.stringify(problem), `problem of job ${jobId}`);
  }

  rows(jobId: string, chunk: number, part: 'results' | 'waiting', bytes: Buffer): Buffer {
    return this.texts.sealBytes(bytes, `${part} ${chunk} of job ${jobId}`);
  }

  openRows(
    jobId: string,
    chunk: number,
    part: 'results' | 'waiting',
    sealed: Uint8Array | null | undefined,
  ): Buffer | undefined {
    return sealed ? this.texts.openBytes(Buffer.from(sealed), `${part} ${chunk} of job ${jobId}`) : undefined;
  }

  /** Undefined where it is sealed under a key that this gateway does not have. */
  record(row: JobRow): JobRecord | undefined {
    const definition = this.texts.open(row.definition, `job ${row.job_id}`);
    const problem =
      row.problem === null ? undefined : this.texts.open(row.problem, `problem of job ${row.job_id}`);
    if (definition === undefined) return undefined;
    return {
      definition: JSON.parse(definition) as JobDefinition,
      state: row.state as JobState,
      total: row.total,
      counts: countsFrom(JSON.parse(row.counts) as number[]),
      createdAt: row.created_at,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      problem: problem === undefined ? null : (JSON.parse(problem) as ProblemBody),
      version: row.version,
      prepared: row.prepared === 1,
      chunks: row.chunks,
      isCancelled: row.cancelled === 1,
    };
  }

  /** A job for the feed, as it is at its end. */
  event(row: JobRow): string {
    const record = this.record(row);
    return record ? this.texts.seal(JSON.stringify(record), `event of job ${row.job_id}`) : '';
  }

  openEvent(jobId: string, sealed: string): JobRecord | undefined {
    const record = this.texts.open(sealed, `event of job ${jobId}`);
    return record ? (JSON.parse(record) as JobRecord) : undefined;
  }
}
