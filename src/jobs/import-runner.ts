import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AddMembersService } from '../member/add-members.service.ts';
import { MemberService } from '../member/member.service.ts';
import { errorSummary } from '../observability/error-summary.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { ReadCache } from '../read-cache/read-cache.ts';
import { ImportLease, LEASE_MS, LeaseLost } from './import-lease.ts';
import { ImportRun } from './import-run.ts';
import { JobStoreUnavailable, type JobStore } from './job-store.ts';
import { JobUsers } from './job-user.ts';
import { MemberDirectory } from './member-directory.ts';

/** What the work on rows needs of the member area. */
@Injectable()
export class MemberCalls {
  constructor(
    readonly members: MemberService,
    readonly adding: AddMembersService,
    readonly directory: MemberDirectory,
    readonly cache: ReadCache,
  ) {}
}

/** Takes jobs and works on them until they end, or this process does. */
@Injectable()
export class ImportRunner {
  constructor(
    private readonly calls: MemberCalls,
    private readonly users: JobUsers,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  /** Works on a job that no process has. Never fails: the dispatcher finds again what stays undone. */
  async run(store: JobStore, jobId: string, shutdown: AbortSignal): Promise<void> {
    const owner = randomUUID();
    const claimed = await store.claim(jobId, owner, LEASE_MS).catch(() => undefined);
    if (claimed?.kind !== 'claimed') return;
    const lease = new ImportLease(store, jobId, owner, shutdown);
    const { members, adding, directory, cache } = this.calls;
    const written = (enterpriseGlobalId: string) =>
      cache.written({ enterpriseGlobalId }).catch(() => undefined);
    const parts = { store, members, adding, directory, users: this.users, written };
    try {
      const state = await new ImportRun(parts, lease, claimed.job, claimed.calls).run();
      this.metrics.count('gateway_jobs_ended_total', { state });
      this.log.info({ event: 'job-ended', job: jobId, state }, `Import ${state}`);
    } catch (error) {
      if (!(error instanceof LeaseLost) && !(error instanceof JobStoreUnavailable))
        this.log.error(
          { event: 'job-interrupted', job: jobId, ...errorSummary(error) },
          'The work on an import failed inside the gateway, and is tried again',
        );
    } finally {
      await lease.end();
    }
  }
}
