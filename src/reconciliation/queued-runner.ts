import type { Job, Queue, Worker } from 'bullmq';
import type { Log } from '../observability/log.ts';
import { queueClient, type RedisServer } from '../redis/redis-client.ts';
import { redisErrorReason } from '../redis/redis-error.ts';
import type { ReconciliationAttempt, RunAttempt, AttemptRunner } from './attempt-runner.ts';

const QUEUE = 'attempts';
/** Longer than an attempt stays due (an hour at most), so that no replica asks for it a second time. */
const REMEMBERED_S = 2 * 3_600;

type Asked = Pick<ReconciliationAttempt, 'write'>;

interface Opened {
  readonly client: ReturnType<typeof queueClient>;
  readonly queue: Queue<Asked>;
  readonly worker: Worker<Asked>;
}

/**
 * The attempts of all replicas: a job has the attempt's id, so asking for it again is asking for nothing, and one worker takes it. A job
 * whose worker died is taken again by another, which is fine for reading, and why no order is ever sent from a queue.
 *
 * Opened by the first attempt that is due: until then there is neither a connection nor the library, which is large. Every replica reads
 * the same list of orders in doubt, so all of them open it when there is work.
 */
export class QueuedRunner implements AttemptRunner {
  readonly #abandon = new AbortController();
  #run: RunAttempt = () => Promise.resolve();
  #opened: Promise<Opened> | undefined;

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
   * Without waiting for Redis, which may be away: an attempt that is cut off is made by another replica. The connection was given to
   * the queue, so the queue leaves it open.
   */
  async close(): Promise<void> {
    this.#abandon.abort();
    if (!this.#opened) return;
    const { client, queue, worker } = await this.#opened;
    await worker.close(true);
    await queue.close();
    client.disconnect();
  }

  async #open(): Promise<Opened> {
    const bull = await import('bullmq');
    const client = queueClient(this.server);
    const options = {
      connection: client,
      // In braces, since the queue's scripts touch several keys: on a cluster they must be in one slot.
      prefix: `{${this.environment}:reconciliation}`,
    };
    const kept = { age: REMEMBERED_S };
    const queue = new bull.Queue<Asked>(QUEUE, {
      ...options,
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: { removeOnComplete: kept, removeOnFail: kept },
    });
    const attempt = async ({ data }: Job<Asked>) => {
      await this.#run(data.write, this.#abandon.signal);
    };
    const worker = new bull.Worker<Asked>(QUEUE, attempt, options);
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
