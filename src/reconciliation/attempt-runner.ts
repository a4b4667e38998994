/** One attempt to find one order at the platform. */
export interface ReconciliationAttempt {
  /** The same for all who ask for it: it is made once. */
  readonly id: string;
  /** The name of the order's record. */
  readonly write: string;
}

/** How an attempt is made: settles when it is over, and ends early when told to. */
export type RunAttempt = (write: string, abandon: AbortSignal) => Promise<unknown>;

/** Ensures that each attempt is made once: by a queue of all replicas, or in this process. */
export interface AttemptRunner {
  start(run: RunAttempt): void;
  /** Resolves once they will be made, or were before. */
  ask(attempts: readonly ReconciliationAttempt[]): Promise<void>;
  /** Ends what is under way, in bounded time. */
  close(): Promise<void>;
}

/** Without Redis there is one process: one attempt after the other, each asked for once by the job. */
export class ProcessRunner implements AttemptRunner {
  readonly #abandon = new AbortController();
  #run: RunAttempt = () => Promise.resolve();
  #last: Promise<unknown> = Promise.resolve();

  start(run: RunAttempt): void {
    this.#run = run;
  }

  ask(attempts: readonly ReconciliationAttempt[]): Promise<void> {
    for (const { write } of attempts) {
      this.#last = this.#last.then(
        () => this.#abandon.signal.aborted || this.#run(write, this.#abandon.signal),
      );
    }
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#abandon.abort();
    await this.#last;
  }
}
