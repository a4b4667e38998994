import { Injectable } from '@nestjs/common';
import { stateOf } from '../webhooks/delivery/delivery-rules.ts';
import { WebhookRights } from '../webhooks/delivery/webhook-rights.ts';
import { toWebhook } from '../webhooks/dto/webhook.dto.ts';
import type { Webhook, WebhookState } from '../webhooks/store/webhook-record.ts';
import { WebhookStore } from '../webhooks/store/webhook-store.ts';

const MAX_SHOWN = 50;
/** The most deliveries that are shown of one webhook. */
const MAX_DELIVERIES = 20;
/** A segment of a path with this number of characters or more may be a token. */
const MAX_SEGMENT = 16;
const FIRST: readonly WebhookState[] = ['failing', 'off', 'ok'];

/** The webhooks of all callers, for operators. */
@Injectable()
export class KnownWebhooks {
  constructor(
    private readonly store: WebhookStore,
    private readonly rights: WebhookRights,
  ) {}

  /**
   * Counts the webhooks that get no events although their owners want them and may have them. Rejects where the store cannot be read.
   */
  async troubled(): Promise<number> {
    const all = await this.#all();
    const owned = all.filter(({ webhook }) => !this.rights.hasLost(webhook));
    return owned.filter(({ state, webhook }) => state === 'failing' || isSwitchedOff(webhook.offReason))
      .length;
  }

  /** Lists the failing webhooks first, each with its last error. `withDeliveries` names the webhook whose deliveries are wanted too. */
  async list(withDeliveries: string | null): Promise<object> {
    const all = await this.#all();
    const inOrder = all.toSorted((one, other) => FIRST.indexOf(one.state) - FIRST.indexOf(other.state));
    const items = inOrder.slice(0, MAX_SHOWN).map(async ({ webhook, progress, state }) => {
      const { webhookId, caller } = webhook;
      const isAsked = webhookId === withDeliveries;
      const lastError = isAsked || state !== 'ok' ? await this.store.lastError(webhookId) : null;
      const notTaken = isAsked ? await this.#notTaken(webhook) : undefined;
      const url = shownUrl(webhook.url);
      return {
        ...toWebhook(webhook, progress),
        url,
        caller,
        state,
        lastError,
        ...notTaken,
      };
    });
    return { total: all.length, items: await Promise.all(items) };
  }

  async #notTaken({ webhookId, offReason }: Webhook): Promise<object> {
    const { found, total } = await this.store.deliveries(webhookId, ['pending', 'failed'], 0, MAX_DELIVERIES);
    const deliveries = [...found].map(
      ([eventId, { type, state, attempts, lastError: error, nextAttemptAt }]) => ({
        ...{ eventId, type, state, attempts, error },
        nextAttemptAt: offReason === null ? nextAttemptAt : null,
      }),
    );
    return { deliveries, undelivered: total };
  }

  async #all() {
    const all = await this.store.all();
    return all.map((each) => ({ ...each, state: stateOf(each.webhook, each.progress) }));
  }
}

/** Shortens the parts of a URL in which receivers have tokens: long segments of the path, and the query. */
function shownUrl(text: string): string {
  const { origin, pathname, search } = new URL(text);
  const segments = pathname
    .split('/')
    .map((each) => (each.length < MAX_SEGMENT ? each : `${each.slice(0, 4)}…`));
  return `${origin}${segments.join('/')}${search && '?…'}`;
}

function isSwitchedOff(offReason: string | null): boolean {
  return offReason !== null && offReason !== 'by-request';
}
