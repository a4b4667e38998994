import type { Job, Queue, Worker } from 'bullmq';
import type { Log } from '../observability/log.ts';
import { queueClient, type RedisServer } from './redis-client.ts';
import { redisErrorReason } from './redis-error.ts';
import { edge, reportFault } from '../shared/edge.ts';

/** Something to do once, by whichever replica takes it. */
export interface QueuedTask<T> {
  /** The same in all replicas: a task with an id that is queued is not queued again. */
  readonly id: string;
  readonly data: T;
}

export interface QueueSettings {
  readonly server: RedisServer;
  /** Of all keys. The queue's scripts touch several keys, which a cluster must have in one slot: hence with braces. */
  readonly prefix: string;
  readonly name: string;
  /** Tasks at a time in this process. */
  readonly concurrency: number;
  /** For how long a task that was done is remembered, so that it is not queued again; 0: not at all. */
  readonly rememberedS: number;
  readonly log: Log;
}

/**
 * A worker that dies loses its task: the lock ends, and then a check of another worker finds it. The library's own times add up to more
 * than a minute.
 */
const TAKEN_OVER = { lockDuration: 10_000, stalledInterval: 5_000, runRetryDelay: 1_000 };

interface OpenQueue<T> {
  readonly client: ReturnType<typeof queueClient>;
  readonly queue: Queue<T>;
  readonly worker: Worker<T>;
}

/**
 * A queue of all replicas in Redis. If a worker dies, another one takes its task again: right for reads and for what is recorded by
 * itself, and the reason why no order is ever sent from a queue.
 *
 * The first task opens the queue. Until then there is no connection, and the large library is not loaded.
 */
export class JobQueue<T extends object> {
  #opened: Promise<OpenQueue<T>> | undefined;
  #closed = false;

  constructor(
    private readonly settings: QueueSettings,
    private readonly run: (data: T) => Promise<unknown>,
  ) {}

  /** Resolves when the tasks are queued, or were queued before. */
  async add(tasks: readonly QueuedTask<T>[]): Promise<void> {
    if (this.#closed) return;
    const { queue } = await (this.#opened ??= this.#open());
    await (queue as Queue).addBulk(
      tasks.map(({ id, data }) => ({ name: this.settings.name, data, opts: { jobId: id } })),
    );
  }

  /**
   * Does not wait for Redis, which may be away: another replica repeats a task that is cut off here. The queue did not open the
   * connection, so it does not close it either.
   */
  async close(): Promise<void> {
    this.#closed = true;
    if (!this.#opened) return;
    const { client, queue, worker } = await this.#opened;
    await worker.close(true);
    await queue.close();
    client.disconnect();
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
      defaultJobOptions: { removeOnComplete: kept, removeOnFail: kept },
    });
    const task = async ({ data }: Job<T>) => {
      try {
        await this.run(data);
      } catch (error) {
        // The library keeps the task as failed, and says nothing.
        reportFault(`task of ${name}`, error);
        throw error;
      }
    };
    const worker = new bull.Worker<T>(name, task, { ...options, ...TAKEN_OVER, concurrency });
    const failed = edge(`queue ${name}`, (error: Error) =>
      log.debug({ event: 'queue-failed', queue: name, reason: redisErrorReason(error) }, 'A queue failed'),
    );
    client.on('error', failed);
    queue.on('error', failed);
    worker.on('error', failed);
    return { client, queue, worker };
  }
}
