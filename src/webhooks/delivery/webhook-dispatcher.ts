import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { CallerRegistry } from '../../caller/caller.registry.ts';
import { OrderStoreConfig } from '../../config/app-config.ts';
import { EventsService } from '../../events/events.service.ts';
import type { TaskQueue } from '../../kit/task-queue/task-queue.ts';
import { Log } from '../../observability/log.ts';
import { Metrics } from '../../observability/metrics.ts';
import { taskQueue } from '../../redis/job-queue.ts';
import { edge } from '../../shared/edge.ts';
import type { Webhook, WebhookState } from '../store/webhook-record.ts';
import { type Place, WEBHOOK_STORE, type WebhookStore } from '../store/webhook-store.ts';
import { isFull, onBehalfOf, stateOf, typesOf, wants } from './delivery-rules.ts';
import { Destinations } from './destinations.ts';
import { WebhookTurns } from './webhook-turns.ts';

const LOOK_MS = 250;
/** Webhooks are read again, and their states counted, at each of so many looks. */
const READ_EACH = 20;
/** A receiver that hangs costs its webhook a turn, and no other one. */
const TURNS_AT_ONCE = 64;

interface Turn {
  readonly webhookId: string;
}

/**
 * Puts each webhook for which there is something to do on the queue, which gives it to one process at a time. All that is to do is in the
 * store and in the log of moves, so nothing is lost if a process died, or if the queue was lost.
 */
@Injectable()
export class WebhookDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #queue: TaskQueue<Turn>;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #looks = 0;
  #webhooks: ReadonlyMap<string, Webhook> = new Map();
  /** Up to where this process has looked for each of them, and found nothing: a turn that only moves the cursor costs more than it is worth. */
  readonly #passed = new Map<string, string>();

  constructor(
    @Inject(WEBHOOK_STORE) private readonly store: WebhookStore,
    private readonly events: EventsService,
    private readonly callers: CallerRegistry,
    private readonly destinations: Destinations,
    turns: WebhookTurns,
    config: OrderStoreConfig,
    log: Log,
    private readonly metrics: Metrics,
  ) {
    const settings = { room: 'guard', name: 'webhook-turns', concurrency: TURNS_AT_ONCE, rememberedS: 0 };
    this.#queue = taskQueue<Turn>(config, log, settings, async ({ webhookId }, hold) => {
      await turns.run(webhookId, hold);
      // What is left is found by the next look.
      return true;
    });
  }

  onApplicationBootstrap(): void {
    // What is recorded meanwhile stays in the log.
    if (this.destinations.isOff) return;
    this.#timer = setInterval(
      edge('webhooks', () => this.#look()),
      LOOK_MS,
    ).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.#queue.close();
  }

  /** One look at a time. A failure means that the store is away, which the log says already. */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const places = await this.store.places();
      const isNew = [...places.keys()].some((id) => !this.#webhooks.has(id));
      if (this.#looks++ % READ_EACH === 0 || isNew) await this.#read(places);
      if (places.size === 0) return;
      const newest = await this.events.newest();
      const due = await Promise.all(
        [...places].map(async ([webhookId, place]) =>
          (await this.#isDue(webhookId, place, newest)) ? [{ id: webhookId, data: { webhookId } }] : [],
        ),
      );
      await this.#queue.add(due.flat());
    } catch {
      // The next look comes soon.
    } finally {
      this.#looking = false;
    }
  }

  /** A caller without the rights gets nothing, also later: a turn passes over what happens meanwhile. */
  async #isDue(webhookId: string, place: Place, newest: string): Promise<boolean> {
    const webhook = this.#webhooks.get(webhookId);
    const standing = webhook && this.callers.standingOf(onBehalfOf(webhook));
    const isRead = this.#looks % READ_EACH === 0;
    if (!standing)
      return webhook !== undefined && isRead && place.cursor < newest && this.#hasLostRights(webhook);
    if (place.isCalled || (place.nextAt !== null && place.nextAt <= Date.now())) return true;
    const passed = this.#passed.get(webhookId) ?? '';
    const from = passed > place.cursor ? passed : place.cursor;
    if (isFull(place) || from >= newest) return false;
    const { moves, next } = await this.events.after(from, {
      ...{ ...standing, enterprises: webhook.enterprises, types: typesOf(webhook) },
    });
    if (moves.some(({ event }) => event && wants(webhook, event.type))) return true;
    this.#passed.set(webhookId, next);
    // At times the cursor is moved, so that another process has not everything to look through.
    return isRead;
  }

  #hasLostRights(webhook: Webhook): boolean {
    return this.callers.hasLost(onBehalfOf(webhook), webhook.createdAt);
  }

  async #read(places: ReadonlyMap<string, Place>): Promise<void> {
    const all = places.size === 0 ? [] : await this.store.list();
    this.#webhooks = new Map(all.map((webhook) => [webhook.webhookId, webhook]));
    for (const id of this.#passed.keys()) if (!places.has(id)) this.#passed.delete(id);
    const states = all.map((webhook) => stateOf(webhook, places.get(webhook.webhookId)));
    const count = (wanted: WebhookState) => states.filter((state) => state === wanted).length;
    const byRequest = all.filter(({ offReason }) => offReason === 'by-request').length;
    this.metrics.set('gateway_webhooks', { state: 'ok' }, count('ok'));
    this.metrics.set('gateway_webhooks', { state: 'failing' }, count('failing'));
    this.metrics.set('gateway_webhooks', { state: 'switched_off' }, count('off') - byRequest);
  }
}
