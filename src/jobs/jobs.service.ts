import { Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { type CallContext, type Grants, isGranted } from '../request/call-context.ts';
import { type JobDto, type JobPageDto, type JobRowDto, type ListJobsQuery, toJob } from './dto/job.dto.ts';
import {
  type JobRecord,
  type RowResult,
  ROWS_PER_CHUNK,
  type RowStatus,
  unpacked,
} from './store/job-record.ts';
import { JobStore } from './store/job-store.ts';

/** Reads and cancels jobs. For a caller, the jobs of other enterprises do not exist. */
@Injectable()
export class JobsService {
  constructor(private readonly store: JobStore) {}

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

  /**
   * Cancels a job. No further call is sent, and the outcome of the calls that were sent is settled. A job that has ended is not changed.
   */
  async cancelJob(jobId: string, { caller }: CallContext): Promise<JobDto> {
    await this.find(jobId, caller.grants);
    await this.store.cancel(jobId);
    return toJob(await this.find(jobId, caller.grants));
  }

  /**
   * Yields the rows of one chunk after the other, so that a job of any size takes the same memory. Throws if not all rows can be read, unless
   * the job itself says that the database has lost some.
   */
  async *rows(
    { definition, chunks, total, problem }: JobRecord,
    status?: RowStatus,
  ): AsyncGenerator<JobRowDto> {
    let count = 0;
    for (let chunk = 0; chunk < chunks; chunk++) {
      const stored = await this.store.chunk(definition.jobId, chunk);
      const results = stored ? unpacked<RowResult>(stored.results) : [];
      count += results.length;
      for (const [at, result] of results.entries())
        if (status === undefined || result.status === status) yield toJobRow(result, chunk, at);
    }
    if (count < total && problem?.code !== 'outcome-unknown')
      throw new ProblemException('dependency-unavailable', {
        detail: `The job has ${total} rows, and the gateway can read ${count} of them.`,
      });
  }
}

/** `at` is the index of the row in the chunk. */
function toJobRow(result: RowResult, chunk: number, at: number): JobRowDto {
  const { account, status, code = null, message = null, memberGlobalId = null, was } = result;
  const row = was === 'surplus' ? null : chunk * ROWS_PER_CHUNK + at + 1;
  return { row, account, status, code, message, memberGlobalId };
}
