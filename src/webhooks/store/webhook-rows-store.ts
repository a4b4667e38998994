import type { SealedTexts } from '../../database/sealed-texts.ts';
import { among, FOR_UPDATE, type Query, rows, sql } from '../../database/sql.ts';
import type { Deliveries, Delivery, StoredWebhook, Webhook, WebhookProgress } from './webhook-record.ts';

export interface WebhookRow {
  readonly webhook_id: string;
  readonly definition: string;
  readonly cursor: string;
  readonly last_delivered_at: number | null;
  readonly failing_since: number | null;
  readonly pending: number;
}

export const WEBHOOK_COLUMNS = sql`webhook_id, definition, cursor, last_delivered_at, failing_since, pending`;
export const OF_WEBHOOK = sql`platform = :platform AND webhook_id = :webhook_id`;

const LOCKED = sql`
  SELECT ${WEBHOOK_COLUMNS} FROM webhooks
  WHERE platform = :platform AND ${among(sql`webhook_id`, sql`SELECT webhook_id FROM ${rows('ids', { webhook_id: 'text' })}`)}
  ORDER BY webhook_id ${FOR_UPDATE}`;

/** In the look of a step that changes webhooks or their deliveries, after the tasks that it locks. */
export function lockWebhooks(webhookIds: readonly string[]): Query {
  return LOCKED.with({ ids: webhookIds.map((webhookId) => ({ webhook_id: webhookId })) });
}

export function webhookRowIn(
  found: readonly object[] | undefined,
  webhookId: string,
): WebhookRow | undefined {
  return (found as readonly WebhookRow[] | undefined)?.find((row) => row.webhook_id === webhookId);
}

/** Seals what a webhook is: its URL, its secrets, and what its owner says of it. How far it is, is in columns. */
export class WebhookSeal {
  constructor(private readonly texts: SealedTexts) {}

  definition(webhook: Webhook): string {
    return this.texts.seal(JSON.stringify(webhook), `webhook ${webhook.webhookId}`);
  }

  /** Undefined where it is sealed under a key that this gateway does not have. */
  open(row: WebhookRow): StoredWebhook | undefined {
    const definition = this.texts.open(row.definition, `webhook ${row.webhook_id}`);
    if (definition === undefined) return undefined;
    return { webhook: JSON.parse(definition) as Webhook, progress: progressIn(row) };
  }
}

export function progressIn(row: Omit<WebhookRow, 'webhook_id' | 'definition'>): WebhookProgress {
  return {
    cursor: row.cursor,
    lastDeliveredAt: row.last_delivered_at,
    failingSince: row.failing_since,
    pending: row.pending,
  };
}

export interface DeliveryRow {
  readonly event_id: string;
  readonly type: string;
  readonly lane: string;
  readonly state: Delivery['state'];
  readonly attempts: number;
  readonly postponed: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly first_attempt_at: number | null;
  readonly last_attempt_at: number | null;
  readonly next_attempt_at: number | null;
}

export const DELIVERY_COLUMNS = sql`event_id, type, lane, state, attempts, postponed, last_status, last_error, first_attempt_at,
  last_attempt_at, next_attempt_at`;
export const IN_DELIVERIES = rows('kept', {
  webhook_id: 'text',
  event_id: 'text',
  type: 'text',
  lane: 'text',
  state: 'text',
  attempts: 'bigint',
  postponed: 'bigint',
  last_status: 'bigint',
  last_error: 'text',
  first_attempt_at: 'bigint',
  last_attempt_at: 'bigint',
  next_attempt_at: 'bigint',
});

export function deliveryRow(eventId: string, delivery: Delivery): DeliveryRow {
  const { type, lane, state, attempts, postponed } = delivery;
  return {
    ...{ event_id: eventId, type, lane, state, attempts, postponed },
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
    first_attempt_at: delivery.firstAttemptAt,
    last_attempt_at: delivery.lastAttemptAt,
    next_attempt_at: delivery.nextAttemptAt,
  };
}

export function deliveriesIn(found: readonly DeliveryRow[]): Deliveries {
  return new Map(
    found.map((row) => [
      row.event_id,
      {
        ...{ type: row.type, lane: row.lane, state: row.state },
        ...{ attempts: row.attempts, postponed: row.postponed },
        lastStatus: row.last_status,
        lastError: row.last_error,
        firstAttemptAt: row.first_attempt_at,
        lastAttemptAt: row.last_attempt_at,
        nextAttemptAt: row.next_attempt_at,
      },
    ]),
  );
}
