import { reportFault } from '../shared/edge.ts';

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
