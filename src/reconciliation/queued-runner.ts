import type { Job, Queue, Worker } from 'bullmq';
import type { Log } from '../observability/log.ts';
import { queueClient, type RedisServer } from '../redis/redis-client.ts';
import { redisErrorReason } from '../redis/redis-error.ts';
import type { ReconciliationAttempt, RunAttempt, AttemptRunner } from './attempt-runner.ts';

const QUEUE = 'attempts';
/** Longer than an attempt stays due (at most an hour), so that no replica queues it a second time. */
const REMEMBERED_S = 2 * 3_600;

type AttemptData = Pick<ReconciliationAttempt, 'write'>;

interface OpenQueue {
  readonly client: ReturnType<typeof queueClient>;
  readonly queue: Queue<AttemptData>;
  readonly worker: Worker<AttemptData>;
}

/**
 * The attempts of all replicas. A job has the attempt's id, so that queueing it again has no effect, and one worker takes it. If that
 * worker dies, another one takes the job again: right for reads, and the reason why no order is ever sent from a queue.
 *
 * The first attempt that is due opens the queue. Until then there is no connection, and the large library is not loaded. Every replica
 * reads the same list of orders in doubt, so all of them open the queue when there is work.
 */
export class QueuedRunner implements AttemptRunner {
  readonly #abandon = new AbortController();
  #run: RunAttempt = () => Promise.resolve();
  #opened: Promise<OpenQueue> | undefined;

  constructor(
    private readonly server: RedisServer,
    private readonly environment: string,
    private readonly log: Log,
  ) {}

  start(run: RunAttempt): void {
    this.#run = run;
  }

  async ask(attempts: readonly ReconciliationAttempt[]): Promise<void> {
    if (this.#abandon.signal.aborted) return;
    const { queue } = await (this.#opened ??= this.#open());
    await queue.addBulk(
      attempts.map(({ id, write }) => ({ name: 'attempt', data: { write }, opts: { jobId: id } })),
    );
  }

  /**
   * Does not wait for Redis, which may be away: another replica repeats an attempt that is cut off here. The queue did not open the
   * connection, so it does not close it either.
   */
  async close(): Promise<void> {
    this.#abandon.abort();
    if (!this.#opened) return;
    const { client, queue, worker } = await this.#opened;
    await worker.close(true);
    await queue.close();
    client.disconnect();
  }

  async #open(): Promise<OpenQueue> {
    const bull = await import('bullmq');
    const client = queueClient(this.server);
    const options = {
      connection: client,
      // The queue's scripts touch several keys, which a cluster must have in one slot: hence the braces.
      prefix: `{${this.environment}:reconciliation}`,
    };
    const kept = { age: REMEMBERED_S };
    const queue = new bull.Queue<AttemptData>(QUEUE, {
      ...options,
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: { removeOnComplete: kept, removeOnFail: kept },
    });
    const attempt = async ({ data }: Job<AttemptData>) => {
      await this.#run(data.write, this.#abandon.signal);
    };
    const worker = new bull.Worker<AttemptData>(QUEUE, attempt, options);
    const failed = (error: Error) => {
      this.log.debug(
        { event: 'reconciliation-queue', reason: redisErrorReason(error) },
        'The queue of attempts failed',
      );
    };
    client.on('error', failed);
    queue.on('error', failed);
    worker.on('error', failed);
    return { client, queue, worker };
  }
}
