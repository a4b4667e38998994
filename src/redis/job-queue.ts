import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, Queue, Worker } from 'bullmq';
import type { OrderStoreConfig } from '../config/app-config.ts';
import type { Log } from '../observability/log.ts';
import { environmentName } from './key-names.ts';
import { queueClient, type RedisServer, serverOf } from './redis-client.ts';
import { redisErrorReason } from './redis-error.ts';
import { edge, reportFault } from '../shared/edge.ts';
import {
  LocalQueue,
  type QueuedTask,
  type RunTask,
  type TaskHold,
  type TaskQueue,
} from '../kit/task-queue/task-queue.ts';

export interface QueueSettings {
  /** The queue's scripts touch several keys, which a cluster must have in one slot: they have the room's name in braces. */
  readonly room: string;
  readonly name: string;
  /** The number of tasks at a time in this process. */
  readonly concurrency: number;
  /** A task that was done is remembered for this time, so that it is not queued again. 0: it is not remembered. */
  readonly rememberedS: number;
}

/** When a worker dies, the lock of its task ends, and another worker finds it. The library's own times are over a minute. */
const TAKEN_OVER = {
  lockDuration: 5_000,
  lockRenewTime: 1_000,
  stalledInterval: 2_000,
  runRetryDelay: 1_000,
  maxStalledCount: Number.MAX_SAFE_INTEGER,
};
/** A task that is not done is tried again. The library keeps no stacks of failures: they would stay in Redis, and may name members. */
const TRIED_AGAIN = {
  attempts: Number.MAX_SAFE_INTEGER,
  stackTraceLimit: 0,
  backoff: { type: 'fixed', delay: 1_000 },
};
/** A process that ends tries for this time to give its tasks back. Redis may be away. */
const GIVEN_BACK_MS = 1_000;

interface OpenQueue<T> {
  readonly client: ReturnType<typeof queueClient>;
  readonly queue: Queue<T>;
  readonly worker: Worker<T>;
}

/** Makes the queue of all replicas, or that of this process where there is no Redis. */
export function taskQueue<T extends object>(
  config: OrderStoreConfig,
  log: Log,
  settings: QueueSettings,
  run: RunTask<T>,
): TaskQueue<T> {
  const server = serverOf(config);
  if (!server) return new LocalQueue(settings.name, settings.concurrency, run);
  const prefix = `{${environmentName(config.platform)}:${settings.room}}`;
  return new JobQueue({ ...settings, server, prefix, log }, run);
}

/**
 * A queue of all replicas in Redis. If a worker dies, another one takes its task again: right for reads and for what is recorded by
 * itself, and the reason why no order is ever sent from a queue.
 *
 * The first task opens the queue. Until then there is no connection, and the large library is not loaded.
 */
export class JobQueue<T extends object> implements TaskQueue<T> {
  #opened: Promise<OpenQueue<T>> | undefined;
  #closed = false;
  /** The runs under way, by the ids of their tasks. */
  readonly #runs = new Map<string, Promise<boolean>>();

  constructor(
    private readonly settings: QueueSettings & {
      readonly server: RedisServer;
      readonly prefix: string;
      readonly log: Log;
    },
    private readonly run: RunTask<T>,
  ) {}

  async add(tasks: readonly QueuedTask<T>[]): Promise<void> {
    if (this.#closed || tasks.length === 0) return;
    const { queue } = await (this.#opened ??= this.#open());
    await (queue as Queue).addBulk(
      tasks.map(({ id, data }) => ({ name: this.settings.name, data, opts: { jobId: id } })),
    );
  }

  /**
   * Waits for what is under way, and not for Redis: if the tasks cannot be given back, their locks end. The library's queue did not open
   * the connection, so it does not close it either.
   */
  async close(): Promise<void> {
    this.#closed = true;
    if (!this.#opened) return;
    const { client, queue, worker } = await this.#opened;
    const closed = worker.close();
    worker.cancelAllJobs();
    await Promise.allSettled(this.#runs.values());
    await Promise.race([closed, sleep(GIVEN_BACK_MS)]);
    client.disconnect();
    await queue.close();
  }

  async #open(): Promise<OpenQueue<T>> {
    const { server, prefix, name, concurrency, rememberedS, log } = this.settings;
    const bull = await import('bullmq');
    const client = queueClient(server);
    const options = { connection: client, prefix };
    const kept = rememberedS > 0 ? { age: rememberedS } : true;
    const queue = new bull.Queue<T>(name, {
      ...options,
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: { ...TRIED_AGAIN, removeOnComplete: kept, removeOnFail: kept },
    });
    // The library gives the signal to a function of three parameters only.
    const task = async (job: Job<T>, owner?: string, over?: AbortSignal) => {
      if (!owner || !over) throw new Error('a task has a lock');
      const key = queue.toKey(`${job.id}:lock`);
      if (!(await this.#work(job, { key, owner, over }))) throw new Error('the task is not done');
    };
    const worker = new bull.Worker<T>(name, task, { ...options, ...TAKEN_OVER, concurrency });
    const failed = edge(`queue ${name}`, (error: Error) =>
      log.debug({ event: 'queue-failed', queue: name, reason: redisErrorReason(error) }, 'A queue failed'),
    );
    client.on('error', failed);
    queue.on('error', failed);
    worker.on('error', failed);
    const lost = edge(`lock of ${name}`, (ids: string[]) => ids.forEach((id) => worker.cancelJob(id)));
    worker.on('lockRenewalFailed', lost);
    return { client, queue, worker };
  }

  /** A task whose lock was lost may come back to the same process before it knows. */
  async #work({ id = '', data }: Job<T>, hold: TaskHold): Promise<boolean> {
    if (this.#closed || this.#runs.has(id)) return false;
    const run = this.run(data, hold);
    this.#runs.set(id, run);
    try {
      return await run;
    } catch (error) {
      // The library keeps the failure, and says nothing.
      reportFault(`task of ${this.settings.name}`, error);
      return false;
    } finally {
      this.#runs.delete(id);
    }
  }
}
