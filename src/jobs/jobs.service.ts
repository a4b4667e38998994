import { Injectable } from '@nestjs/common';
import { LongReads } from '../database/long-reads.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { pageWith } from '../operation/page.dto.ts';
import { eventText, Watchers } from '../operation/watchers.ts';
import { type CallContext, type Grants, isGranted } from '../request/call-context.ts';
import { type JobDto, type JobPageDto, type JobRowDto, type ListJobsQuery, toJob } from './dto/job.dto.ts';
import {
  isEnded,
  type JobRecord,
  type NumberedResult,
  type RowResult,
  ROWS_PER_CHUNK,
  type RowStatus,
  unpacked,
} from './store/job-record.ts';
import { JobStore } from './store/job-store.ts';

/** A quiet stream gets a comment before the connection would count as stalled. */
const PACE = { pauseMs: 500, quietMs: 5_000, comment: () => ': no change\n\n' };

/** Reads, follows and cancels jobs. For a caller, the jobs of other enterprises do not exist. */
@Injectable()
export class JobsService {
  constructor(
    private readonly store: JobStore,
    private readonly watchers: Watchers,
    private readonly reads: LongReads,
  ) {}

  async find(jobId: string, { enterprises }: Grants): Promise<JobRecord> {
    const job = await this.store.find(jobId);
    if (!job || !isGranted(enterprises, job.definition.enterpriseGlobalId))
      throw new ProblemException('job-not-found');
    return job;
  }

  async getJob(jobId: string, { caller }: CallContext): Promise<JobDto> {
    return toJob(await this.find(jobId, caller.grants));
  }

  async listJobs(query: ListJobsQuery, call: CallContext): Promise<JobPageDto> {
    const { state, enterpriseGlobalId, page, pageSize } = query;
    const granted = call.caller.grants.enterprises;
    const own = granted.has('*') ? undefined : granted;
    // The tenancy guard has refused an enterprise that is not granted.
    const enterprises = enterpriseGlobalId === undefined ? own : new Set([enterpriseGlobalId]);
    const { jobs, total } = await this.reads.run(call, () =>
      this.store.list({ enterprises, state }, (page - 1) * pageSize, pageSize),
    );
    return pageWith(jobs.map(toJob), total, query);
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
   * Streams the changes of a job as server-sent events. `seen` is the version that the client has already. The stream also ends when the
   * caller may not see the job any more.
   */
  events(job: JobRecord, seen: number, maySee: () => Promise<boolean>): AsyncGenerator<string> {
    let current = job;
    // A version that the job has not had yet is none of this job, or its database was restored.
    let known = seen > job.version ? 0 : seen;
    return this.watchers.follow(async () => {
      // While the store is away, the client keeps the last version that it got.
      const found = await this.store.find(job.definition.jobId).catch(() => current);
      if (!found || !(await maySee())) return { next: 'end' };
      current = found;
      if (isEnded(found.state)) return { texts: [eventOf('done', found)], next: 'end' };
      if (found.version <= known) return {};
      known = found.version;
      return { texts: [eventOf('progress', found)] };
    }, PACE);
  }

  /** Yields the rows as callers see them, of one status or of all. */
  async *rows(job: JobRecord, status?: RowStatus): AsyncGenerator<JobRowDto> {
    for await (const { row, result } of this.results(job)) {
      const { account, code = null, message = null, memberGlobalId = null } = result;
      if (status === undefined || result.status === status)
        yield { row, account, status: result.status, code, message, memberGlobalId };
    }
  }

  /**
   * Yields the rows of one chunk after the other, so that a job of any size takes the same memory. Throws if not all rows can be read, unless
   * the job itself says that the database has lost some.
   */
  async *results({ definition, chunks, total, problem }: JobRecord): AsyncGenerator<NumberedResult> {
    let count = 0;
    for (let chunk = 0; chunk < chunks; chunk++) {
      const stored = await this.store.chunk(definition.jobId, chunk);
      const results = stored ? unpacked<RowResult>(stored.results) : [];
      count += results.length;
      for (const [at, result] of results.entries())
        yield { row: result.was === 'surplus' ? null : chunk * ROWS_PER_CHUNK + at + 1, result };
    }
    if (count < total && problem?.code !== 'outcome-unknown')
      throw new ProblemException('dependency-unavailable', {
        detail: `The job has ${total} rows, and the gateway can read ${count} of them.`,
      });
  }
}

function eventOf(name: 'progress' | 'done', job: JobRecord): string {
  return eventText(job.version, name, toJob(job));
}
