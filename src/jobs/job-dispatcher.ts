import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { Maintenance } from '../control/maintenance.ts';
import type { TaskHold, TaskQueue } from '../kit/task-queue/task-queue.ts';
import { errorSummary } from '../observability/error-summary.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { taskQueue } from '../redis/job-queue.ts';
import { edge } from '../shared/edge.ts';
import { ImportCalls, ImportCallServices } from './member-imports/import-calls.ts';
import { ImportRun } from './member-imports/import-run.ts';
import { HeldJob, HoldLost } from './store/held-job.ts';
import { JOB_STORE, type JobStore, JobStoreUnavailable, type UnfinishedJob } from './store/job-store.ts';

const LOOK_MS = 2_000;
const JOBS_AT_A_TIME = 4;

type JobTask = Pick<UnfinishedJob, 'jobId'>;

/**
 * Puts each unfinished job on the queue, which gives it to one process at a time until it has ended. A job that is queued is not queued
 * again. The store's list is complete also if a process died between the two, or the queue was lost. A process that reads the list
 * opens its worker, so that it can take over.
 */
@Injectable()
export class JobDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #queue: TaskQueue<JobTask>;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(
    @Inject(JOB_STORE) private readonly store: JobStore,
    private readonly imports: ImportCallServices,
    private readonly metrics: Metrics,
    config: OrderStoreConfig,
    private readonly log: Log,
    private readonly maintenance: Maintenance,
  ) {
    const settings = { room: 'guard', name: 'imports', concurrency: JOBS_AT_A_TIME, rememberedS: 0 };
    this.#queue = taskQueue<JobTask>(config, log, settings, ({ jobId }, hold) => this.#run(jobId, hold));
    if (!config.url)
      log.warn(
        { event: 'jobs-in-process' },
        'No Redis: imports run in this process only, and are forgotten with it',
      );
  }

  onApplicationBootstrap(): void {
    this.#timer = setInterval(
      edge('jobs', () => this.#look()),
      LOOK_MS,
    ).unref();
  }

  /** Begins nothing further. The response to what was sent may come until its deadline, so that the result is recorded. */
  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.#queue.close();
  }

  async offer(...jobIds: string[]): Promise<void> {
    // If this fails, the next look finds the jobs.
    await this.#queue.add(jobIds.map((jobId) => ({ id: jobId, data: { jobId } }))).catch(() => undefined);
  }

  /** Resolves to whether the job has ended, or is to wait. */
  async #run(jobId: string, hold: TaskHold): Promise<boolean> {
    // The job stays in the store's list, and the queue gets it again when the maintenance is over.
    if (this.maintenance.stops('writes')) return true;
    const over = AbortSignal.any([hold.over, this.maintenance.pause]);
    try {
      const taken = await this.store.take(jobId, hold);
      if (taken.kind !== 'taken') return taken.kind === 'ended';
      const held = new HeldJob(this.store, { ...hold, over }, taken.job);
      const calls = new ImportCalls(this.imports, taken.job.definition);
      const state = await new ImportRun(held, calls, taken.calls).run();
      this.metrics.count('gateway_jobs_ended_total', { state });
      this.log.info({ event: 'job-ended', job: jobId, state }, `Import ${state}`);
      return true;
    } catch (error) {
      if (!(error instanceof HoldLost) && !(error instanceof JobStoreUnavailable))
        this.log.error(
          { event: 'job-interrupted', job: jobId, ...errorSummary(error) },
          'The work on an import failed inside the gateway, and is tried again',
        );
      return this.maintenance.stops('writes');
    }
  }

  /** One look at a time. A failure means that the store is away, which the log says already. */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const unfinished = await this.store.unfinished().catch(() => undefined);
    if (unfinished) {
      this.#measure(unfinished);
      if (!this.maintenance.stops('writes')) await this.offer(...unfinished.map(({ jobId }) => jobId));
    }
    this.#looking = false;
  }

  #measure(unfinished: readonly UnfinishedJob[]): void {
    const running = unfinished.filter(({ state }) => state === 'running').length;
    const now = Date.now();
    // A maintenance is not a job's fault.
    const waits = this.maintenance.stops('writes') ? [] : unfinished;
    const oldest = Math.min(now, ...waits.map(({ changedAt }) => changedAt));
    this.metrics.set('gateway_jobs', { state: 'queued' }, unfinished.length - running);
    this.metrics.set('gateway_jobs', { state: 'running' }, running);
    this.metrics.set('gateway_jobs_idle_seconds', {}, (now - oldest) / 1_000);
  }
}
