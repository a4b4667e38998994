import type { Scope } from '../request/scopes.ts';
import { sha256 } from '../redis/key-names.ts';
import { enumeration, type WordOf } from '../shared/enumeration.ts';
import type { DryRunEffect } from '../request/dry-run.ts';
import type { SoughtCustomer } from '../upstream/platform-search.ts';
import type { NamedInstance } from '../upstream/wire/instances.ts';
import type { OrderType, SyncMode } from '../upstream/wire/words.ts';

/** States of a recorded write (see {@link transitions}); spelled as callers see them in `state`. */
export const orderStates = enumeration(
  'OrderState',
  [
    ...(['scheduled', 'sending', 'succeeded', 'accepted', 'incomplete', 'rejected'] as const),
    ...(['not_sent', 'in_doubt', 'not_placed', 'cancelled'] as const),
  ],
  '`scheduled`: placed at its time (`notBefore`). `sending`: in progress. `succeeded`: placed. `accepted`: the platform places it later (`syncMode` async). `incomplete`: placed, but the platform ' +
    'did not confirm every item. `rejected`: the platform refused it; a corrected order may use the number. `not_sent`: ' +
    'nothing left the gateway, or the platform did not look at it, because it was too busy or refused the credentials of the gateway. `in_doubt`: sent, and its outcome is not known. `not_placed`: an operator settled it so; the number is free. `cancelled`: ended while it was scheduled; the number is free',
);
export const states = orderStates.words;
export type State = WordOf<typeof orderStates>;

/**
 * What may move a record: the process that sends it, the end of its lease, reconciliation that found the order, an operator, the schedule at the
 * time of the order, or its caller.
 */
export type Mover = 'owner' | 'lease' | 'reconciliation' | 'operator' | 'schedule' | 'caller';

/**
 * The state machine: from which state to which, for each mover. The owner may record its result after the end of its lease, as long as no
 * operator has settled the record: a clock that jumps ahead may end the lease early, and a known result must not be lost.
 */
export const transitions: Readonly<Record<Mover, Partial<Record<State, readonly State[]>>>> = {
  owner: {
    // Back to `scheduled`: the order was due, and the platform was away.
    sending: ['succeeded', 'accepted', 'incomplete', 'rejected', 'not_sent', 'in_doubt', 'scheduled'],
    in_doubt: ['succeeded', 'accepted', 'incomplete', 'rejected', 'not_sent'],
  },
  lease: { sending: ['in_doubt'] },
  // Reconciliation has found the order, or the platform's profile now teaches what its code means.
  reconciliation: {
    in_doubt: ['succeeded', 'rejected', 'not_sent'],
    incomplete: ['succeeded'],
    accepted: ['succeeded'],
  },
  operator: {
    in_doubt: ['succeeded', 'not_placed'],
    incomplete: ['succeeded', 'not_placed'],
    accepted: ['succeeded', 'not_placed'],
  },
  // `in_doubt`: the database was restored, and lacks what became of the order. `scheduled`: it waits on, and keeps since when.
  schedule: { scheduled: ['rejected', 'not_sent', 'in_doubt', 'scheduled'] },
  caller: { scheduled: ['cancelled'] },
};

/** The states in which the end of the order is not known. The record is kept until it is. */
export const unsettled: readonly State[] = ['scheduled', 'sending', 'accepted', 'incomplete', 'in_doubt'];

/** The states in which the order was sent and its end is not known. Reconciliation looks for the order. */
export const SOUGHT: ReadonlySet<State> = new Set(['accepted', 'incomplete', 'in_doubt']);

/** The states in which the platform did nothing, so the name is free for any payload. */
export const released: readonly State[] = ['not_sent', 'not_placed', 'cancelled'];

/** A write that moves to one of these states was not carried out, so it gives back what it took: of budgets, and reserved numbers. */
export const UNDONE: ReadonlySet<State> = new Set([...released, 'rejected', 'scheduled']);

/** The states in which the platform carried out all of the write, or a part of it. */
export const CARRIED_OUT: ReadonlySet<State> = new Set(['succeeded', 'accepted', 'incomplete']);

export interface OrderedItem {
  readonly sequence: number;
  readonly orderType: OrderType;
  readonly enterpriseGlobalId: string | null;
}

export interface PlacedItem {
  readonly sequence: number;
  readonly licenseOrderId: string;
  readonly customerId: string | null;
}

/** The response that a repeated request gets. */
export interface KeptResponse {
  readonly status: number;
  readonly body: unknown;
  /** The `Location` of a problem that has one. Records of earlier versions have none. */
  readonly location?: string;
  /** SHA-256 of the file that the request had. */
  readonly file?: string;
}

/** What is known of a write besides its state, stored as sealed JSON. Secrets of the request are only in `scheduled` of an order. */
export interface Details {
  readonly caller: string;
  readonly order?: OrderDetails;
  /** The response. Stored records call it `answer`. */
  readonly answer?: KeptResponse;
}

export interface OrderDetails {
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly syncMode: SyncMode;
  /** Empty where the platform did nothing: see {@link keptDetails}. */
  readonly ordered: readonly OrderedItem[];
  /** The result of {@link enterprisesOf}, stored where `ordered` is no longer kept. */
  readonly enterprises?: readonly string[];
  /** The placed items, as far as they are known. */
  readonly items: readonly PlacedItem[];
  readonly reason: string | null;
  /** Absent: no operator has settled the order. */
  readonly settlement?: Settlement;
  /** Absent in records of earlier versions that looked for purchases of one enterprise only. */
  readonly search?: OrderSearch;
  /** The time before which the order is not sent, in ms; absent: it was placed at once. */
  readonly notBefore?: number;
  /** Kept while the order is scheduled. */
  readonly scheduled?: ScheduledOrder;
}

/** What a scheduled order needs at its time. */
export interface ScheduledOrder {
  /** The validated body of the request. It may contain passwords of products. */
  readonly order: object;
  readonly idempotencyKey?: string | undefined;
  /** The alias of the user that the order named. */
  readonly user?: string | undefined;
  /** The scopes that came from a JWT, because the caller's entry lacked them. For these the order only needs the entry to exist at its time. */
  readonly byToken: readonly Scope[];
  /** What the deletions of the order would have taken away when it was accepted. */
  readonly effects: readonly KeptEffect[];
  /** Absent: no attempt at the due order has met a hindrance. */
  readonly hindered?: Hindered;
}

/** The wait of a due order for its hindrance to end, in ms by the clock of the database: since when, and when an attempt last noted it. */
export interface Hindered {
  readonly since: number;
  readonly notedAt: number;
}

/** An effect, and the instances of the product that it takes away. Absent where the platform did not show all of them. */
export interface KeptEffect extends DryRunEffect {
  readonly instances?: readonly KeptInstance[];
}

/** An instance of a product, by what a renewal changes. */
export interface KeptInstance {
  readonly productId: string | null;
  readonly licenseOrderId: string | null;
  readonly nodes: number | null;
  readonly endsAt: string | null;
}

/** What an operator found out about an order; `items` null: the operator named none. */
export interface Settlement {
  readonly as: 'succeeded' | 'not_placed';
  readonly reason: string;
  readonly items: readonly PlacedItem[] | null;
}

/** The further data that reconciliation needs of an order, by the sequence of the item. */
export interface OrderSearch {
  /** The customers of items that name no enterprise. */
  readonly customers?: Readonly<Record<string, SoughtCustomer>>;
  readonly deletions?: Readonly<Record<string, readonly Deletion[]>>;
  /** The products and packages that each purchase buys. */
  readonly purchases?: Readonly<Record<string, readonly Bought[]>>;
  /** The alias of the user that the order named. */
  readonly user?: string;
}

/** A product, known by any of its names, or a package, known by its number, and the number of assets that it was bought for (`count`). */
export interface Bought {
  readonly names: readonly string[];
  /** Concurrent nodes; absent where the order does not say. */
  readonly nodes?: number | undefined;
  readonly merchandiseNum?: string | undefined;
  readonly count: number;
}

/** What a deletion takes away from these assets. */
export interface Deletion {
  /** Whether the platform showed everything that the deletion names before the order was sent. Only then its absence proves the deletion. */
  readonly seen?: boolean;
  /** The enterprise whose lists those were. Absent in records of earlier versions. */
  readonly seenIn?: string;
  /** Whether the list of the order module had all of it then. Otherwise only the member center shows whether it is gone. */
  readonly isListed?: boolean;
  readonly assetNums: readonly string[];
  /** The licence order to delete from; absent: all licence orders. */
  readonly licenseOrderId?: string;
  /** Absent: the assets themselves. */
  readonly named?: readonly NamedInstance[];
}

/**
 * Whether reconciliation can look for the order in its state. An order that is in doubt or incomplete can only be found by what it bought for the
 * enterprises that it names: what a deletion takes away may have been gone before.
 */
export function isSought({ state, details: { order } }: LedgerRecord): boolean {
  if (!order?.search) return false;
  if (state === 'accepted') return true;
  return (
    (state === 'in_doubt' || state === 'incomplete') &&
    order.ordered.every((item) => item.orderType === 'new_buy' && item.enterpriseGlobalId !== null)
  );
}

/** A recorded write. Times are in ms since 1970, by the clock of the database. */
export interface LedgerRecord {
  /** Identifies the write: see {@link orderName} and {@link keyName}. */
  readonly name: string;
  readonly state: State;
  readonly submittedAt: number;
  readonly settledAt: number | null;
  readonly details: Details;
}

/**
 * Returns when the order was sent, or may have been. A scheduled order that may have been sent before its database was restored has the time of
 * its acceptance as `submittedAt`, and was not sent before its own time.
 */
export function sentAt({ submittedAt, details }: LedgerRecord): number {
  return Math.max(submittedAt, details.order?.notBefore ?? 0);
}

const ORDER = 'order/';

export function orderName(channelCode: string, channelOrderId: string): string {
  return ORDER + subjectOf({ channelCode, channelOrderId });
}

export function isOrder(name: string): boolean {
  return name.startsWith(ORDER);
}

/** The name of a caller's `Idempotency-Key`: a second name of an order, and a part of the name of every other write. */
export function keyName(caller: string, idempotencyKey: string): string {
  return `${encodeURIComponent(caller)}/${sha256(idempotencyKey).slice(0, 32)}`;
}

/** The two names of an order in one text, each percent-encoded: a `/` in one of them does not make it another order. */
export function subjectOf({
  channelCode,
  channelOrderId,
}: Pick<OrderDetails, 'channelCode' | 'channelOrderId'>): string {
  return `${encodeURIComponent(channelCode)}/${encodeURIComponent(channelOrderId)}`;
}

/** The URL where callers read the record of an order; undefined for other writes. */
export function locationOf({ details: { order } }: LedgerRecord): string | undefined {
  return order && `/v1/license-orders/${subjectOf(order)}`;
}

/** The enterprises that the items of an order name, sorted, each once; '' where an item names none. */
export function enterprisesOf({
  ordered,
  enterprises,
}: Pick<OrderDetails, 'ordered' | 'enterprises'>): readonly string[] {
  return (
    enterprises ?? [...new Set(ordered.map(({ enterpriseGlobalId }) => enterpriseGlobalId ?? ''))].sort()
  );
}

/** Returns the details without what only the sending of a scheduled order needs: it may be large, and contain passwords of products. */
export function withoutScheduled(details: Details): Details {
  if (!details.order?.scheduled) return details;
  const { scheduled: _, ...order } = details.order;
  return { ...details, order };
}

/**
 * Returns the details that a record keeps in that state. It loses the data of its schedule when the order is sent. When the order is settled, it
 * keeps of its search data the customers, by whom the enterprises of its assets are found. A refused, unsent or cancelled order also loses its
 * items, so that no caller fills the database with orders that cost nothing.
 */
export function keptDetails(details: Details, state: State): Details {
  if (state === 'scheduled') return details;
  const sent = withoutScheduled(details);
  if (!sent.order || unsettled.includes(state)) return sent;
  const { search: { customers } = {}, ...order } = sent.order;
  if (!['rejected', 'not_sent', 'cancelled'].includes(state))
    return { ...sent, order: { ...order, ...(customers && { search: { customers } }) } };
  return { ...sent, order: { ...order, ordered: [], enterprises: enterprisesOf(order) } };
}

const DAY_MS = 24 * 3_600_000;
/** How long a repeated write gets the response of the first. */
const WRITE_MS = 7 * DAY_MS;
/** How long the number of an order that was placed or settled is kept. */
const ORDER_MS = 400 * DAY_MS;

/** How long the record of an order, or of another write, is kept in that state, in ms; undefined: until it is settled. */
export function keptFor(state: State, ofOrder: boolean): number | undefined {
  if (ofOrder && unsettled.includes(state)) return undefined;
  return ofOrder && ['succeeded', 'not_placed'].includes(state) ? ORDER_MS : WRITE_MS;
}
