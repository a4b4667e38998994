import { Injectable } from '@nestjs/common';
import { AddMembersService } from '../member/add-members.service.ts';
import { MemberService } from '../member/member.service.ts';
import { errorSummary } from '../observability/error-summary.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { ReadCache } from '../read-cache/read-cache.ts';
import { HoldLost, ImportHold } from './import-hold.ts';
import { ImportRun } from './import-run.ts';
import { JobStoreUnavailable, type JobStore } from './job-store.ts';
import { JobUsers } from './job-user.ts';
import { MemberDirectory } from './member-directory.ts';
import type { TaskHold } from '../kit/task-queue/task-queue.ts';

/** Works on jobs until they end, or this process may not go on. */
@Injectable()
export class ImportRunner {
  constructor(
    private readonly members: MemberService,
    private readonly adding: AddMembersService,
    private readonly directory: MemberDirectory,
    private readonly cache: ReadCache,
    private readonly users: JobUsers,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  /** Resolves to whether the job has ended. */
  async run(store: JobStore, jobId: string, hold: TaskHold): Promise<boolean> {
    const { members, adding, directory, users } = this;
    const written = (enterpriseGlobalId: string) =>
      this.cache.written({ enterpriseGlobalId }).catch(() => undefined);
    const parts = { store, members, adding, directory, users, written };
    try {
      const taken = await store.take(jobId, hold);
      if (taken.kind !== 'taken') return taken.kind === 'ended';
      const state = await new ImportRun(parts, new ImportHold(jobId, hold), taken.job, taken.calls).run();
      this.metrics.count('gateway_jobs_ended_total', { state });
      this.log.info({ event: 'job-ended', job: jobId, state }, `Import ${state}`);
      return true;
    } catch (error) {
      if (!(error instanceof HoldLost) && !(error instanceof JobStoreUnavailable))
        this.log.error(
          { event: 'job-interrupted', job: jobId, ...errorSummary(error) },
          'The work on an import failed inside the gateway, and is tried again',
        );
      return false;
    }
  }
}
