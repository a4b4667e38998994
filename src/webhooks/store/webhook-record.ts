import { enumeration, type WordOf } from '../../shared/enumeration.ts';

export const webhookStates = enumeration(
  'WebhookState',
  ['ok', 'failing', 'off'],
  '`ok`: the last delivery was taken, or there was none; `failing`: no delivery was taken since the first that was not; `off`: nothing is delivered',
);
export const offReasons = enumeration(
  'WebhookOffReason',
  ['by-request', 'gone', 'failing', 'address-refused'],
  '`by-request`: `updateWebhook` did it; `gone`: the receiver answered 410; `failing`: no delivery was taken for 3 days; `address-refused`: ' +
    'the name of the receiver led to an address that may not be called',
);
export type WebhookState = WordOf<typeof webhookStates>;
export type OffReason = WordOf<typeof offReasons>;

export const deliveryStates = enumeration(
  'DeliveryState',
  ['delivered', 'pending', 'failed'],
  '`delivered`: the receiver took it (2xx); `pending`: it is, or waits, to be sent; `failed`: it was tried as often as events are tried',
);
export type DeliveryState = WordOf<typeof deliveryStates>;

/** Which events a webhook is for, of those that its caller may see. */
export interface WantedEvents {
  readonly types: readonly string[];
  /** Undefined: all that are granted. */
  readonly enterprises?: readonly string[] | undefined;
}

/** What its owner decided, and whether it is on. The store seals it. */
export interface Webhook extends WantedEvents {
  readonly webhookId: string;
  /** The name of its owner: a delivery has what that caller may see. */
  readonly caller: string;
  /** The entry of its owner had not the scope when it was made: a JWT gave it. */
  readonly byToken?: boolean;
  readonly url: string;
  /** What it was for before it was changed, up to this move. */
  readonly before?: (WantedEvents & { readonly until: string }) | undefined;
  readonly description: string | null;
  readonly offReason: OffReason | null;
  /** In ms since the epoch, as all times of this file. */
  readonly createdAt: number;
  /** When it was switched on last. */
  readonly enabledAt: number;
  readonly secret: string;
  /** The secret before, which signs too, until its end. */
  readonly former?: FormerSecret | undefined;
  /** The secrets before that one, the newest first. */
  readonly earlier?: readonly FormerSecret[] | undefined;
}

export interface FormerSecret {
  readonly secret: string;
  readonly until: number;
}

/** How far the deliveries of a webhook are. */
export interface WebhookProgress {
  /** Every move up to this one is a delivery, or is of no interest. */
  readonly cursor: string;
  readonly lastDeliveredAt: number | null;
  /** The first failure after the last success. */
  readonly failingSince: number | null;
  /** The number of deliveries that wait. */
  readonly pending: number;
}

/** One event for one webhook. Its content stays in the log of moves. */
export interface Delivery {
  readonly type: string;
  /** Deliveries of one lane are sent one after the other: the record's name in its own store. */
  readonly lane: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** How many of the attempts are no steps of the schedule, because the receiver named a wait. */
  readonly postponed: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly firstAttemptAt: number | null;
  readonly lastAttemptAt: number | null;
  readonly nextAttemptAt: number | null;
}

/** By the ids of their events. */
export type Deliveries = Map<string, Delivery>;

export interface StoredWebhook {
  readonly webhook: Webhook;
  readonly progress: WebhookProgress;
}
