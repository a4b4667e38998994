import { Injectable } from '@nestjs/common';
import { firstBytes } from '../../database/bounded-reads.ts';
import { clockFrom } from '../../database/clock-from.ts';
import { Database } from '../../database/database.ts';
import { needKeysOf, sealedUnderLacked } from '../../database/lacked-keys.ts';
import { SealedTexts } from '../../database/sealed-texts.ts';
import { amongTexts, NOW, type Query, type Sql, sql, type SqlParameters } from '../../database/sql.ts';
import { add } from '../../tasks/task-store.ts';
import type {
  Deliveries,
  Delivery,
  DeliveryState,
  StoredWebhook,
  Webhook,
  WebhookProgress,
} from './webhook-record.ts';
import {
  deliveriesIn,
  DELIVERY_FIELDS,
  type DeliveryRow,
  FIELDS_SO_FAR,
  OF_WEBHOOK,
  PROGRESS_FIELDS,
  WEBHOOK_FIELDS,
  type WebhookRow,
  WebhookSeal,
} from './webhook-rows-store.ts';
import * as steps from './webhook-steps-store.ts';

const MAX_READ = 100;
const MAX_PLACES = 1_000;
/** The most waiting deliveries that a read returns. It is more than one webhook can have. */
const MAX_WAITING = 10_000;

const ONE = sql`SELECT ${WEBHOOK_FIELDS}, ${NOW} AS now FROM webhooks WHERE ${OF_WEBHOOK}`;
/** The first webhooks after the last one that was read, as many as one read may return. */
const firstWhere = (condition: Sql) => sql`
  SELECT ${WEBHOOK_FIELDS} FROM webhooks AS own JOIN ${firstBytes(
    sql`SELECT webhook_id AS id, octet_length(definition) AS size FROM webhooks
      WHERE platform = :platform AND webhook_id > :after AND ${condition} ORDER BY webhook_id LIMIT :most`,
    sql`id`,
  )} AS first ON own.platform = :platform AND own.webhook_id = id ORDER BY webhook_id`;
const ALL = firstWhere(sql`1 = 1`);
const OF_CALLER = firstWhere(sql`caller = :caller`);
const PLACES = sql`
  SELECT ${PROGRESS_FIELDS}, version, CASE WHEN lease_until > (SELECT ${NOW}) THEN 1 ELSE 0 END AS held
  FROM webhooks LEFT JOIN tasks
    ON tasks.platform = webhooks.platform AND tasks.kind = :kind AND tasks.name = webhooks.webhook_id
  WHERE webhooks.platform = :platform AND webhook_id > :after ORDER BY webhook_id LIMIT :most`;

const OF_STATES = sql`
  ${OF_WEBHOOK} AND ${amongTexts(sql`state`, sql`:states`)}`;
/** A delivery that waits is sent no earlier than those before it in its lane. */
const PAGE = sql`
  SELECT ${FIELDS_SO_FAR}, coalesce(due_at, next_attempt_at) AS "nextAttemptAt" FROM deliveries LEFT JOIN (
    SELECT event_id AS waiting_id, max(next_attempt_at) OVER (PARTITION BY lane ORDER BY event_id) AS due_at
    FROM deliveries WHERE ${OF_WEBHOOK} AND state = 'pending') AS waiting ON waiting_id = event_id
  WHERE ${OF_STATES} ORDER BY event_id DESC LIMIT :count OFFSET :offset`;
const TOTAL = sql`SELECT count(*) AS total FROM deliveries WHERE ${OF_STATES}`;
const DELIVERY = sql`SELECT ${DELIVERY_FIELDS} FROM deliveries WHERE ${OF_WEBHOOK} AND event_id = :eventId`;
const WAITING = sql`
  SELECT ${DELIVERY_FIELDS} FROM deliveries WHERE ${OF_WEBHOOK} AND state = 'pending' ORDER BY event_id LIMIT :most`;
const LAST_ATTEMPT = sql`SELECT max(last_attempt_at) AS "lastAttemptAt" FROM deliveries WHERE ${OF_WEBHOOK}`;
const LAST_ERROR = sql`
  SELECT last_error FROM deliveries WHERE ${OF_WEBHOOK} AND last_error IS NOT NULL ORDER BY event_id DESC LIMIT 1`;

const SEALED = sealedUnderLacked(sql`webhooks`, sql`definition`, sql`1 = 1`);

/** A webhook as it was read. */
export interface ReadWebhook extends StoredWebhook {
  /** Returns the time of the database. The times of deliveries are of that clock. */
  readonly now: () => number;
}

/** The progress of a webhook, whether a process works on it, and a number that grows with every change of its definition. */
export interface WebhookPlace extends WebhookProgress {
  readonly version: number;
  readonly isHeld: boolean;
}

/** The webhooks and their deliveries in the database. Calls reject with `DatabaseUnavailable` while the database cannot do them. */
@Injectable()
export class WebhookStore {
  readonly #seal: WebhookSeal;

  constructor(
    private readonly database: Database,
    texts: SealedTexts,
  ) {
    this.#seal = new WebhookSeal(texts);
    // A webhook whose key is missing would be gone for its owner.
    needKeysOf(database, 'webhooks are sealed', SEALED);
  }

  /** Returns the webhooks of all callers, without those sealed under a key that was removed. */
  async all(): Promise<readonly StoredWebhook[]> {
    return (await this.#rows(ALL)).flatMap((row) => this.#seal.open(row) ?? []);
  }

  /** Seals webhooks under the first key that a former first key has sealed: a webhook may be older than any key is kept. */
  async reseal(): Promise<void> {
    for (const row of await this.#rows(ALL))
      if (!this.#seal.isUnderFirstKey(row)) await this.change(row.webhookId, (webhook) => webhook);
  }

  /** Returns the webhooks for their caller. Rejects if some may be missing, because the database lacks commits. */
  async ofCaller(caller: string): Promise<readonly StoredWebhook[]> {
    this.database.trust.assertWhole();
    const found = await this.#rows(OF_CALLER, { caller });
    return found.flatMap((row) => this.#seal.open(row) ?? []);
  }

  async read(webhookId: string): Promise<ReadWebhook | undefined> {
    const [found] = await this.#read<WebhookRow & { readonly now: number }>(ONE.with({ webhookId }));
    if (!found) return undefined;
    const { now, ...row } = found;
    const webhook = this.#seal.open(row);
    return webhook && { ...webhook, now: clockFrom(now) };
  }

  /** Returns the webhook for its caller. Rejects if it is missing from a database that lacks commits. */
  async find(webhookId: string): Promise<ReadWebhook | undefined> {
    const webhook = await this.read(webhookId);
    if (!webhook) this.database.trust.assertWhole();
    return webhook;
  }

  /** Adds a webhook whose deliveries begin after the cursor. Resolves to false if the caller has the maximum already. */
  async add(webhook: Webhook, cursor: string, maxOfCaller: number): Promise<boolean> {
    const { webhookId, caller } = webhook;
    const definition = this.#seal.definition(webhook);
    const added = { webhookId, caller, definition, cursor, maxOfCaller };
    return this.database.step(steps.addWebhook, added);
  }

  /**
   * Changes the current version of a webhook, and adds its task. `changed` may run more than once. Resolves to undefined if the webhook is gone.
   */
  change(webhookId: string, changed: steps.WebhookChange['changed']): Promise<StoredWebhook | undefined> {
    const change = { webhookId, seal: this.#seal, changed };
    return this.database.step(steps.changeWebhook, change);
  }

  async remove(webhookId: string): Promise<void> {
    await this.database.step(steps.removeWebhook, webhookId);
  }

  /** Lets a process work on each of the webhooks soon. If a process works on one already, it does so once more. */
  async call(webhookIds: readonly string[]): Promise<void> {
    const kind = steps.WEBHOOK;
    await Promise.all(webhookIds.map((name) => this.database.step(add, { kind, name })));
  }

  async places(): Promise<ReadonlyMap<string, WebhookPlace>> {
    type PlaceRow = Omit<WebhookRow, 'definition'> & { readonly held: number };
    const found = new Map<string, WebhookPlace>();
    for (let after = ''; ;) {
      const query = PLACES.with({ kind: steps.WEBHOOK, after, most: MAX_PLACES });
      const part = await this.#read<PlaceRow>(query);
      for (const { webhookId, held, ...place } of part)
        found.set(webhookId, { ...place, isHeld: held === 1 });
      if (part.length < MAX_PLACES) return found;
      after = part.at(-1)?.webhookId ?? '';
    }
  }

  /** Returns the deliveries of the newest events first. Rejects if some may be missing, because the database lacks commits. */
  async deliveries(
    webhookId: string,
    states: readonly DeliveryState[],
    offset: number,
    count: number,
  ): Promise<{ readonly found: Deliveries; readonly total: number }> {
    this.database.trust.assertWhole();
    const wanted = { webhookId, states };
    const page = await this.#read<DeliveryRow>(PAGE.with({ ...wanted, offset, count }));
    const [counted] = await this.#read<{ total: number }>(TOTAL.with(wanted));
    return { found: deliveriesIn(page), total: counted?.total ?? 0 };
  }

  /** Rejects if the delivery is missing from a database that lacks commits. */
  async delivery(webhookId: string, eventId: string): Promise<Delivery | undefined> {
    const query = DELIVERY.with({ webhookId, eventId });
    const delivery = deliveriesIn(await this.#read<DeliveryRow>(query)).get(eventId);
    if (!delivery) this.database.trust.assertWhole();
    return delivery;
  }

  /** Returns the waiting deliveries, in the order of their events. */
  async waiting(webhookId: string): Promise<Deliveries> {
    const query = WAITING.with({ webhookId, most: MAX_WAITING });
    return deliveriesIn(await this.#read<DeliveryRow>(query));
  }

  /** Returns the time of the last attempt to deliver an event. Null if there was none in the last 7 days. */
  async lastAttemptAt(webhookId: string): Promise<number | null> {
    const [row] = await this.#read<{ lastAttemptAt: number | null }>(LAST_ATTEMPT.with({ webhookId }));
    return row?.lastAttemptAt ?? null;
  }

  /** Returns the error of the newest event that the receiver did not accept. */
  async lastError(webhookId: string): Promise<string | null> {
    const [row] = await this.#read<{ last_error: string }>(LAST_ERROR.with({ webhookId }));
    return row?.last_error ?? null;
  }

  /** Starts one delivery again from the beginning, and adds the task of the webhook. */
  async redeliver(webhookId: string, eventId: string): Promise<void> {
    await this.database.step(steps.redeliverEvent, { webhookId, eventId });
  }

  /**
   * Writes one step of the process that holds the webhook's task with this attempt. Resolves to false if the process has lost the task, or
   * if the webhook was changed after this version: nothing was written then.
   */
  keep(webhookId: string, kept: steps.Kept): Promise<boolean> {
    return this.database.step(steps.keepDeliveries, { webhookId, ...kept });
  }

  /** Drops the oldest deliveries that were accepted or given up, if the webhook has too many of them. */
  async trim(webhookId: string): Promise<void> {
    await this.database.step(steps.trimDeliveries, webhookId);
  }

  /** Drops deliveries whose time is over. */
  async sweep(): Promise<void> {
    const gatewayNow = Date.now();
    while (await this.database.step(steps.sweepDeliveries, { gatewayNow }));
  }

  async #rows(statement: Sql, parameters: SqlParameters = {}): Promise<readonly WebhookRow[]> {
    const found: WebhookRow[] = [];
    for (let after = ''; ;) {
      const part = await this.#read<WebhookRow>(statement.with({ ...parameters, after, most: MAX_READ }));
      found.push(...part);
      if (part.length === 0) return found;
      after = part.at(-1)?.webhookId ?? '';
    }
  }

  #read<R>(query: Query): Promise<readonly R[]> {
    return this.database.read<R>(query);
  }
}
