import { enumeration, type WordOf } from '../../shared/enumeration.ts';

export const webhookStates = enumeration(
  'WebhookState',
  ['ok', 'failing', 'off'],
  '`ok`: the last delivery was taken, or none waits; `failing`: no delivery was taken since the first that was not; `off`: nothing is delivered',
);
export const offReasons = enumeration(
  'WebhookOffReason',
  ['by-request', 'gone', 'failing', 'address-refused'],
  '`by-request`: `updateWebhook` did it; `gone`: the receiver answered 410; `failing`: no delivery was taken for 3 days; `address-refused`: ' +
    'the same, and at the end the host or the address of the receiver was one that may not be called',
);
export type WebhookState = WordOf<typeof webhookStates>;
export type OffReason = WordOf<typeof offReasons>;

export const deliveryStates = enumeration(
  'DeliveryState',
  ['delivered', 'pending', 'failed'],
  '`delivered`: the receiver took it (2xx); `pending`: it is, or waits, to be sent; `failed`: it was tried as often as events are tried',
);
export type DeliveryState = WordOf<typeof deliveryStates>;

/** The events that a webhook receives, out of those that its caller may see. */
export interface WantedEvents {
  readonly types: readonly string[];
  /** Undefined means all enterprises that are granted. */
  readonly enterprises?: readonly string[] | undefined;
}

/** The events that a webhook wanted up to the event `until`, when its owner changed it. */
export interface EarlierWish extends WantedEvents {
  readonly until: string;
}

/** The rights of the owner by the callers file, as a replica has read them. */
export interface RightsOfOwner {
  readonly hash: string;
  /** When that replica read the file, by the clock of the database. */
  readonly readAt: number;
  /** The same moment; 0 for the rights with which the webhook was made. */
  readonly since: number;
}

/** The decisions of the owner, and whether the webhook is on. The store seals it. */
export interface Webhook extends WantedEvents {
  readonly webhookId: string;
  /** The name of the owner. A delivery contains only what that caller may see. */
  readonly caller: string;
  /** True if the owner's entry lacked the scope when the webhook was made, and a JWT granted it. */
  readonly byToken?: boolean;
  /** Absent until a replica has recorded them. */
  readonly rights?: RightsOfOwner | undefined;
  readonly url: string;
  /** The events that the webhook wanted before its last changes, the oldest first. */
  readonly before?: readonly EarlierWish[] | undefined;
  readonly description: string | null;
  readonly offReason: OffReason | null;
  /** When the webhook was made. All times of this file are in ms since the epoch. */
  readonly createdAt: number;
  /** When the webhook was last switched on, or got another URL, by the clock of the database; 0: never. Earlier failures do not count. */
  readonly enabledAt: number;
  readonly secret: string;
  /** The previous secret, which signs too until it expires. */
  readonly former?: FormerSecret | undefined;
  /** The secrets before `former`, the newest first. */
  readonly earlier?: readonly FormerSecret[] | undefined;
}

export interface FormerSecret {
  readonly secret: string;
  readonly until: number;
}

export interface WebhookProgress {
  /** The last move that has become a delivery, or was of no interest. All earlier moves have too. */
  readonly cursor: string;
  readonly lastDeliveredAt: number | null;
  /** The time of the first failure after the last success. */
  readonly failingSince: number | null;
  /** The number of deliveries that wait. */
  readonly pending: number;
}

/** One event for one webhook. Its content stays in the log of moves. */
export interface Delivery {
  readonly type: string;
  /** The record's name in its own store. Deliveries of one lane are sent one after the other. */
  readonly lane: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The number of attempts that are no steps of the schedule, because the receiver named a wait. */
  readonly postponed: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly firstAttemptAt: number | null;
  readonly lastAttemptAt: number | null;
  readonly nextAttemptAt: number | null;
}

/** Deliveries by the ids of their events. */
export type Deliveries = Map<string, Delivery>;

export interface StoredWebhook {
  readonly webhook: Webhook;
  /** A number that grows with every change of the webhook. */
  readonly version: number;
  readonly progress: WebhookProgress;
}
