import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DatabaseUnavailable } from '../../database/database-unavailable.ts';
import { Database } from '../../database/database.ts';
import { FEED } from '../../database/step.ts';
import { poll } from '../../kit/poll/poll.ts';
import { inBackground, reportFault } from '../../shared/edge.ts';
import { type TaskHold, TaskWorker } from '../../tasks/task-worker.ts';
import { WebhookStore } from '../store/webhook-store.ts';
import { WEBHOOK } from '../store/webhook-steps-store.ts';
import { Destinations } from './destinations.ts';
import { DueWebhooks } from './due-webhooks.ts';
import { WebhookTurns } from './webhook-turns.ts';

/** The shortest time between two searches for new events. */
const LOOK_MS = 250;
const SWEEP_MS = 60_000;
/** The most turns at the same time. A receiver that hangs delays only its own webhook. */
const MAX_TURNS = 64;
/** A turn that failed because of the database runs again after this time. */
const AGAIN_MS = 1_000;

/**
 * Adds a task for each webhook that has new events, and works on the tasks of webhooks. Only one process at a time holds a task. Everything
 * that is to do is in the store and in the feed, so nothing is lost if a process dies.
 */
@Injectable()
export class WebhookDispatcher implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  readonly #worker: TaskWorker;
  readonly #closing = new AbortController();
  #loop = Promise.resolve();
  #endPoll: (() => void) | undefined;
  #sweptAt = 0;

  constructor(
    private readonly database: Database,
    private readonly store: WebhookStore,
    private readonly turns: WebhookTurns,
    private readonly webhooks: DueWebhooks,
    private readonly destinations: Destinations,
  ) {
    const run = (hold: TaskHold) => this.#run(hold);
    this.#worker = new TaskWorker(database, { kind: WEBHOOK, concurrency: MAX_TURNS, run });
  }

  onApplicationBootstrap(): void {
    inBackground('webhooks', () => this.#reseal());
    // Events that are recorded while webhooks are off stay in the feed.
    if (this.destinations.isOff) return;
    this.#worker.start();
    this.#loop = this.#lookAgain();
    inBackground('webhooks', () => this.#loop);
    this.#endPoll = poll('rights of webhooks', LOOK_MS, () =>
      this.webhooks.recordRights().catch(() => undefined),
    );
  }

  onModuleDestroy(): void {
    this.#closing.abort();
    this.#endPoll?.();
    this.#worker.stop();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#loop;
    await this.#worker.close();
  }

  /** While the database is away nothing is sealed again. The next start does that, and is refused without the key. */
  async #reseal(): Promise<void> {
    await this.store.reseal().catch((error: unknown) => {
      if (!(error instanceof DatabaseUnavailable)) throw error;
    });
  }

  async #run(hold: TaskHold): Promise<number | undefined> {
    try {
      return await this.turns.run(hold);
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      return AGAIN_MS;
    }
  }

  /** Searches again whenever the feed wakes it. */
  async #lookAgain(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const woken = this.database.woken(FEED, signal);
      const pause = sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
      const isBehind = await this.#look();
      await pause;
      if (!isBehind) await woken;
    }
  }

  /**
   * Resolves to true if a new search soon is worthwhile. While the database is away, which another log line reports, the next search waits
   * for its usual time.
   */
  async #look(): Promise<boolean> {
    try {
      const { due, isBehind } = await this.webhooks.find();
      await this.store.call(due);
      await this.#sweep();
      return isBehind;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) reportFault('webhooks', error);
      return false;
    }
  }

  async #sweep(): Promise<void> {
    if (performance.now() - this.#sweptAt < SWEEP_MS) return;
    await this.store.sweep();
    this.#sweptAt = performance.now();
  }
}
