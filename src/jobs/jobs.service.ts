import { Inject, Injectable } from '@nestjs/common';
import { type ProblemBody, ProblemException } from '../problem/problem.exception.ts';
import { type CallContext, type Grants, isGranted } from '../upstream/call-context.ts';
import type { JobDto, JobPageDto, JobProblemDto, JobRowDto, ListJobsQuery } from './dto/job.dto.ts';
import {
  type JobRecord,
  type RowResult,
  ROWS_PER_CHUNK,
  type RowStatus,
  sumOf,
  unpacked,
} from './store/job-record.ts';
import { JOB_STORE, type JobStore, KEPT_MS } from './store/job-store.ts';

/** Reads and cancels jobs. For a caller the jobs of other enterprises do not exist. */
@Injectable()
export class JobsService {
  constructor(@Inject(JOB_STORE) private readonly store: JobStore) {}

  async find(jobId: string, { enterprises }: Grants): Promise<JobRecord> {
    const job = await this.store.read(jobId);
    if (!job || !isGranted(enterprises, job.definition.enterpriseGlobalId))
      throw new ProblemException('job-not-found');
    return job;
  }

  async getJob(jobId: string, { caller }: CallContext): Promise<JobDto> {
    return toJob(await this.find(jobId, caller.grants));
  }

  async listJobs(
    { state, enterpriseGlobalId, page, pageSize }: ListJobsQuery,
    { caller }: CallContext,
  ): Promise<JobPageDto> {
    const granted = caller.grants.enterprises;
    const own = granted.has('*') ? undefined : granted;
    // The tenancy guard has refused an enterprise that is not granted.
    const enterprises = enterpriseGlobalId === undefined ? own : new Set([enterpriseGlobalId]);
    const { jobs, total } = await this.store.list({ enterprises, state }, (page - 1) * pageSize, pageSize);
    return { items: jobs.map(toJob), page, pageSize, total, totalPages: Math.ceil(total / pageSize) };
  }

  /** Nothing further is sent, and what was sent is settled. A job that has ended stays as it is. */
  async cancelJob(jobId: string, { caller }: CallContext): Promise<JobDto> {
    await this.find(jobId, caller.grants);
    await this.store.cancel(jobId);
    return toJob(await this.find(jobId, caller.grants));
  }

  /** The rows of one chunk after the other, so that a job of any size takes the same memory. */
  async *rows({ definition, chunks }: JobRecord, status?: RowStatus): AsyncGenerator<JobRowDto> {
    for (let chunk = 0; chunk < chunks; chunk++) {
      const stored = await this.store.chunk(definition.jobId, chunk);
      const results = stored ? unpacked<RowResult>(stored.results) : [];
      for (const [at, result] of results.entries())
        if (status === undefined || result.status === status) yield toJobRow(result, chunk, at);
    }
  }
}

export function toJob(job: JobRecord): JobDto {
  const { definition, state, total, counts, createdAt, startedAt, finishedAt, problem } = job;
  const { added, ...others } = counts;
  return {
    jobId: definition.jobId,
    kind: 'import',
    mode: definition.mode,
    enterpriseGlobalId: definition.enterpriseGlobalId,
    state,
    total,
    done: sumOf(counts),
    succeeded: added,
    ...others,
    createdAt: timeOf(createdAt),
    startedAt: startedAt === null ? null : timeOf(startedAt),
    finishedAt: finishedAt === null ? null : timeOf(finishedAt),
    expiresAt: timeOf(createdAt + KEPT_MS),
    problem: problem && toJobProblem(problem),
  };
}

/** `at` is the index of the row in the chunk. */
function toJobRow(result: RowResult, chunk: number, at: number): JobRowDto {
  const { account, status, code = null, message = null, memberGlobalId = null, was } = result;
  const row = was === 'surplus' ? null : chunk * ROWS_PER_CHUNK + at + 1;
  return { row, account, status, code, message, memberGlobalId };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function toJobProblem(problem: ProblemBody): JobProblemDto {
  const { type, title, status, detail = title, code, outcome, retryable, requestId = '' } = problem;
  return { type, title, status, detail, code, outcome, retryable, requestId };
}

/** The URL of the job that an operation returns. Undefined for a plan. */
export function jobLocation(result: unknown): string | undefined {
  const { jobId } = result as { jobId?: string };
  return jobId === undefined ? undefined : `/v1/jobs/${jobId}`;
}
