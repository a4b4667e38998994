import pLimit from 'p-limit';
import { inBackground } from '../../shared/edge.ts';
import type { Lease } from '../lease/lease.ts';

/** Something to do, by whichever replica takes it. */
export interface QueuedTask<T> {
  /** The same in all replicas: a task with an id that is queued is not queued again. */
  readonly id: string;
  readonly data: T;
}

/** The lease of one replica on a task, which the queue takes and renews. A process without Redis does not check it. */
export interface TaskHold extends Lease {
  /** Aborted when nothing further may be begun: the lock is lost, or the process ends. */
  readonly over: AbortSignal;
}

/** Resolves to whether the task is done. If not, it is tried again. */
export type RunTask<T> = (data: T, hold: TaskHold) => Promise<boolean>;

export interface TaskQueue<T> {
  /** Resolves when the tasks are queued, or were queued before. */
  add(tasks: readonly QueuedTask<T>[]): Promise<void>;
  /** Ends what is under way, and gives back what is not done. */
  close(): Promise<void>;
}

/** For one process without Redis. A task that is not done is forgotten: its owner adds it again. */
export class LocalQueue<T> implements TaskQueue<T> {
  readonly #over = new AbortController();
  readonly #tasks = new Map<string, Promise<void>>();
  readonly #limit;

  constructor(
    private readonly name: string,
    concurrency: number,
    private readonly run: RunTask<T>,
  ) {
    this.#limit = pLimit(concurrency);
  }

  add(tasks: readonly QueuedTask<T>[]): Promise<void> {
    for (const { id, data } of tasks) if (!this.#tasks.has(id)) this.#start(id, data);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#tasks.values());
  }

  #start(id: string, data: T): void {
    const { signal } = this.#over;
    const ended = Promise.withResolvers<void>();
    this.#tasks.set(id, ended.promise);
    const forget = () => {
      this.#tasks.delete(id);
      ended.resolve();
    };
    inBackground(`task of ${this.name}`, () =>
      this.#limit(async () => {
        if (!signal.aborted) await this.run(data, { key: '', owner: 'local', over: signal });
      }).finally(forget),
    );
  }
}
