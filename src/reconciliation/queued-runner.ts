import type { Log } from '../observability/log.ts';
import { JobQueue } from '../redis/job-queue.ts';
import type { RedisServer } from '../redis/redis-client.ts';
import type { ReconciliationAttempt, RunAttempt, AttemptRunner } from './attempt-runner.ts';

/**
 * Longer than it takes until every replica has read the list, so that no other queues it a second time. A replica that starts later may
 * queue an attempt again that is due for longer: that costs one search.
 */
const REMEMBERED_S = 2 * 3_600;

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
