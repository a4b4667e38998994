import { reportFault } from '../shared/edge.ts';
import type { Log } from '../observability/log.ts';
import { JobQueue } from '../redis/job-queue.ts';
import type { RedisServer } from '../redis/redis-client.ts';

/**
 * Longer than it takes until every replica has read the list, so that no other queues it a second time. A replica that starts later may
 * queue an attempt again that is due for longer: that costs one search.
 */
const REMEMBERED_S = 2 * 3_600;

/** One attempt to find one order at the platform. */
export interface ReconciliationAttempt {
  /** The same in all replicas: an attempt runs once for its id. */
  readonly id: string;
  /** The name of the order's record. */
  readonly write: string;
}

/** Makes an attempt. `abandon` ends it early. */
export type RunAttempt = (write: string, abandon: AbortSignal) => Promise<unknown>;

/** Makes each attempt once: by a queue of all replicas, or in this process. */
export interface AttemptRunner {
  start(run: RunAttempt): void;
  /** Resolves when the attempts are queued, or were queued before. */
  ask(attempts: readonly ReconciliationAttempt[]): Promise<void>;
  /** Ends running attempts, in bounded time. */
  close(): Promise<void>;
}

/** For one process without Redis: one attempt after the other. */
export class ProcessRunner implements AttemptRunner {
  readonly #abandon = new AbortController();
  #run: RunAttempt = () => Promise.resolve();
  #last: Promise<unknown> = Promise.resolve();

  start(run: RunAttempt): void {
    this.#run = run;
  }

  ask(attempts: readonly ReconciliationAttempt[]): Promise<void> {
    for (const { write } of attempts) {
      this.#last = this.#last
        .then(() => this.#abandon.signal.aborted || this.#run(write, this.#abandon.signal))
        .catch((fault: unknown) => reportFault('reconciliation', fault));
    }
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#abandon.abort();
    await this.#last;
  }
}

/**
 * The attempts of all replicas. A task has the attempt's id, so that queueing it again has no effect, and one worker takes it. Every
 * replica reads the same list of orders in doubt, so all of them open the queue when there is work.
 */
export class QueuedRunner implements AttemptRunner {
  readonly #abandon = new AbortController();
  readonly #queue: JobQueue<Pick<ReconciliationAttempt, 'write'>>;
  #run: RunAttempt = () => Promise.resolve();

  constructor(server: RedisServer, environment: string, log: Log) {
    const settings = { name: 'attempts', concurrency: 1, rememberedS: REMEMBERED_S, log };
    this.#queue = new JobQueue(
      { ...settings, server, prefix: `{${environment}:reconciliation}` },
      ({ write }) => this.#run(write, this.#abandon.signal),
    );
  }

  start(run: RunAttempt): void {
    this.#run = run;
  }

  async ask(attempts: readonly ReconciliationAttempt[]): Promise<void> {
    await this.#queue.add(attempts.map(({ id, write }) => ({ id, data: { write } })));
  }

  async close(): Promise<void> {
    this.#abandon.abort();
    await this.#queue.close();
  }
}
