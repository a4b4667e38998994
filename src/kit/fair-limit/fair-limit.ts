import { FairQueue } from '../fair-queue/fair-queue.ts';

/** Runs at most `max` tasks at the same time. Further tasks wait, and their keys take turns. */
export class FairLimit {
  readonly #waiting = new FairQueue<() => void>();
  #running = 0;

  constructor(private readonly max: number) {}

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    if (this.#running < this.max) this.#running++;
    else await this.#place(key);
    try {
      return await task();
    } finally {
      const next = this.#waiting.next();
      if (next) next();
      else this.#running--;
    }
  }

  /** Resolves when a task that ends has left its place to this one. */
  #place(key: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(key, resolve);
    return promise;
  }
}
