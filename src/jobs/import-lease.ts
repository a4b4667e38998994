import { setTimeout as sleep } from 'node:timers/promises';
import type { JobStore } from './job-store.ts';
import { edge } from '../shared/edge.ts';

/** A process that dies loses its jobs after this time. */
export const LEASE_MS = 5_000;
const RENEW_MS = 1_000;
/** A step is repeated for this time while the store is away. Longer than that, another process takes over and looks what happened. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 200;

/** This process has the job no longer, or may not go on with it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** The right of one process to work on a job, renewed for as long as it does. */
export class ImportLease {
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isCancelled = false;
  #renewing = false;

  constructor(
    private readonly store: JobStore,
    readonly jobId: string,
    readonly owner: string,
    /** Aborted when the process ends. */
    private readonly shutdown: AbortSignal,
  ) {
    this.#timer = setInterval(
      edge('import lease', () => this.#renew()),
      RENEW_MS,
    ).unref();
  }

  /** Aborted when nothing further may be begun. */
  get over(): AbortSignal {
    return AbortSignal.any([this.#lost.signal, this.shutdown]);
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  cancelled(): void {
    this.#isCancelled = true;
  }

  lost(): never {
    this.#lost.abort();
    throw new LeaseLost('another process has the job');
  }

  assertHeld(): void {
    if (this.#lost.signal.aborted || this.shutdown.aborted) throw new LeaseLost('the job is given back');
  }

  /** Waits, and throws where the job is lost meanwhile. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.over }).catch(() => undefined);
    this.assertHeld();
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

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.store.giveBack(this.jobId, this.owner).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    try {
      const held = await this.store.renew(this.jobId, this.owner, LEASE_MS);
      if (held === 'lost') this.#lost.abort();
      if (held === 'cancelled') this.#isCancelled = true;
    } catch {
      // The store is away. What is recorded next says whether the job is still ours.
    } finally {
      this.#renewing = false;
    }
  }
}
