import { Injectable } from '@nestjs/common';
import { JobDispatcher } from '../jobs/job-dispatcher.ts';
import { JobStore } from '../jobs/store/job-store.ts';
import { toJob } from '../jobs/dto/job.dto.ts';
import { JobsService } from '../jobs/jobs.service.ts';

const MAX_JOBS = 50;
const MAX_ROWS = 50;
/** The alert ImportStuck has the same time. */
const STUCK_MS = 600_000;

/** The imports of all callers, for operators. */
@Injectable()
export class RecentJobs {
  constructor(
    private readonly store: JobStore,
    private readonly jobs: JobsService,
    private readonly dispatcher: JobDispatcher,
  ) {}

  /** Counts the imports that have not ended, and those of them that make no progress. Rejects where the store cannot be read. */
  async unfinished(): Promise<{ total: number; stuck: number }> {
    const jobs = await this.store.unfinished();
    const since = Date.now() - STUCK_MS;
    const stuck = jobs.filter((job) => this.dispatcher.idleSince(job) < since);
    return { total: jobs.length, stuck: stuck.length };
  }

  /**
   * Lists those that have not ended, then the newest. `withRows` names the job whose failed rows are wanted too. Rejects where the store cannot
   * be read.
   */
  async list(withRows: string | null): Promise<object> {
    const lists = await Promise.all(
      (['running', 'queued', undefined] as const).map((state) =>
        this.store.list({ enterprises: undefined, state }, 0, MAX_JOBS),
      ),
    );
    const byId = new Map(lists.flatMap(({ jobs }) => jobs.map((job) => [job.definition.jobId, job])));
    const jobs = [...byId.values()].slice(0, MAX_JOBS);
    const total = lists.at(-1)?.total;
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

  /** Leaves out the account, which only callers of its enterprise may see. */
  async #failedRows(jobId: string): Promise<object[]> {
    const job = await this.store.read(jobId);
    const found: object[] = [];
    if (!job) return found;
    for await (const { row, status, code, message } of this.jobs.rows(job, undefined)) {
      if (status === 'failed' || status === 'unknown') found.push({ row, status, code, message });
      if (found.length === MAX_ROWS) break;
    }
    return found;
  }
}
