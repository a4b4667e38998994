import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { taskQueue } from '../redis/job-queue.ts';
import { ImportRunner } from './import-runner.ts';
import type { JobStore, UnfinishedJob } from './job-store.ts';
import { edge } from '../shared/edge.ts';
import type { TaskQueue } from '../kit/task-queue/task-queue.ts';

/** The token of {@link JobStore}, which has two implementations. */
export const JOB_STORE = Symbol('JobStore');

/** How often the unfinished jobs are looked at. */
const LOOK_MS = 2_000;
/** Imports that this process works on at a time. */
const JOBS_AT_A_TIME = 4;

interface JobTask {
  readonly jobId: string;
}

/**
 * Puts each unfinished job on the queue, which gives it to one process at a time until it has ended. A job that is queued is not queued
 * again. The store's list is complete also where a process died between the two, or the queue was lost; and a process that reads it
 * opens its worker, so that it can take over.
 */
@Injectable()
export class JobDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #queue: TaskQueue<JobTask>;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(
    @Inject(JOB_STORE) private readonly store: JobStore,
    runner: ImportRunner,
    private readonly metrics: Metrics,
    config: OrderStoreConfig,
    log: Log,
  ) {
    const settings = { room: 'imports', name: 'imports', concurrency: JOBS_AT_A_TIME, rememberedS: 0 };
    this.#queue = taskQueue<JobTask>(config, log, settings, ({ jobId }, hold) =>
      runner.run(store, jobId, hold),
    );
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

  /** Begins nothing further. What was sent has until its deadline to come back, so that its result is recorded. */
  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.#queue.close();
  }

  async offer(...jobIds: string[]): Promise<void> {
    // What fails is found by the next look.
    await this.#queue.add(jobIds.map((jobId) => ({ id: jobId, data: { jobId } }))).catch(() => undefined);
  }

  /** One look at a time; a failure means that the store is away, which the log says already. */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const unfinished = await this.store.unfinished().catch(() => undefined);
    if (unfinished) {
      this.#measure(unfinished);
      await this.offer(...unfinished.map(({ jobId }) => jobId));
    }
    this.#looking = false;
  }

  #measure(unfinished: readonly UnfinishedJob[]): void {
    const running = unfinished.filter(({ state }) => state === 'running').length;
    const now = Date.now();
    const oldest = Math.min(now, ...unfinished.map(({ changedAt }) => changedAt));
    this.metrics.set('gateway_jobs', { state: 'queued' }, unfinished.length - running);
    this.metrics.set('gateway_jobs', { state: 'running' }, running);
    this.metrics.set('gateway_jobs_idle_seconds', {}, (now - oldest) / 1_000);
  }
}
