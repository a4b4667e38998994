import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { Database } from '../database/database.ts';
import { poll } from '../kit/poll/poll.ts';
import { errorSummary } from '../observability/error-summary.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { logFields, type ProblemException } from '../problem/problem.exception.ts';
import { IdleJobs } from './idle-jobs.ts';
import { ImportCalls, ImportCallServices } from './member-imports/import-calls.ts';
import { ImportRun } from './member-imports/import-run.ts';
import { HeldJob, HoldLost, isOverdue, TryLater } from './store/held-job.ts';
import { CALLER_OF_JOB, IMPORT } from './store/job-rooms-store.ts';
import { JobStore } from './store/job-store.ts';
import { MAX_OF_CALLER, type ReadJob, type UnfinishedJob } from './store/stored-job.ts';
import { type TaskHold, TaskWorker } from '../tasks/task-worker.ts';

const LOOK_MS = 2_000;
/** More than a caller may have, so that the long imports of one caller hold up those of no other caller. */
const JOBS_AT_A_TIME = MAX_OF_CALLER + 1;
const AGAIN_MS = 1_000;
const SWEEP_MS = 10_000;
const MAX_WAITS = 1_000;

/** True if a job sends nothing any more, so that it ends also in a maintenance: it is cancelled, or its rows may wait no longer. */
function mayEnd(job: ReadJob | undefined): boolean {
  return job !== undefined && (job.isCancelled || isOverdue(job));
}

/** Works on imports that have not ended. The step that makes a job adds its task, so every job has one. */
@Injectable()
export class JobDispatcher implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  readonly #worker: TaskWorker;
  /** The last problem that each job of this process was waiting for. */
  readonly #waits = new LRUCache<string, string>({ max: MAX_WAITS });
  readonly #idle = new IdleJobs();
  #endPoll: (() => void) | undefined;
  #sweptAt = -Infinity;

  constructor(
    database: Database,
    private readonly store: JobStore,
    private readonly imports: ImportCallServices,
    private readonly metrics: Metrics,
    private readonly log: Log,
    private readonly maintenance: Maintenance,
  ) {
    this.#worker = new TaskWorker(database, {
      kind: IMPORT,
      owner: CALLER_OF_JOB,
      concurrency: JOBS_AT_A_TIME,
      run: (hold) => this.#run(hold),
    });
  }

  onApplicationBootstrap(): void {
    this.#worker.start();
    this.#endPoll = poll('jobs', LOOK_MS, () => this.#look());
  }

  onModuleDestroy(): void {
    this.#endPoll?.();
    this.#worker.stop();
  }

  /** Waits for the responses to calls that were sent, up to their deadline, so that the results are recorded. */
  beforeApplicationShutdown(): Promise<void> {
    return this.#worker.close();
  }

  /** Resolves to the time after which the job is to be tried again. Undefined if the job has ended. */
  async #run(hold: TaskHold): Promise<number | undefined> {
    const { name: jobId, attempt } = hold;
    try {
      const stopped = this.maintenance.stops('writes') ? this.maintenance.refusal('writes') : undefined;
      if (stopped && !mayEnd(await this.store.read(jobId))) return LOOK_MS;
      const taken = await this.store.take(jobId, attempt);
      if (taken.kind !== 'taken') return taken.kind === 'ended' ? undefined : AGAIN_MS;
      const over = mayEnd(taken.job) ? hold.over : AbortSignal.any([hold.over, this.maintenance.pause]);
      const held = new HeldJob(this.store, { ...hold, over }, taken.job, stopped);
      const calls = new ImportCalls(this.imports, taken.job, held.over);
      const state = await new ImportRun(held, calls, taken.calls).run();
      this.metrics.count('gateway_jobs_ended_total', { state });
      this.log.info({ event: 'job-ended', job: jobId, state }, `Import ${state}`);
      this.#waits.delete(jobId);
      return undefined;
    } catch (error) {
      if (error instanceof TryLater) {
        this.#tell(jobId, error.problem);
        return error.inMs;
      }
      if (error instanceof DatabaseUnavailable && error.reason === 'sealed') this.#tell(jobId, error);
      if (!(error instanceof HoldLost) && !(error instanceof DatabaseUnavailable))
        this.log.error(
          { event: 'job-interrupted', job: jobId, ...errorSummary(error) },
          'The work on an import failed inside the gateway, and is tried again',
        );
      return AGAIN_MS;
    }
  }

  /** Logs why an import waits, once for each reason. */
  #tell(jobId: string, problem: ProblemException | undefined): void {
    if (!problem || this.#waits.get(jobId) === problem.slug) return;
    this.#waits.set(jobId, problem.slug);
    this.log.warn(
      { event: 'job-waits', job: jobId, ...logFields(problem) },
      'An import waits, and goes on by itself',
    );
  }

  /** Looks for jobs to work on. A failure means that the store is away, which another log line reports. */
  async #look(): Promise<void> {
    const unfinished = await this.store.unfinished().catch(() => undefined);
    if (!unfinished) return;
    this.#measure(unfinished);
    await this.#sweep().catch(() => undefined);
  }

  /** Returns the time since which the job makes no progress, as this process sees it. */
  idleSince(job: UnfinishedJob): number {
    return this.#idle.since(job);
  }

  async #sweep(): Promise<void> {
    if (performance.now() - this.#sweptAt < SWEEP_MS) return;
    await this.store.sweep();
    this.#sweptAt = performance.now();
  }

  #measure(unfinished: readonly UnfinishedJob[]): void {
    const running = unfinished.filter(({ state }) => state === 'running').length;
    const now = Date.now();
    this.#idle.see(now, this.maintenance.stops('writes'), this.#worker.isFull);
    const oldest = unfinished.reduce((since, job) => Math.min(since, this.idleSince(job)), now);
    this.metrics.set('gateway_jobs', { state: 'queued' }, unfinished.length - running);
    this.metrics.set('gateway_jobs', { state: 'running' }, running);
    this.metrics.set('gateway_jobs_idle_seconds', {}, (now - oldest) / 1_000);
  }
}
