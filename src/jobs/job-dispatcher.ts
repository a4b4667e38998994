import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { JobQueue } from '../redis/job-queue.ts';
import { environmentName } from '../redis/key-names.ts';
import { serverOf } from '../redis/redis-client.ts';
import { ImportRunner } from './import-runner.ts';
import type { JobStore, UnfinishedJob } from './job-store.ts';
import { edge, inBackground } from '../shared/edge.ts';

/** The token of {@link JobStore}, which has two implementations. */
export const JOB_STORE = Symbol('JobStore');

/** How often unfinished jobs without a process are looked for. */
const SCAN_MS = 1_000;
/** Imports that this process works on at a time. */
const JOBS_AT_A_TIME = 4;

interface JobTask {
  readonly jobId: string;
}

/**
 * Gives each unfinished job to one process. It reads the store's list instead of listening to requests, because the list is complete also
 * when a process died. The queue decides which process tries first; the lease in the store decides which one has the job.
 */
@Injectable()
export class JobDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #shutdown = new AbortController();
  readonly #queue: JobQueue<JobTask> | undefined;
  readonly #running = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #scanning = false;

  constructor(
    @Inject(JOB_STORE) private readonly store: JobStore,
    private readonly runner: ImportRunner,
    private readonly metrics: Metrics,
    config: OrderStoreConfig,
    log: Log,
  ) {
    const server = serverOf(config);
    if (server)
      this.#queue = new JobQueue<JobTask>(
        {
          ...{ server, log, name: 'imports', concurrency: JOBS_AT_A_TIME, rememberedS: 0 },
          prefix: `{${environmentName(config.platform)}:imports}`,
        },
        ({ jobId }) => this.#work(jobId),
      );
    else
      log.warn(
        { event: 'jobs-in-process' },
        'No Redis: imports run in this process only, and are forgotten with it',
      );
  }

  onApplicationBootstrap(): void {
    this.#timer = setInterval(
      edge('jobs', () => this.scan()),
      SCAN_MS,
    ).unref();
  }

  /** Begins nothing further. What was sent has until its deadline to come back, so that its result is recorded. */
  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    this.#shutdown.abort();
    await Promise.all(this.#running.values());
    await this.#queue?.close();
  }

  /** Offers every job that no process has. One scan at a time; a failure means that the store is away, which the log says already. */
  async scan(): Promise<void> {
    if (this.#scanning || this.#shutdown.signal.aborted) return;
    this.#scanning = true;
    await this.#offer().catch(() => undefined);
    this.#scanning = false;
  }

  async #offer(): Promise<void> {
    const unfinished = await this.store.unfinished();
    this.#measure(unfinished);
    const free = unfinished.filter(({ isLeased }) => !isLeased);
    if (free.length === 0) return;
    // A new number with each process that had it: the task of one that died stays in the queue for a while.
    if (this.#queue)
      await this.#queue.add(free.map(({ jobId, claims }) => ({ id: `${jobId}-${claims}`, data: { jobId } })));
    else
      for (const { jobId } of free.slice(0, JOBS_AT_A_TIME - this.#running.size))
        inBackground('jobs', () => this.#work(jobId));
  }

  #work(jobId: string): Promise<void> {
    if (this.#shutdown.signal.aborted) return Promise.resolve();
    const known = this.#running.get(jobId);
    if (known) return known;
    const run = this.runner
      .run(this.store, jobId, this.#shutdown.signal)
      .finally(() => this.#running.delete(jobId));
    this.#running.set(jobId, run);
    return run;
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
