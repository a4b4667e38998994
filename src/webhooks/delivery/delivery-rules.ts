import type { OnBehalf } from '../../caller/standing.ts';
import type { EventType } from '../../events/event-types.ts';
import type {
  Deliveries,
  Delivery,
  WantedEvents,
  WebhookProgress,
  Webhook,
  WebhookState,
} from '../store/webhook-record.ts';
import type { Sent } from './receivers.ts';
import { SCHEDULE_MS, waitAfter } from './schedule.ts';

/** The most waiting deliveries of a webhook. At this number it gets no further ones. */
const MAX_WAITING = 1_000;

/** Alone in a list: all types of events, or all enterprises that are granted. */
export const ALL = '*';
/** The scope that the owner of a webhook needs for as long as events are sent. */
export const WEBHOOK_SCOPE = 'webhooks:write';

export function onBehalfOf({ caller, byToken = false }: Pick<Webhook, 'caller' | 'byToken'>): OnBehalf {
  return { caller, scope: WEBHOOK_SCOPE, byToken };
}

export function wants({ types }: WantedEvents, type: string): boolean {
  return types.includes(ALL) || types.includes(type);
}

/** The types of events that the webhook wants, or wanted before it was changed. Undefined means all of them. */
export function typesOf({ types, before = [] }: Webhook): readonly EventType[] | undefined {
  const all = [...new Set([types, ...before.map((wish) => wish.types)].flat())];
  return all.includes(ALL) ? undefined : (all as EventType[]);
}

/**
 * Returns the time since which the webhook is failing. Failures before it was switched on, or got its URL, do not count. Once no delivery waits, because the
 * last one was given up, nothing is attempted: that time is no failure of the receiver.
 */
export function failingSinceOf({ enabledAt }: Webhook, progress: WebhookProgress | undefined): number | null {
  const { failingSince = null, pending = 0 } = progress ?? {};
  return failingSince === null || failingSince < enabledAt || pending === 0 ? null : failingSince;
}

export function stateOf(webhook: Webhook, progress: WebhookProgress | undefined): WebhookState {
  if (webhook.offReason !== null) return 'off';
  return failingSinceOf(webhook, progress) === null ? 'ok' : 'failing';
}

export function isTaken({ status }: Pick<Sent, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300;
}

export function newDelivery(type: string, lane: string, now: number): Delivery {
  const nothingYet = { attempts: 0, postponed: 0, lastStatus: null, lastError: null };
  return {
    type,
    lane,
    state: 'pending',
    ...nothingYet,
    firstAttemptAt: null,
    lastAttemptAt: null,
    nextAttemptAt: now,
  };
}

/**
 * Returns the delivery after an attempt. A wait that the receiver names is no step of the schedule, because a rate limit of a minute would
 * otherwise use up all steps.
 */
export function afterAttempt(delivery: Delivery, sent: Sent, now: number): Delivery {
  const firstAttemptAt = delivery.firstAttemptAt ?? now;
  const waitedMs = (sent.retryAfterS ?? 0) * 1_000;
  const isPostponed = !isTaken(sent) && waitedMs > 0 && now - firstAttemptAt < SCHEDULE_MS;
  const attempts = delivery.attempts + 1;
  const postponed = delivery.postponed + Number(isPostponed);
  const last = { attempts, postponed, lastStatus: sent.status, lastError: errorOf(sent) };
  const after = { ...delivery, ...last, firstAttemptAt, lastAttemptAt: now };
  if (isTaken(sent)) return { ...after, state: 'delivered', nextAttemptAt: null };
  const wait = isPostponed ? 0 : waitAfter(attempts - postponed);
  return wait === undefined
    ? { ...after, state: 'failed', nextAttemptAt: null }
    : { ...after, nextAttemptAt: now + Math.max(wait, waitedMs) };
}

/** Describes the failure without any part of the receiver's answer. */
export function errorOf({ status, failure }: Sent): string | null {
  if (isTaken({ status })) return null;
  return failure ?? `status-${status}`;
}

export function progressAfter(progress: WebhookProgress, sent: Sent, now: number): WebhookProgress {
  if (isTaken(sent)) return { ...progress, lastDeliveredAt: now, failingSince: null };
  return { ...progress, failingSince: progress.failingSince ?? now };
}

/** Groups the ids of waiting deliveries by record, in the order of their events. */
export function lanesOf(waiting: Deliveries): readonly (readonly string[])[] {
  const inOrder = [...waiting].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [...Map.groupBy(inOrder, ([, { lane }]) => lane).values()].map((lane) => lane.map(([id]) => id));
}

/** Returns the earliest time at which the first delivery of a lane is due. Null if no delivery waits. */
export function nextAttemptIn(waiting: Deliveries): number | null {
  const times = lanesOf(waiting).map(([first = '']) => waiting.get(first)?.nextAttemptAt ?? Infinity);
  return times.length === 0 ? null : Math.min(...times);
}

/** True if the webhook gets no further deliveries now. The moves after its cursor stay in the log until then. */
export function isFull({ pending }: Pick<WebhookProgress, 'pending'>): boolean {
  return pending >= MAX_WAITING;
}
