import type { Job, Queue, Worker } from 'bullmq';
import type { Log } from '../observability/log.ts';
import { queueClient } from '../redis/redis-client.ts';
import { redisErrorReason } from '../redis/redis-error.ts';
import type { RedisAddress } from '../redis/redis-url.ts';
import type { Look, LookAt, Looks } from './looks.ts';

const QUEUE = 'looks';
/** Longer than a look stays due (an hour at most), so that no replica asks for it a second time. */
const REMEMBERED_S = 2 * 3_600;

type Bull = typeof import('bullmq');
type Asked = Pick<Look, 'write'>;

/**
 * The looks of all replicas: a job has the look's id, so asking for it again is asking for nothing, and one worker takes it. A job
 * whose worker died is taken again by another, which is fine for reading, and why no order is ever sent from a queue.
 */
export class QueuedLooks implements Looks {
  readonly #abandon = new AbortController();
  readonly #client: ReturnType<typeof queueClient>;
  readonly #connection: { connection: ReturnType<typeof queueClient>; prefix: string };
  readonly #queue: Queue<Asked>;
  #worker: Worker<Asked> | undefined;

  private constructor(
    private readonly bull: Bull,
    address: RedisAddress,
    environment: string,
    private readonly log: Log,
  ) {
    this.#client = queueClient(address);
    this.#client.on('error', this.#failed);
    // In braces, since the queue's scripts touch several keys: on a cluster they must be in one slot.
    this.#connection = { connection: this.#client, prefix: `{${environment}:evidence}` };
    this.#queue = new bull.Queue(QUEUE, {
      ...this.#connection,
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: {
        removeOnComplete: { age: REMEMBERED_S },
        removeOnFail: { age: REMEMBERED_S },
      },
    });
    this.#queue.on('error', this.#failed);
  }

  /** BullMQ is large, so it is loaded only where there is a queue. */
  static async open(address: RedisAddress, environment: string, log: Log): Promise<QueuedLooks> {
    return new QueuedLooks(await import('bullmq'), address, environment, log);
  }

  start(lookAt: LookAt): void {
    const look = async ({ data }: Job<Asked>) => {
      await lookAt(data.write, this.#abandon.signal);
    };
    this.#worker = new this.bull.Worker(QUEUE, look, this.#connection);
    this.#worker.on('error', this.#failed);
  }

  async ask(looks: readonly Look[]): Promise<void> {
    await this.#queue.addBulk(
      looks.map(({ id, write }) => ({ name: 'look', data: { write }, opts: { jobId: id } })),
    );
  }

  /**
   * Without waiting for Redis, which may be away: a look that is cut off is made by another replica. The connection was given to
   * the queue, so the queue leaves it open.
   */
  async close(): Promise<void> {
    this.#abandon.abort();
    await this.#worker?.close(true);
    await this.#queue.close();
    this.#client.disconnect();
  }

  readonly #failed = (error: Error): void => {
    this.log.debug({ event: 'evidence-queue', reason: redisErrorReason(error) }, 'The queue of looks failed');
  };
}
