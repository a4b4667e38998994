import { rowsAs } from '../../database/engine.ts';
import type { SealedTexts } from '../../database/sealed-texts.ts';
import { amongTexts, fields, FOR_UPDATE, NOW, type Query, rows, sql } from '../../database/sql.ts';
import type { ProblemBody } from '../../problem/problem.exception.ts';
import { countsFrom, type JobDefinition, type JobRecord, type JobState } from './job-record.ts';
import { KEPT_MS } from './stored-job.ts';

/** A row of `jobs`. In the state `reserved` it is the space of a file and not a job. */
export interface JobRow {
  readonly jobId: string;
  readonly state: JobState | 'reserved';
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
  readonly createdAt: number;
  readonly changedAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

export const JOB_FIELDS = fields({
  ...{ jobId: 'text', state: 'text', enterprise: 'text', caller: 'text', bytes: 'bigint' },
  ...{ definition: 'text', problem: 'text', total: 'bigint', chunks: 'bigint', counts: 'text' },
  ...{ prepared: 'bigint', cancelled: 'bigint', version: 'bigint', createdAt: 'bigint' },
  ...{ changedAt: 'bigint', startedAt: 'bigint', finishedAt: 'bigint' },
});
/** Jobs are kept until they have ended, and ended jobs for `keptMs` from their creation. */
export const IS_KEPT = sql`
  state <> 'reserved' AND (finished_at IS NULL OR created_at > (SELECT ${NOW}) - CAST(:keptMs AS bigint))`;
/** A job whose key was removed after its end cannot be shown, so it is not counted either. `heads` begin its texts. */
export const IS_OPENABLE = sql`
  NOT EXISTS (SELECT 1 FROM ${rows('heads', { head: 'text' })} WHERE substr(definition, 1, length(head)) = head)`;
export const OF_JOB = sql`platform = :platform AND job_id = :jobId`;

const NAMED = sql`
  SELECT ${JOB_FIELDS} FROM jobs
  WHERE platform = :platform AND ${amongTexts(sql`job_id`, sql`:ids`)}`;
const LOCKED = sql`${NAMED} ORDER BY job_id ${FOR_UPDATE}`;
const READ = sql`SELECT ${JOB_FIELDS}, ${NOW} AS now FROM jobs WHERE ${OF_JOB} AND ${IS_KEPT}`;

export function readJob(jobId: string): Query {
  return READ.with({ jobId, keptMs: KEPT_MS });
}

export function readJobs(found: readonly { readonly jobId: string }[]): Query {
  return NAMED.with({ ids: found.map(({ jobId }) => jobId) });
}

/** Locks the jobs that a step changes. A step that also locks their tasks locks the tasks first. */
export function lockJobs(given: readonly { readonly jobId: string }[]): Query[] {
  return [LOCKED.with({ ids: given.map(({ jobId }) => jobId) })];
}

export function rowOf(found: readonly object[] | undefined, jobId: string): JobRow | undefined {
  return rowsAs<JobRow>(found).find((row) => row.jobId === jobId);
}

/** Seals the definition of a job, its rows and its problem. States, counts and times are columns. */
export class JobSeal {
  constructor(private readonly texts: SealedTexts) {}

  definition(definition: JobDefinition): string {
    return this.texts.seal(JSON.stringify(definition), `job ${definition.jobId}`);
  }

  /** The parameter of {@link IS_OPENABLE}. */
  get heads(): readonly { readonly head: string }[] {
    return this.texts.removedHeads.map((head) => ({ head }));
  }

  /** Seals a problem, because it may name members. */
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

  lacksKeyOf(sealed: Uint8Array | null): boolean {
    return sealed !== null && this.texts.lacksKeyOfBytes(Buffer.from(sealed));
  }

  /** Returns undefined if the job is sealed under a key that was removed. */
  record(row: JobRow): JobRecord | undefined {
    const { jobId, state, total, createdAt, startedAt, finishedAt, version, chunks } = row;
    const definition = this.texts.open(row.definition, `job ${jobId}`);
    const problem =
      row.problem === null ? undefined : this.texts.open(row.problem, `problem of job ${jobId}`);
    if (definition === undefined) return undefined;
    return {
      definition: JSON.parse(definition) as JobDefinition,
      problem: problem === undefined ? null : (JSON.parse(problem) as ProblemBody),
      counts: countsFrom(JSON.parse(row.counts) as number[]),
      ...{ state: state as JobState, total, createdAt, startedAt, finishedAt, version, chunks },
      ...{ prepared: row.prepared === 1, isCancelled: row.cancelled === 1 },
    };
  }

  /** Returns a job at its end, for the feed. */
  event(row: JobRow): string {
    const record = this.record(row);
    return record ? this.texts.seal(JSON.stringify(record), `event of job ${row.jobId}`) : '';
  }

  openEvent(jobId: string, sealed: string): JobRecord | undefined {
    const record = this.texts.open(sealed, `event of job ${jobId}`);
    return record ? (JSON.parse(record) as JobRecord) : undefined;
  }
}
