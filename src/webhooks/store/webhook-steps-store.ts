import { amongTexts, NOW, sql } from '../../database/sql.ts';
import { locked, type Step } from '../../database/step.ts';
import { MOVES_KEPT_MS } from '../../events/log/move-log.ts';
import { addTasks, heldTasks, holdIn } from '../../tasks/task-store.ts';
import type { Delivery, StoredWebhook, Webhook, WebhookProgress } from './webhook-record.ts';
import {
  deliveryWrites,
  lockWebhooks,
  OF_WEBHOOK,
  webhookRowIn,
  type WebhookSeal,
} from './webhook-rows-store.ts';

/** The kind of the tasks of webhooks. The name of such a task is the id of its webhook. */
export const WEBHOOK = 'webhook';
/** The most delivered events, and the most events that were given up, that are kept for one webhook. */
const MAX_KEPT = { delivered: 1_000, failed: 5_000 };
/** One transaction drops the old deliveries of at most this number of webhooks. */
const MAX_SWEPT = 20;
/** The approximate size of a delivery. */
const DELIVERY_BYTES = 300;

const OF_CALLERS = sql`
  SELECT caller, webhook_id FROM webhooks
  WHERE platform = :platform AND ${amongTexts(sql`caller`, sql`:callers`)}`;
const ADD = sql`
  INSERT INTO webhooks (platform, webhook_id, caller, definition, version, cursor, pending)
  VALUES (:platform, :webhookId, :caller, :definition, 1, :cursor, 0)`;

interface NewWebhook {
  readonly webhookId: string;
  readonly caller: string;
  /** The sealed definition. */
  readonly definition: string;
  readonly cursor: string;
  readonly maxOfCaller: number;
}

/** Adds a webhook. If two requests ask for the last place of a caller, only one gets it. */
export const addWebhook: Step<NewWebhook, boolean> = {
  name: 'add a webhook',
  key: ({ caller }) => caller,
  bytes: ({ definition }) => definition.length,
  repeatable: true,
  look: (given) => [
    ...given.map(({ caller }) => locked(`webhooks of ${caller}`, 'alone')),
    OF_CALLERS.with({ callers: given.map(({ caller }) => caller) }),
  ],
  decide: (given, found) => {
    const known = found.at(-1) ?? [];
    const isThere = ({ webhookId }: NewWebhook) => known.some((row) => row['webhook_id'] === webhookId);
    const added = given.filter(
      (each) =>
        !isThere(each) && known.filter((row) => row['caller'] === each.caller).length < each.maxOfCaller,
    );
    return {
      writes: added.map((each) => ADD.with({ ...each })),
      results: () => given.map((each) => added.includes(each) || isThere(each)),
    };
  },
};

const PENDING = sql`(SELECT count(*) FROM deliveries WHERE ${OF_WEBHOOK} AND state = 'pending')`;
const COUNT = sql`UPDATE webhooks SET pending = ${PENDING} WHERE ${OF_WEBHOOK}`;
/** With another version, the failure of an attempt that is in progress is not kept. */
const COUNT_ANEW = sql`UPDATE webhooks SET version = version + 1, pending = ${PENDING} WHERE ${OF_WEBHOOK}`;
const CHANGE = sql`
  UPDATE webhooks SET definition = :definition, version = version + 1, pending = ${PENDING} WHERE ${OF_WEBHOOK}`;
/** Restarts a delivery from the beginning, whatever its state. `listDeliveries` still shows the last attempt and the receiver's answer. */
const AGAIN = sql`state = 'pending', attempts = 0, postponed = 0, first_attempt_at = NULL, next_attempt_at = :now`;
const ALL_AGAIN = sql`UPDATE deliveries SET ${AGAIN} WHERE ${OF_WEBHOOK} AND state <> 'delivered'`;
const WAITING_AGAIN = sql`UPDATE deliveries SET ${AGAIN} WHERE ${OF_WEBHOOK} AND state = 'pending'`;
const ONE_AGAIN = sql`UPDATE deliveries SET ${AGAIN} WHERE ${OF_WEBHOOK} AND event_id = :eventId`;

export interface WebhookChange {
  readonly webhookId: string;
  readonly seal: WebhookSeal;
  /** May be called more than once. */
  readonly changed: (webhook: Webhook, progress: WebhookProgress, now: number) => Webhook;
}

/**
 * Changes the current version of a webhook. A webhook that is switched on gets every event that was not accepted, also the ones that were
 * given up. A webhook with another URL gets at once what waits: the schedule was that of its former receiver.
 */
export const changeWebhook: Step<WebhookChange, StoredWebhook | undefined> = {
  name: 'change a webhook',
  key: ({ webhookId }) => webhookId,
  look: lockWebhooks,
  decide: (given, [found], now) => {
    const changes = given.map(({ webhookId, seal, changed }) => {
      const row = webhookRowIn(found, webhookId);
      const before = row && seal.open(row);
      if (!before) return undefined;
      const webhook = changed(before.webhook, before.progress, now);
      const isSwitchedOn = before.webhook.offReason !== null && webhook.offReason === null;
      const isMoved = before.webhook.url !== webhook.url;
      const again = isSwitchedOn ? [ALL_AGAIN] : isMoved ? [WAITING_AGAIN] : [];
      const writes = [
        ...again.map((each) => each.with({ webhookId, now })),
        CHANGE.with({ webhookId, definition: seal.definition(webhook) }),
      ];
      return { webhookId, writes, after: { ...before, webhook, version: before.version + 1 } };
    });
    const made = changes.filter((each) => each !== undefined);
    const calls = addTasks(
      WEBHOOK,
      made.map(({ webhookId }) => webhookId),
    );
    return {
      writes: [...made.flatMap((each) => each.writes), ...calls],
      results: () => changes.map((each) => each?.after),
    };
  },
};

interface OfEvent {
  readonly webhookId: string;
  readonly eventId: string;
}

/** An attempt at the event that fails meanwhile does not put the redelivery off: the event is sent again at once. */
export const redeliverEvent: Step<OfEvent, undefined> = {
  name: 'send an event again',
  key: ({ webhookId }) => webhookId,
  repeatable: true,
  look: lockWebhooks,
  decide: (given, [found], now) => {
    const there = given.filter(({ webhookId }) => webhookRowIn(found, webhookId));
    return {
      writes: there.flatMap(({ webhookId, eventId }) => [
        ONE_AGAIN.with({ webhookId, eventId, now }),
        COUNT_ANEW.with({ webhookId }),
        ...addTasks(WEBHOOK, [webhookId]),
      ]),
    };
  },
};

const DROP_ALL = sql`DELETE FROM deliveries WHERE ${OF_WEBHOOK}`;
const DROP = sql`DELETE FROM webhooks WHERE ${OF_WEBHOOK}`;

/** Removes a webhook. Its task then finds nothing, and ends. */
export const removeWebhook: Step<string, undefined> = {
  name: 'remove a webhook',
  key: (webhookId) => webhookId,
  repeatable: true,
  look: (webhookIds) => lockWebhooks(webhookIds.map((webhookId) => ({ webhookId }))),
  decide: (webhookIds) => ({
    writes: webhookIds.flatMap((webhookId) => [DROP_ALL.with({ webhookId }), DROP.with({ webhookId })]),
  }),
};

const PROGRESS = sql`
  UPDATE webhooks SET cursor = coalesce(CAST(:cursor AS text), cursor), last_delivered_at = :lastDeliveredAt, failing_since = :failingSince,
    pending = ${PENDING}
  WHERE ${OF_WEBHOOK}`;

export interface Kept {
  /** The attempt of the webhook's task. */
  readonly attempt: string;
  readonly progress: Pick<WebhookProgress, 'lastDeliveredAt' | 'failingSince'>;
  /** An undefined delivery is dropped. */
  readonly changed: ReadonlyMap<string, Delivery | undefined>;
  /** Undefined if the cursor stays. */
  readonly cursor?: string | undefined;
  /** The version of the webhook for which this was decided. Undefined if it is right for every version. */
  readonly version?: number | undefined;
}

/**
 * Writes the progress of deliveries. If the task belongs to another process now, or the webhook was removed, or its version is another one,
 * nothing is written and the result is false.
 */
export const keepDeliveries: Step<Kept & { readonly webhookId: string }, boolean> = {
  name: 'keep deliveries',
  key: ({ webhookId }) => webhookId,
  bytes: ({ changed }) => changed.size * DELIVERY_BYTES,
  repeatable: true,
  look: (given) => [
    ...lockWebhooks(given),
    heldTasks(
      WEBHOOK,
      given.map(({ webhookId }) => webhookId),
    ),
  ],
  decide: (given, [webhooks, tasks], now) => {
    const held = given.filter(({ webhookId, attempt, version }) => {
      const row = webhookRowIn(webhooks, webhookId);
      return row && (version ?? row.version) === row.version && holdIn(tasks, webhookId, attempt) !== 'lost';
    });
    const changed = held.flatMap(({ webhookId, changed: own }) =>
      [...own].map(([eventId, delivery]) => ({ webhookId, eventId, delivery })),
    );
    const progress = held.map(({ webhookId, cursor = null, progress: { lastDeliveredAt, failingSince } }) =>
      PROGRESS.with({ webhookId, cursor, lastDeliveredAt, failingSince }),
    );
    return {
      writes: [...deliveryWrites(changed, now), ...progress],
      results: () => given.map((each) => held.includes(each)),
    };
  },
};

const TRIM = sql`
  DELETE FROM deliveries WHERE ${OF_WEBHOOK} AND state = :state AND event_id <= (
    SELECT event_id FROM deliveries WHERE ${OF_WEBHOOK} AND state = :state ORDER BY event_id DESC LIMIT 1 OFFSET :most)`;

/**
 * Drops the oldest ended deliveries of each state, if there are too many. A delivery is given up days after its event, when many later
 * events may have been delivered, and its owner has to see it.
 */
export const trimDeliveries: Step<string, undefined> = {
  name: 'trim deliveries',
  key: (webhookId) => webhookId,
  repeatable: true,
  decide: (webhookIds) => ({
    writes: webhookIds.flatMap((webhookId) =>
      Object.entries(MAX_KEPT).map(([state, most]) => TRIM.with({ webhookId, state, most })),
    ),
  }),
};

const OLD = sql`
  SELECT webhook_id FROM deliveries
  WHERE platform = :platform AND made_at <= (SELECT ${NOW}) - CAST(:keptMs AS bigint) AND made_at <= :until LIMIT 1000`;
const DROP_OLD = sql`DELETE FROM deliveries WHERE ${OF_WEBHOOK} AND made_at <= :until`;

/** Drops deliveries that are old by both clocks, in pieces. Resolves to true if there may be more. */
export const sweepDeliveries: Step<{ readonly gatewayNow: number }, boolean> = {
  name: 'sweep deliveries',
  look: ([{ gatewayNow }]) => [OLD.with({ keptMs: MOVES_KEPT_MS, until: gatewayNow - MOVES_KEPT_MS })],
  decide: ([{ gatewayNow }], [found = []], now) => {
    const until = Math.min(gatewayNow, now) - MOVES_KEPT_MS;
    const ids = [...new Set(found.map((row) => String(row['webhook_id'])))].toSorted().slice(0, MAX_SWEPT);
    return {
      writes: [
        ...lockWebhooks(ids.map((webhookId) => ({ webhookId }))),
        ...ids.flatMap((webhookId) => [DROP_OLD.with({ webhookId, until }), COUNT.with({ webhookId })]),
      ],
      results: () => [ids.length > 0],
    };
  },
};
