import { Inject, Injectable } from '@nestjs/common';
import { stateOf } from '../webhooks/delivery/delivery-rules.ts';
import { toWebhook } from '../webhooks/dto/webhook.dto.ts';
import type { WebhookState } from '../webhooks/store/webhook-record.ts';
import { WEBHOOK_STORE, type WebhookStore } from '../webhooks/store/webhook-store.ts';

const MOST_SHOWN = 50;
/** Of one webhook. */
const MOST_DELIVERIES = 20;
const FIRST: readonly WebhookState[] = ['failing', 'off', 'ok'];

/** The webhooks of all callers, for operators. */
@Injectable()
export class KnownWebhooks {
  constructor(@Inject(WEBHOOK_STORE) private readonly store: WebhookStore) {}

  /** Counts those that get nothing although their owners want it. Counts none where the store cannot be read. */
  async troubled(): Promise<number> {
    const all = await this.#all().catch(() => []);
    return all.filter(({ state, webhook }) => state === 'failing' || isSwitchedOff(webhook.offReason)).length;
  }

  /** Lists failing ones first, each with its last error. `withDeliveries` names the webhook whose deliveries are wanted too. */
  async list(withDeliveries: string | null): Promise<object> {
    const all = await this.#all();
    const inOrder = all.toSorted((one, other) => FIRST.indexOf(one.state) - FIRST.indexOf(other.state));
    const items = inOrder.slice(0, MOST_SHOWN).map(async ({ webhook, place, state: its }) => {
      const isAsked = webhook.webhookId === withDeliveries;
      const deliveries = isAsked || its !== 'ok' ? [...(await this.store.deliveries(webhook.webhookId))] : [];
      const newest = deliveries.toSorted(([one], [other]) => (one < other ? 1 : -1));
      const lastError = newest.find(([, each]) => each.lastError !== null)?.[1].lastError ?? null;
      return {
        ...toWebhook(webhook, place),
        caller: webhook.caller,
        lastError,
        ...(isAsked && {
          deliveries: newest
            .filter(([, { state }]) => state !== 'delivered')
            .slice(0, MOST_DELIVERIES)
            .map(([eventId, { type, state, attempts, lastError: error, nextAttemptAt }]) => ({
              ...{ eventId, type, state, attempts, error, nextAttemptAt },
            })),
        }),
      };
    });
    return { total: all.length, items: await Promise.all(items) };
  }

  async #all() {
    const [all, places] = await Promise.all([this.store.list(), this.store.places()]);
    return all.map((webhook) => {
      const place = places.get(webhook.webhookId);
      return { webhook, place, state: stateOf(webhook, place) };
    });
  }
}

function isSwitchedOff(offReason: string | null): boolean {
  return offReason !== null && offReason !== 'by-request';
}
