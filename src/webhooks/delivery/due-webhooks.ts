import { Injectable } from '@nestjs/common';
import { EventsService } from '../../events/events.service.ts';
import { Metrics } from '../../observability/metrics.ts';
import type { Webhook, WebhookState } from '../store/webhook-record.ts';
import { type WebhookPlace, WebhookStore } from '../store/webhook-store.ts';
import { isFull, stateOf, typesOf, wants } from './delivery-rules.ts';
import { WebhookRights } from './webhook-rights.ts';

/** How often a cursor is moved past events of no interest, so that another process does not have to read them all again. */
const MOVE_MS = 5_000;

/** The knowledge of this process about one version of a webhook. */
interface Known {
  readonly version: number;
  /** Undefined if the webhook is sealed under a key that was removed. */
  webhook: Webhook | undefined;
  /**
   * The id up to which the feed had nothing for the webhook. It is kept only here, because a task that only moves the cursor costs too
   * much.
   */
  passed: string;
}

/** `behind`: the webhook has not had some events, and this search did not tell whether it wants them. */
type Found = 'due' | 'behind' | 'idle';

/** Finds webhooks for which the feed has new events. The time of a retry is in the task of its webhook. */
@Injectable()
export class DueWebhooks {
  #known = new Map<string, Known>();
  #movedAt = 0;

  constructor(
    private readonly store: WebhookStore,
    private readonly events: EventsService,
    private readonly rights: WebhookRights,
    private readonly metrics: Metrics,
  ) {}

  /** `isBehind` means that a new search soon is worthwhile. */
  async find(): Promise<{ readonly due: readonly string[]; readonly isBehind: boolean }> {
    const places = await this.store.places();
    await this.#know(places);
    this.#measure(places);
    if (places.size === 0) return { due: [], isBehind: false };
    const newest = await this.events.newest();
    const isTimeToMove = performance.now() - this.#movedAt >= MOVE_MS;
    if (isTimeToMove) this.#movedAt = performance.now();
    const found = await Promise.all(
      [...places].map(async ([id, place]) => ({
        id,
        is: await this.#lookAt(id, place, newest, isTimeToMove),
      })),
    );
    return {
      due: found.flatMap(({ id, is }) => (is === 'due' ? [id] : [])),
      isBehind: found.some(({ is }) => is === 'behind'),
    };
  }

  /** Records the rights of all owners as soon as this replica has read them, before there is an event that they let an owner see. */
  async recordRights(): Promise<void> {
    await Promise.all(
      this.#known.values().map(async (known) => {
        if (known.webhook) known.webhook = await this.rights.recorded(known.webhook);
      }),
    );
  }

  /** Checks one webhook for new events. A caller without the rights never gets the events of that time: a turn skips them. */
  async #lookAt(id: string, place: WebhookPlace, newest: string, isTimeToMove: boolean): Promise<Found> {
    const known = this.#known.get(id);
    if (!known?.webhook) return 'idle';
    const webhook = (known.webhook = await this.rights.recorded(known.webhook));
    if (place.cursor >= newest) return 'idle';
    if (place.isHeld) return 'behind';
    const standing = this.rights.standingOf(webhook);
    const isToMove = isTimeToMove && (standing || this.rights.hasLost(webhook));
    if (standing && isFull(place)) return 'idle';
    const from = known.passed > place.cursor ? known.passed : place.cursor;
    if (!standing || from >= newest) return isToMove ? 'due' : 'idle';
    const { moves, next } = await this.events.after(from, {
      ...{ ...standing, enterprises: webhook.enterprises, types: typesOf(webhook) },
    });
    if (isToMove || moves.some(({ event }) => event && wants(webhook, event.type))) return 'due';
    known.passed = next;
    return next < newest ? 'behind' : 'idle';
  }

  async #know(places: ReadonlyMap<string, WebhookPlace>): Promise<void> {
    const isKnown = ([id, { version }]: readonly [string, WebhookPlace]) =>
      this.#known.get(id)?.version === version;
    const all = [...places].every(isKnown) ? [] : await this.store.all();
    const read = new Map(all.map(({ webhook }) => [webhook.webhookId, webhook]));
    this.#known = new Map(
      [...places].map(([id, place]) => [
        id,
        (isKnown([id, place]) && this.#known.get(id)) || {
          version: place.version,
          webhook: read.get(id),
          passed: '',
        },
      ]),
    );
  }

  #measure(places: ReadonlyMap<string, WebhookPlace>): void {
    const all = [...this.#known].flatMap(([id, { webhook }]) => (webhook ? [{ id, webhook }] : []));
    // The receiver of an owner without the rights gets nothing whatever it answers, and the owner cannot switch the webhook on.
    const webhooks = all.filter(({ webhook }) => !this.rights.hasLost(webhook));
    const states = webhooks.map(({ id, webhook }) => stateOf(webhook, places.get(id)));
    const count = (wanted: WebhookState) => states.filter((state) => state === wanted).length;
    const byRequest = webhooks.filter(({ webhook }) => webhook.offReason === 'by-request').length;
    this.metrics.set('gateway_webhooks', { state: 'ok' }, count('ok'));
    this.metrics.set('gateway_webhooks', { state: 'failing' }, count('failing'));
    this.metrics.set('gateway_webhooks', { state: 'switched_off' }, count('off') - byRequest);
  }
}
