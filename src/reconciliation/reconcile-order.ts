import { Injectable } from '@nestjs/common';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import {
  type Deletion,
  isSought,
  type LedgerRecord,
  type OrderDetails,
  type PlacedItem,
  type SoughtCustomer,
} from '../order-ledger/ledger-record.ts';
import { Log } from '../observability/log.ts';
import type { AttemptOutcome } from '../observability/metric-tables.ts';
import { Metrics } from '../observability/metrics.ts';
import { inOwnTrace } from '../observability/tracing.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { type Instance, isFrom, isMeantBy } from '../upstream/wire/instances.ts';
import { AttemptHistory, type PastAttempt } from './attempt-history.ts';
import { type Holding, PlatformSearch } from './platform-search.ts';

type Attempt = Pick<PastAttempt, 'result'> & Partial<PastAttempt>;

const NOT_NEEDED: Attempt = { result: 'not_needed' };

/**
 * Searches the platform for an order in doubt, or accepted for later. If it has a licence order for every purchase, and nothing any more of
 * what the deletions name, the order succeeded. If it has more, an alarm tells the operator. Finding nothing proves nothing: the order may
 * appear later. Licence orders that are older than the order do not count.
 */
@Injectable()
export class OrderReconciler {
  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly platform: PlatformSearch,
    private readonly history: AttemptHistory,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  /** Never fails. `write` is the name of the record. */
  async reconcile(write: string, abandon: AbortSignal): Promise<AttemptOutcome> {
    let before: LedgerRecord | undefined;
    let attempt: Attempt;
    try {
      before = await this.ledger.read(write);
      const record = before;
      attempt = record
        ? await inOwnTrace('reconciliation', () => this.#attempt(record, abandon))
        : NOT_NEEDED;
    } catch (error) {
      const reason = error instanceof Error ? error.name : typeof error;
      if (!abandon.aborted)
        this.log.warn({ event: 'reconciliation-failed', write, reason }, 'The search for an order failed');
      attempt = { result: 'failed', failure: error instanceof UpstreamFailure ? error.kind : reason };
    }
    const { result } = attempt;
    this.metrics.count('gateway_order_reconciliation_attempts_total', { result });
    if (before && result !== 'not_needed' && !abandon.aborted)
      await this.history.add(before, { at: Date.now(), licenseOrders: [], ...attempt });
    return result;
  }

  async #attempt(before: LedgerRecord, abandon: AbortSignal): Promise<Attempt> {
    const write = before.name;
    const { order } = before.details;
    if (!order || !isSought(before) || !this.platform.possible) return NOT_NEEDED;
    const places = await this.#places(order, abandon);
    // An enterprise that is not known may have what was bought, or what is to be deleted.
    if (!places) return { result: 'not_found' };
    for (const place of places) place.found = notOlder(ordersIn(place.holdings, order), before.submittedAt);
    const found: Found = new Map(places.flatMap((place) => [...place.found]));
    const licenseOrders = [...found.keys()];
    const bought = order.ordered.filter(({ orderType }) => orderType === 'new_buy');
    if (places.some((place) => place.found.size > place.bought)) {
      this.log.error(
        { event: 'order-placed-twice', write, items: bought.length, licenseOrders: licenseOrders.join(' ') },
        'An order stands at the platform more than once',
      );
      return { result: 'placed_twice', licenseOrders };
    }
    if (places.some((place) => place.found.size < place.bought))
      return { result: found.size === 0 ? 'not_found' : 'incomplete', licenseOrders };
    const deletions = Object.values(order.search?.deletions ?? {}).flat();
    const holdings = places.flatMap((place) => place.holdings);
    if (!deletions.every((deletion) => isGone(deletion, holdings, order)))
      return { result: bought.length > 0 ? 'incomplete' : 'not_found', licenseOrders };
    // The attempt may have taken minutes. Meanwhile an operator may have settled the order, and a caller sent its number again.
    const now = await this.ledger.read(write);
    if (!now || !isSought(now) || now.submittedAt !== before.submittedAt) return NOT_NEEDED;
    const { caller, order: known } = now.details;
    // The platform named the licence orders when it accepted the order, so others do not belong to it.
    const accepted = known?.items ?? [];
    const sequences = new Set(bought.map(({ sequence }) => sequence));
    if (!accepted.every((item) => !sequences.has(item.sequence) || found.has(item.licenseOrderId)))
      return { result: 'not_found', licenseOrders };
    const placed = accepted.length > 0 ? accepted : placedItems(order, found);
    const reason = bought.length > 0 ? reasonOf(placed, found) : 'what it deletes is gone at the platform';
    const moved = await this.ledger.move({
      name: write,
      by: 'reconciliation',
      to: 'succeeded',
      details: { caller, order: { ...order, items: placed, reason } },
    });
    if (moved.kind !== 'moved') return NOT_NEEDED;
    this.log.warn({ event: 'order-found', write, was: before.state }, 'An order was found at the platform');
    return { result: 'settled', licenseOrders };
  }

  /** The enterprises of the order with what they have; undefined where one of them is not known. */
  async #places(order: OrderDetails, abandon: AbortSignal): Promise<Place[] | undefined> {
    const places = new Map<string, Place>();
    const known = new Map<string, Promise<string | undefined>>();
    for (const { sequence, orderType, enterpriseGlobalId } of order.ordered) {
      const customer = this.#customerOf(order, sequence);
      const key = JSON.stringify(customer);
      if (enterpriseGlobalId === null && customer && !known.has(key))
        known.set(key, this.platform.enterpriseOf(order.channelCode, customer, abandon));
      const enterprise = enterpriseGlobalId ?? (await known.get(key));
      if (enterprise === undefined) return undefined;
      const place = places.get(enterprise) ?? { bought: 0, holdings: [], found: new Map() };
      places.set(enterprise, place);
      if (orderType === 'new_buy') place.bought++;
    }
    for (const [enterprise, place] of places)
      place.holdings = await this.platform.holdings(enterprise, abandon);
    return [...places.values()];
  }

  /** The customer that the order names, or the platform when it accepted the order; undefined where neither did. */
  #customerOf({ search, items }: OrderDetails, sequence: number): SoughtCustomer | undefined {
    const { customerId, channelCustomerId } = search?.customers?.[sequence] ?? {};
    const named = items.find((item) => item.sequence === sequence)?.customerId ?? undefined;
    if (customerId === undefined && named === undefined && channelCustomerId === undefined) return undefined;
    return { customerId: customerId ?? named, channelCustomerId };
  }
}

/** An enterprise of an order: how many purchases are for it, and what it has. */
interface Place {
  bought: number;
  holdings: readonly Holding[];
  found: Found;
}

/** What the platform has of a channel's order, by the ids of the licence orders. */
type Found = ReadonlyMap<string, readonly Instance[]>;

function ordersIn(holdings: readonly Holding[], order: OrderDetails): Found {
  const placed = holdings.flatMap(({ contents }) => contents.filter((each) => isFrom(each, order)));
  const orders = Map.groupBy(placed, ({ licenseOrderId }) => licenseOrderId ?? '');
  orders.delete('');
  return orders;
}

/** Whether nothing is there any more of what the deletion names. What cannot be read may be that; what the order itself bought is not. */
function isGone(
  { assetNums, licenseOrderId, named }: Deletion,
  holdings: readonly Holding[],
  order: OrderDetails,
): boolean {
  const assets = holdings.filter(({ assetNum }) => assetNum === null || assetNums.includes(assetNum));
  if (named === undefined && licenseOrderId === undefined) return assets.length === 0;
  // A package without a number cannot be told from others.
  if (named?.length === 0) return false;
  const isLeft = (each: Instance) => {
    if (isFrom(each, order)) return false;
    if (isUnreadable(each)) return true;
    return (
      (licenseOrderId === undefined || each.licenseOrderId === licenseOrderId) &&
      (named === undefined || named.some((name) => isMeantBy(each, name)))
    );
  };
  return assets.every(({ contents, isWhole }) => isWhole && !contents.some(isLeft));
}

function isUnreadable({ licenseOrderId, product }: Instance): boolean {
  const names = product ? [product.productUri, product.gmsPid, product.appKey] : [''];
  return licenseOrderId === null || names.every((name) => name === null);
}

/** How far the platform's clock may be behind ours. Too small leaves an order in doubt; too large takes an older order for it. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Leaves out licence orders of which anything is older than the order, and those without a time. */
function notOlder(found: Found, submittedAt: number): Found {
  return new Map(
    [...found].filter(([, instances]) => {
      const times = instances.flatMap(({ createdAt }) => createdAt ?? []);
      return times.length > 0 && times.every((time) => Date.parse(time) >= submittedAt - CLOCK_TOLERANCE_MS);
    }),
  );
}

/** The platform does not say to which item a licence order belongs, so it is known only for a single one. */
function placedItems({ ordered }: OrderDetails, found: Found): PlacedItem[] {
  const [only, ...others] = found;
  const [item] = ordered;
  if (!only || !item || others.length > 0 || ordered.length > 1) return [];
  const [licenseOrderId, instances] = only;
  const customerId = instances.findLast((instance) => instance.customerId !== null)?.customerId ?? null;
  return [{ sequence: item.sequence, licenseOrderId, customerId }];
}

function reasonOf(placed: readonly PlacedItem[], found: Found): string {
  if (placed.length > 0) return 'found at the platform';
  return `found at the platform, as licence orders ${[...found.keys()].join(', ')} in no particular order`;
}
