import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { isMaintenance } from '../maintenance/state/maintenance.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { itemsByEnterprise } from '../order-ledger/items-by-enterprise.ts';
import {
  type Deletion,
  isSought,
  type LedgerRecord,
  type OrderDetails,
  type PlacedItem,
  sentAt,
} from '../order-ledger/ledger-record.ts';
import {
  type Evidence,
  evidenceOf,
  type FoundOrders,
  isGone,
  isInNoLock,
  mayBeLent,
  ordersIn,
} from '../order-ledger/order-evidence.ts';
import { Log } from '../observability/log.ts';
import type { AttemptOutcome } from '../observability/metric-tables.ts';
import { Metrics } from '../observability/metrics.ts';
import { inOwnTrace } from '../observability/tracing.ts';
import { ownCallOf } from '../request/make-call.ts';
import {
  type Holdings,
  NoUser,
  PlatformSearch,
  SearchedAssets,
  type SearchTerms,
} from '../upstream/platform-search.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { AttemptStore, type PastAttempt } from './attempt-store.ts';

type Attempt = Pick<PastAttempt, 'result'> & Partial<PastAttempt>;

/** `known` has the lists and contents that were read before a wait of the same attempt. */
type AttemptTerms = Required<Pick<SearchTerms, 'abandon' | 'known'>> & {
  /** The clock of the database: the order of attempts decides, and those of replicas differ. */
  readonly now: () => number;
};

/** The most waits of one attempt. The attempts of other orders wait too, because they would ask the same platform. */
const MAX_WAITS = 10;
const NOT_NEEDED: Attempt = { result: 'not_needed' };

/**
 * Searches the platform for an order that is in doubt, incomplete, or accepted for later. The order succeeded if the platform shows every purchase
 * and, in two attempts, nothing that the deletions name and the gateway saw before it sent the order. If the platform shows more licence orders than
 * were ordered, an alarm tells the operator. Finding nothing proves nothing, because the order may appear later. Licence orders that are older than
 * the order do not count.
 */
@Injectable()
export class OrderReconciler {
  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly platform: PlatformSearch,
    private readonly history: AttemptStore,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  /**
   * `write` is the name of the record. Resolves to whether the order is settled now. If the platform names a wait, this tries again after it.
   * Fails only if a maintenance stops the search, or if the database has not kept what it found. Such an attempt does not count.
   */
  async reconcile(write: string, { abandon, now }: Pick<AttemptTerms, 'abandon' | 'now'>): Promise<boolean> {
    const terms = { abandon, now, known: new SearchedAssets() };
    for (let waits = 0; waits <= MAX_WAITS && !abandon.aborted; waits++) {
      const { result, waitS } = await this.#try(write, terms, waits === MAX_WAITS);
      if (waitS === 0) return result === 'settled';
      await sleep(waitS * 1_000, undefined, { signal: abandon, ref: false }).catch(() => undefined);
    }
    return false;
  }

  /** `waitS`: for how many seconds the platform wants to be left alone. The attempt is kept if it does not go on after the wait. */
  async #try(
    write: string,
    terms: AttemptTerms,
    isLast: boolean,
  ): Promise<{ result: AttemptOutcome; waitS: number }> {
    const { abandon } = terms;
    let waitS = 0;
    let before: LedgerRecord | undefined;
    let attempt: Attempt;
    try {
      before = await this.ledger.read(write);
      const record = before;
      attempt = record ? await inOwnTrace('reconciliation', () => this.#attempt(record, terms)) : NOT_NEEDED;
    } catch (error) {
      if (isMaintenance(error)) throw error;
      const result = error instanceof NoUser ? 'no_user' : 'failed';
      const reason = error instanceof Error ? error.name : typeof error;
      if (!abandon.aborted)
        this.log.warn({ event: 'reconciliation-failed', write, reason }, 'The search for an order failed');
      const failure = error instanceof UpstreamFailure ? error.kind : reason;
      attempt = { result, failure, ...(!terms.known.hasList && { isBlind: true }) };
      waitS = namedWait(error);
    }
    const { result } = attempt;
    this.metrics.count('gateway_order_reconciliation_attempts_total', { result });
    if (before && result !== 'not_needed' && !abandon.aborted && (waitS === 0 || isLast))
      await this.history.add(before, { at: terms.now(), licenseOrders: [], ...attempt });
    return { result, waitS };
  }

  async #attempt(before: LedgerRecord, terms: AttemptTerms): Promise<Attempt> {
    const write = before.name;
    const { order } = before.details;
    if (!order || !isSought(before) || !this.platform.possible) return NOT_NEEDED;
    const places = await this.#places(order, sentAt(before), terms);
    // An enterprise that is not known may have what was bought, or what is to be deleted.
    if (!places) return { result: 'not_found' };
    const licenseOrders = places.flatMap(({ found }) => [...found.keys()]);
    if (places.some(({ evidence }) => evidence.kind === 'twice')) {
      const items = order.ordered.filter(({ orderType }) => orderType === 'new_buy').length;
      this.log.error(
        { event: 'order-placed-twice', write, items, licenseOrders: licenseOrders.join(' ') },
        'An order stands at the platform more than once',
      );
      return { result: 'placed_twice', licenseOrders };
    }
    const open = await this.#open(before, order, places, terms);
    if (open) return { result: open, licenseOrders };
    // The attempt may have taken minutes. Meanwhile an operator may have settled the order, and a caller sent its number again.
    const now = await this.ledger.read(write);
    if (!now || !isSought(now) || now.submittedAt !== before.submittedAt) return NOT_NEEDED;
    const { caller, order: known } = now.details;
    const placed = placedItems(known?.items ?? [], places);
    // The platform named the licence orders in its response, so other licence orders do not belong to this order.
    if (!placed) return { result: 'not_found', licenseOrders };
    const moved = await this.ledger.move({
      name: write,
      by: 'reconciliation',
      to: 'succeeded',
      submittedAt: now.submittedAt,
      details: { caller, order: { ...order, items: placed, reason: reasonOf(placed, places) } },
    });
    if (moved.kind !== 'moved') return NOT_NEEDED;
    this.log.warn({ event: 'order-found', write, was: before.state }, 'An order was found at the platform');
    return { result: 'settled', licenseOrders };
  }

  /** Returns why what the platform shows does not settle the order; undefined where it does. */
  async #open(
    before: LedgerRecord,
    order: OrderDetails,
    places: readonly Place[],
    terms: AttemptTerms,
  ): Promise<AttemptOutcome | undefined> {
    const isAnyFound = places.some(({ found }) => found.size > 0);
    if (!places.every(({ evidence }) => evidence.kind === 'all'))
      return isAnyFound ? 'incomplete' : 'not_found';
    const deletions = places.flatMap((place) => place.deletions.map((deletion) => ({ deletion, place })));
    if (deletions.length === 0) return undefined;
    // The platform may name another enterprise for the customer by now.
    const wasSeen = ({ deletion: { seen, seenIn }, place }: (typeof deletions)[number]) =>
      seen && (seenIn ?? place.enterprise) === place.enterprise;
    if (!deletions.every(wasSeen)) return 'not_seen';
    const isLeft = ({ deletion, place }: (typeof deletions)[number]) =>
      !isGone(deletion, place.holdings, place.found);
    const left = deletions.filter(isLeft);
    if (left.length > 0) {
      if (left.some(({ place }) => !isReadable(place.holdings))) return 'unreadable';
      return isAnyFound ? 'incomplete' : 'not_found';
    }
    for (const place of places) {
      const sought = place.deletions.filter((deletion) => mayBeLent(deletion, place.holdings));
      if (sought.length === 0) continue;
      const { user } = order.search ?? {};
      const locks = await this.platform.lentLocks(place.enterprise, { ...terms, user });
      if (sought.every((deletion) => isInNoLock(deletion, locks, place.found))) continue;
      return isReadable(locks) ? 'not_found' : 'unreadable';
    }
    // A list may lack something for a moment, so what is gone has to be gone twice, and not there in between. An attempt to which a list has
    // come may have seen it, even if it failed later.
    const attempts = await this.history.attemptsFor(before).catch(() => []);
    const last = attempts.findLast(({ isBlind }) => !isBlind);
    return last?.result === 'gone_once' ? undefined : 'gone_once';
  }

  /** Returns the enterprises of the order with what they have; undefined where one of them is not known. */
  async #places(
    order: OrderDetails,
    sent: number,
    { abandon, known }: AttemptTerms,
  ): Promise<Place[] | undefined> {
    const items = await itemsByEnterprise(order, order.ordered, (customer) =>
      // Each call asks whether a maintenance stops it.
      this.platform.enterpriseOf(ownCallOf('reconciliation', { abandon }), order.channelCode, customer),
    );
    if (!items) return undefined;
    const places: Place[] = [];
    const noted = { ...order, isShared: await this.ledger.isShared(order) };
    const { purchases, deletions, user } = order.search ?? {};
    for (const [enterprise, own] of items) {
      const bought = own
        .filter(({ orderType }) => orderType === 'new_buy')
        .map(({ sequence }) => ({ sequence, bought: purchases?.[sequence] }));
      const deleted = own.flatMap(({ sequence }) => deletions?.[sequence] ?? []);
      // A purchase may be on a lock that only the member center lists, and so may be what is gone from the list of the order module.
      const isEnough = (listed: Holdings) => {
        const orders = ordersIn(listed, noted, sent);
        const { kind } = evidenceOf(bought, orders);
        if (kind === 'none' || kind === 'part') return this.platform.listsAll;
        return deleted.length === 0 || !deleted.every((each) => isGone(each, listed, orders));
      };
      const holdings = await this.platform.holdings(enterprise, { abandon, user, known, isEnough });
      const found = ordersIn(holdings, noted, sent);
      places.push({
        enterprise,
        holdings,
        found,
        bought: bought.map(({ sequence }) => sequence),
        evidence: evidenceOf(bought, found),
        deletions: deleted,
      });
    }
    return places;
  }
}

/** An enterprise of an order: the assets that it has, and the part of the order that is for it. */
interface Place {
  readonly enterprise: string;
  readonly holdings: Holdings;
  readonly found: FoundOrders;
  /** The sequences of the purchases. */
  readonly bought: readonly number[];
  readonly evidence: Evidence;
  readonly deletions: readonly Deletion[];
}

function isReadable({ isWhole, isListedOnly, assets }: Holdings): boolean {
  return isWhole && !isListedOnly && assets.every((asset) => asset.isWhole);
}

/**
 * Returns the licence orders of the items: those that the platform named in its response, and those that were found and certainly belong to an item.
 * Undefined where a licence order that the platform named is not among those that were found.
 */
function placedItems(named: readonly PlacedItem[], places: readonly Place[]): PlacedItem[] | undefined {
  const items = new Map(named.map((item) => [item.sequence, item]));
  for (const { bought, found, evidence } of places) {
    for (const sequence of bought) {
      const item = items.get(sequence);
      if (item && !found.has(item.licenseOrderId)) return undefined;
      const licenseOrderId = evidence.kind === 'all' ? evidence.placed.get(sequence) : undefined;
      if (item || licenseOrderId === undefined) continue;
      const instances = found.get(licenseOrderId) ?? [];
      const customerId = instances.findLast((instance) => instance.customerId !== null)?.customerId ?? null;
      items.set(sequence, { sequence, licenseOrderId, customerId });
    }
  }
  return [...items.values()].toSorted((one, other) => one.sequence - other.sequence);
}

function reasonOf(placed: readonly PlacedItem[], places: readonly Place[]): string {
  const bought = places.flatMap((place) => place.bought);
  if (bought.length === 0) return 'what it deletes is gone at the platform';
  const known = new Set(placed.map(({ sequence }) => sequence));
  if (bought.every((sequence) => known.has(sequence))) return 'found at the platform';
  const found = places.flatMap((place) => [...place.found.keys()]);
  return `found at the platform, as licence orders ${found.join(', ')} in no particular order`;
}

function namedWait(error: unknown): number {
  if (!(error instanceof UpstreamFailure)) return 0;
  const { kind, details } = error;
  return kind === 'unavailable' || details.isPaused ? (details.retryAfter ?? 0) : 0;
}
