import { rowsAs } from '../../database/engine.ts';
import type { SealedTexts } from '../../database/sealed-texts.ts';
import {
  amongTexts,
  type Columns,
  columnNames,
  fields,
  FOR_UPDATE,
  type Query,
  rows,
  sql,
} from '../../database/sql.ts';
import type { Deliveries, Delivery, StoredWebhook, Webhook, WebhookProgress } from './webhook-record.ts';

export interface WebhookRow extends WebhookProgress {
  readonly webhookId: string;
  readonly definition: string;
  readonly version: number;
}

const PROGRESS: Columns = {
  ...{
    webhookId: 'text',
    cursor: 'text',
    lastDeliveredAt: 'bigint',
    failingSince: 'bigint',
    pending: 'bigint',
  },
};
export const PROGRESS_FIELDS = fields(PROGRESS);
export const WEBHOOK_FIELDS = fields({ ...PROGRESS, definition: 'text', version: 'bigint' });
export const OF_WEBHOOK = sql`platform = :platform AND webhook_id = :webhookId`;

const LOCKED = sql`
  SELECT ${WEBHOOK_FIELDS} FROM webhooks
  WHERE platform = :platform AND ${amongTexts(sql`webhook_id`, sql`:ids`)}
  ORDER BY webhook_id ${FOR_UPDATE}`;

/**
 * Locks webhooks, in the look of a step that changes them or their deliveries. It comes before the tasks that the step locks, so that no
 * two steps wait for each other.
 */
export function lockWebhooks(given: readonly { readonly webhookId: string }[]): Query[] {
  return [LOCKED.with({ ids: given.map(({ webhookId }) => webhookId) })];
}

export function webhookRowIn(
  found: readonly object[] | undefined,
  webhookId: string,
): WebhookRow | undefined {
  return rowsAs<WebhookRow>(found).find((row) => row.webhookId === webhookId);
}

/** Seals the definition of a webhook: its URL, its secrets, and its owner's description. Its progress is in columns. */
export class WebhookSeal {
  constructor(private readonly texts: SealedTexts) {}

  definition(webhook: Webhook): string {
    return this.texts.seal(JSON.stringify(webhook), `webhook ${webhook.webhookId}`);
  }

  isUnderFirstKey({ definition }: WebhookRow): boolean {
    return this.texts.isUnderFirstKey(definition);
  }

  /** Returns undefined if the webhook is sealed under a key that was removed. */
  open({ webhookId, definition: sealed, version, ...progress }: WebhookRow): StoredWebhook | undefined {
    const definition = this.texts.open(sealed, `webhook ${webhookId}`);
    return definition === undefined
      ? undefined
      : { webhook: JSON.parse(definition) as Webhook, version, progress };
  }
}

export interface DeliveryRow extends Delivery {
  readonly eventId: string;
}

const SO_FAR: Columns = {
  ...{ eventId: 'text', type: 'text', lane: 'text', state: 'text', attempts: 'bigint', postponed: 'bigint' },
  ...{ lastStatus: 'bigint', lastError: 'text', firstAttemptAt: 'bigint', lastAttemptAt: 'bigint' },
};
const DELIVERY: Columns = { ...SO_FAR, nextAttemptAt: 'bigint' };
export const DELIVERY_FIELDS = fields(DELIVERY);
/** The fields of a delivery without the time of its next attempt. */
export const FIELDS_SO_FAR = fields(SO_FAR);

export function deliveriesIn(found: readonly DeliveryRow[]): Deliveries {
  return new Map(found.map(({ eventId, ...delivery }) => [eventId, delivery]));
}

const KEPT: Columns = { webhookId: 'text', ...DELIVERY };
/** A failed attempt does not replace a delivery that was begun anew while it ran: the event is sent again at once. */
const KEEP = sql`
  INSERT INTO deliveries (platform, made_at, ${columnNames(KEPT)})
  SELECT CAST(:platform AS text), CAST(:now AS bigint), ${columnNames(KEPT)} FROM ${rows('kept', KEPT)} WHERE true
  ORDER BY webhook_id, event_id
  ON CONFLICT (platform, webhook_id, event_id) DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
    postponed = excluded.postponed, last_status = excluded.last_status, last_error = excluded.last_error,
    first_attempt_at = excluded.first_attempt_at, last_attempt_at = excluded.last_attempt_at, next_attempt_at = excluded.next_attempt_at
  WHERE excluded.state = 'delivered' OR deliveries.attempts = excluded.attempts - 1`;
const DROP = sql`DELETE FROM deliveries WHERE ${OF_WEBHOOK} AND event_id = :eventId`;

interface ChangedDelivery {
  readonly webhookId: string;
  readonly eventId: string;
  /** Undefined drops the delivery. */
  readonly delivery: Delivery | undefined;
}

export function deliveryWrites(changed: readonly ChangedDelivery[], now: number): Query[] {
  const kept = changed.flatMap(({ delivery, ...named }) => (delivery ? [{ ...named, ...delivery }] : []));
  const dropped = changed.flatMap(({ delivery, ...named }) => (delivery ? [] : [DROP.with(named)]));
  return [...(kept.length > 0 ? [KEEP.with({ kept, now })] : []), ...dropped];
}
