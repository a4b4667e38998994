import { Injectable } from '@nestjs/common';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import type { OrderSearch, LedgerRecord, PlacedItem, State } from '../order-ledger/ledger-record.ts';
import { Log } from '../observability/log.ts';
import type { AttemptOutcome } from '../observability/metric-tables.ts';
import { Metrics } from '../observability/metrics.ts';
import { inOwnTrace } from '../observability/tracing.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { AttemptHistory, type PastAttempt } from './attempt-history.ts';
import { type SearchResult, PlatformSearch } from './platform-search.ts';

type Attempt = Pick<PastAttempt, 'result'> & Partial<PastAttempt>;

const NOT_NEEDED: Attempt = { result: 'not_needed' };

/**
 * Searches the platform for an order in doubt. If it has a licence order for every item, the order succeeded. If it has more, an alarm
 * tells the operator. Finding nothing proves nothing: the order may appear later. Licence orders that are older than the order do not count.
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
    if (!isOpen(before) || !order?.search || !this.platform.possible) return NOT_NEEDED;
    const { enterpriseGlobalId, items } = order.search;
    const all = await this.platform.find(order, enterpriseGlobalId, abandon);
    const found = notOlder(all, before.submittedAt);
    const licenseOrders = [...found.keys()];
    if (found.size === 0) return { result: 'not_found' };
    if (found.size > items) {
      this.log.error(
        { event: 'order-placed-twice', write, items, licenseOrders: licenseOrders.join(' ') },
        'An order stands at the platform more than once',
      );
      return { result: 'placed_twice', licenseOrders };
    }
    if (found.size < items) return { result: 'incomplete', licenseOrders };
    // The attempt may have taken minutes. Meanwhile an operator may have settled the order, and a caller sent its number again.
    const now = await this.ledger.read(write);
    if (!isOpen(now) || now.submittedAt !== before.submittedAt) return NOT_NEEDED;
    const { caller, order: known } = now.details;
    // The platform named the licence orders when it accepted the order, so others do not belong to it.
    const accepted = known?.items ?? [];
    if (!accepted.every(({ licenseOrderId }) => found.has(licenseOrderId)))
      return { result: 'not_found', licenseOrders };
    const placed = accepted.length > 0 ? accepted : placedItems(order.search, found);
    const details = { caller, order: { ...order, items: placed, reason: reasonOf(placed, found) } };
    const moved = await this.ledger.move({
      name: write,
      by: 'reconciliation',
      to: 'succeeded',
      details,
    });
    if (moved.kind !== 'moved') return NOT_NEEDED;
    this.log.warn({ event: 'order-found', write, was: before.state }, 'An order was found at the platform');
    return { result: 'settled', licenseOrders };
  }
}

const OPEN: readonly State[] = ['in_doubt', 'accepted'];

function isOpen(record: LedgerRecord | undefined): record is LedgerRecord {
  return record !== undefined && OPEN.includes(record.state);
}

/** How far the platform's clock may be behind ours. Too small leaves an order in doubt; too large takes an older order for it. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Leaves out licence orders of which anything is older than the order, and those without a time. */
function notOlder(found: SearchResult, submittedAt: number): SearchResult {
  return new Map(
    [...found].filter(([, instances]) => {
      const times = instances.flatMap(({ createdAt }) => createdAt ?? []);
      return times.length > 0 && times.every((time) => Date.parse(time) >= submittedAt - CLOCK_TOLERANCE_MS);
    }),
  );
}

/** The platform does not say to which item a licence order belongs, so it is known only for a single one. */
function placedItems({ sequences }: OrderSearch, found: SearchResult): PlacedItem[] {
  const [only, ...others] = found;
  if (!only || others.length > 0) return [];
  const [licenseOrderId, instances] = only;
  const customerId = instances.findLast((instance) => instance.customerId !== null)?.customerId ?? null;
  return [{ sequence: sequences?.[0] ?? 1, licenseOrderId, customerId }];
}

function reasonOf(placed: readonly PlacedItem[], found: SearchResult): string {
  if (placed.length > 0) return 'found at the platform';
  return `found at the platform, as licence orders ${[...found.keys()].join(', ')} in no particular order`;
}
