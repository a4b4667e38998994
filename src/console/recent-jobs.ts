import { Inject, Injectable } from '@nestjs/common';
import { JOB_STORE } from '../jobs/job-dispatcher.ts';
import type { JobStore } from '../jobs/job-store.ts';
import { toJob } from '../jobs/job.mapper.ts';
import { JobsService } from '../jobs/jobs.service.ts';

const MOST_JOBS = 50;
const MOST_ROWS = 50;
/** As the alert ImportStuck has it. */
const STUCK_MS = 600_000;

/** The imports of all callers, for operators. */
@Injectable()
export class RecentJobs {
  constructor(
    @Inject(JOB_STORE) private readonly store: JobStore,
    private readonly jobs: JobsService,
  ) {}

  /** Those that have not ended, and those of them that make no progress. None where the store does not answer. */
  async unfinished(): Promise<{ total: number; stuck: number }> {
    const jobs = await this.store.unfinished().catch(() => []);
    const now = Date.now();
    return { total: jobs.length, stuck: jobs.filter(({ changedAt }) => now - changedAt > STUCK_MS).length };
  }

  /** The newest first. `withRows`: the job whose failed rows are wanted too. Rejects where the store does not answer. */
  async list(withRows: string | null): Promise<object> {
    const { jobs, total } = await this.store.list({ enterprises: undefined, state: undefined }, 0, MOST_JOBS);
    const items = await Promise.all(
      jobs.map(async (job) => ({
        ...toJob(job),
        caller: job.definition.caller,
        isCancelled: job.isCancelled,
        ...(job.definition.jobId === withRows && { rows: await this.#failedRows(withRows) }),
      })),
    );
    return { total, items };
  }

  /** Without the account, which is for the callers of its enterprise. */
  async #failedRows(jobId: string): Promise<object[]> {
    const job = await this.store.read(jobId);
    const found: object[] = [];
    if (!job) return found;
    for await (const { row, status, code, message } of this.jobs.rows(job, undefined)) {
      if (status === 'failed' || status === 'unknown') found.push({ row, status, code, message });
      if (found.length === MOST_ROWS) break;
    }
    return found;
  }
}
