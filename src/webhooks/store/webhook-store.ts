import type { TaskHold } from '../../kit/task-queue/task-queue.ts';
import type { Delivery, Webhook, WebhookProgress } from './webhook-record.ts';

export const WEBHOOK_STORE = Symbol('WebhookStore');

/** How far each webhook is, and whether somebody wants it to be looked at now. */
export interface Place extends WebhookProgress {
  readonly isCalled: boolean;
}

/** The deliveries of a webhook by the ids of their events. */
export type Deliveries = Map<string, Delivery>;

/** Rejects with `OrderLedgerUnavailable` while the store is away. */
export interface WebhookStore {
  /** Of all callers; without those sealed under a key that this gateway does not have. */
  list(): Promise<readonly Webhook[]>;
  read(webhookId: string): Promise<Webhook | undefined>;
  /** Resolves to whether it was added: not where the caller has as many. Its deliveries begin after the cursor. */
  add(webhook: Webhook, cursor: string, mostOfCaller: number): Promise<boolean>;
  /** Changes what is there at this moment; undefined where it is gone. */
  change(webhookId: string, changed: (webhook: Webhook) => Webhook): Promise<Webhook | undefined>;
  remove(webhookId: string): Promise<void>;

  places(): Promise<ReadonlyMap<string, Place>>;
  deliveries(webhookId: string): Promise<Deliveries>;
  /** Writes one delivery, and calls the webhook. */
  put(webhookId: string, eventId: string, delivery: Delivery): Promise<void>;
  call(webhookId: string): Promise<void>;

  /** What a turn begins with. The webhook is called no more. Undefined where it is gone. */
  begin(
    webhookId: string,
  ): Promise<{ readonly progress: WebhookProgress; readonly deliveries: Deliveries } | undefined>;
  /** One step. An undefined delivery is dropped. Resolves to whether this process still has the webhook: if not, nothing was written. */
  keep(
    webhookId: string,
    hold: TaskHold,
    progress: WebhookProgress,
    changed: ReadonlyMap<string, Delivery | undefined>,
  ): Promise<boolean>;
}

export function firstProgress(caller: string, cursor: string): WebhookProgress {
  return { caller, cursor, lastDeliveredAt: null, failingSince: null, nextAt: null, pending: 0 };
}
