import { setTimeout as sleep } from 'node:timers/promises';
import type { StepResult } from './job-store.ts';
import type { TaskHold } from '../kit/task-queue/task-queue.ts';

/** A step is repeated for this time while the store is away. Longer than that, another process takes over and looks what happened. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 200;

/** This process has the job no longer, or may not go on with it. */
export class HoldLost extends Error {
  override readonly name = 'HoldLost';
}

/** The right of one process to work on a job: the queue gives it, and the store knows who had it last. */
export class ImportHold {
  /** Aborted when nothing further may be begun. */
  readonly over: AbortSignal;
  readonly #lost = new AbortController();
  #isCancelled = false;

  constructor(
    readonly jobId: string,
    readonly task: TaskHold,
  ) {
    this.over = AbortSignal.any([this.#lost.signal, task.over]);
  }

  /** As which the store knows this process. */
  get owner(): string {
    return this.task.owner;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  cancelled(): void {
    this.#isCancelled = true;
  }

  lost(): never {
    this.#lost.abort();
    throw new HoldLost('another process has the job');
  }

  assertHeld(): void {
    if (this.over.aborted) throw new HoldLost('the job is given back');
  }

  /** Waits, and throws where the job is lost meanwhile. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.over }).catch(() => undefined);
    this.assertHeld();
  }

  /** Changes the job. False: it is cancelled. Throws where another process has it. */
  async change(step: () => Promise<StepResult>): Promise<boolean> {
    const result = await this.persist(step);
    if (result === 'lost') this.lost();
    if (result === 'cancelled') this.#isCancelled = true;
    return result === 'done';
  }

  /** Repeats a step of the store while that is away. What is repeated has the same effect. */
  async persist<T>(step: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (performance.now() >= giveUpAt || this.#lost.signal.aborted) throw error;
        await sleep(RETRY_MS);
      }
    }
  }
}
