import type { SealedTexts } from '../../database/sealed-texts.ts';
import { among, FOR_UPDATE, type Query, rows, sql } from '../../database/sql.ts';
import type { Deliveries, Delivery, StoredWebhook, Webhook, WebhookProgress } from './webhook-record.ts';

export interface WebhookRow extends WebhookProgress {
  readonly webhookId: string;
  readonly definition: string;
}

export const PROGRESS_COLUMNS = sql`
  webhook_id AS "webhookId", cursor, last_delivered_at AS "lastDeliveredAt", failing_since AS "failingSince", pending`;
export const WEBHOOK_COLUMNS = sql`${PROGRESS_COLUMNS}, definition`;
export const OF_WEBHOOK = sql`platform = :platform AND webhook_id = :webhook_id`;

const LOCKED = sql`
  SELECT ${WEBHOOK_COLUMNS} FROM webhooks
  WHERE platform = :platform AND ${among(sql`webhook_id`, sql`SELECT webhook_id FROM ${rows('ids', { webhook_id: 'text' })}`)}
  ORDER BY webhook_id ${FOR_UPDATE}`;

/** In the look of a step that changes webhooks or their deliveries, before the tasks that it locks: so no two steps wait for each other. */
export function lockWebhooks(webhookIds: readonly string[]): Query {
  return LOCKED.with({ ids: webhookIds.map((webhookId) => ({ webhook_id: webhookId })) });
}

export function webhookRowIn(
  found: readonly object[] | undefined,
  webhookId: string,
): WebhookRow | undefined {
  return (found as readonly WebhookRow[] | undefined)?.find((row) => row.webhookId === webhookId);
}

/** Seals what a webhook is: its URL, its secrets, and what its owner says of it. How far it is, is in columns. */
export class WebhookSeal {
  constructor(private readonly texts: SealedTexts) {}

  definition(webhook: Webhook): string {
    return this.texts.seal(JSON.stringify(webhook), `webhook ${webhook.webhookId}`);
  }

  /** Undefined where it is sealed under a key that this gateway does not have. */
  open({ webhookId, definition: sealed, ...progress }: WebhookRow): StoredWebhook | undefined {
    const definition = this.texts.open(sealed, `webhook ${webhookId}`);
    return definition === undefined ? undefined : { webhook: JSON.parse(definition) as Webhook, progress };
  }
}

export interface DeliveryRow extends Delivery {
  readonly eventId: string;
}

export const DELIVERY_FIELDS = sql`event_id AS "eventId", type, lane, state, attempts, postponed, last_status AS "lastStatus",
  last_error AS "lastError", first_attempt_at AS "firstAttemptAt", last_attempt_at AS "lastAttemptAt", next_attempt_at AS "nextAttemptAt"`;

export function deliveriesIn(found: readonly DeliveryRow[]): Deliveries {
  return new Map(found.map(({ eventId, ...delivery }) => [eventId, delivery]));
}

const IN_DELIVERIES = rows('kept', {
  ...{ webhook_id: 'text', event_id: 'text', type: 'text', lane: 'text', state: 'text' },
  ...{ attempts: 'bigint', postponed: 'bigint', last_status: 'bigint', last_error: 'text' },
  ...{ first_attempt_at: 'bigint', last_attempt_at: 'bigint', next_attempt_at: 'bigint' },
});
const COLUMNS = sql`webhook_id, event_id, type, lane, state, attempts, postponed, last_status, last_error, first_attempt_at,
  last_attempt_at, next_attempt_at`;
const KEEP = sql`
  INSERT INTO deliveries (platform, made_at, ${COLUMNS})
  SELECT CAST(:platform AS text), CAST(:now AS bigint), ${COLUMNS} FROM ${IN_DELIVERIES} WHERE true
  ON CONFLICT (platform, webhook_id, event_id) DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
    postponed = excluded.postponed, last_status = excluded.last_status, last_error = excluded.last_error,
    first_attempt_at = excluded.first_attempt_at, last_attempt_at = excluded.last_attempt_at, next_attempt_at = excluded.next_attempt_at`;
const DROP = sql`DELETE FROM deliveries WHERE ${OF_WEBHOOK} AND event_id = :event_id`;

interface ChangedDelivery {
  readonly webhookId: string;
  readonly eventId: string;
  /** Undefined: it is dropped. */
  readonly delivery: Delivery | undefined;
}

export function deliveryWrites(changed: readonly ChangedDelivery[], now: number): Query[] {
  const named = changed.map(({ webhookId, eventId, delivery }) => ({
    names: { webhook_id: webhookId, event_id: eventId },
    delivery,
  }));
  const kept = named.flatMap(({ names, delivery }) =>
    delivery ? [{ ...names, ...columnsOf(delivery) }] : [],
  );
  const dropped = named.flatMap(({ names, delivery }) => (delivery ? [] : [DROP.with(names)]));
  return [...(kept.length > 0 ? [KEEP.with({ kept, now })] : []), ...dropped];
}

function columnsOf({ type, lane, state, attempts, postponed, ...rest }: Delivery) {
  return {
    ...{ type, lane, state, attempts, postponed, last_status: rest.lastStatus, last_error: rest.lastError },
    first_attempt_at: rest.firstAttemptAt,
    last_attempt_at: rest.lastAttemptAt,
    next_attempt_at: rest.nextAttemptAt,
  };
}
