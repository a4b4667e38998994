import { Injectable } from '@nestjs/common';
import { OrderConfig } from '../config/app-config.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { isSought, type LedgerRecord, sentAt } from '../order-ledger/ledger-record.ts';
import type { OrderQuery, WaitingOrders } from '../order-ledger/write-steps.ts';
import { AttemptStore } from '../reconciliation/attempt-store.ts';
import { PlatformSearch } from '../upstream/platform-search.ts';
import { ReconciliationSchedule } from '../reconciliation/schedule.ts';

/** One person cannot settle more in a night. */
const MAX_SHOWN = 100;

/** The orders that wait for an operator, with what is known of each. */
@Injectable()
export class DoubtedOrders {
  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly history: AttemptStore,
    private readonly times: ReconciliationSchedule,
    private readonly platform: PlatformSearch,
    private readonly config: OrderConfig,
  ) {}

  /** `accepted` counts only orders that an operator may settle by now. Rejects where the database cannot be read. */
  async count(): Promise<WaitingOrders> {
    const { inDoubt, accepted, scheduled } = await this.ledger.waiting();
    const { total } = await this.ledger.list(this.#acceptedLongAgo(), 0, 1);
    return { inDoubt, accepted: { count: total, oldestMs: accepted.oldestMs }, scheduled };
  }

  /** Counts the orders of which a search found more licence orders than were ordered. Rejects where the database cannot be read. */
  async placedTwice(): Promise<number> {
    const { records } = await this.#open();
    const all = await Promise.all(records.map((record) => this.history.attemptsFor(record)));
    return all.filter((attempts) => attempts.some(({ result }) => result === 'placed_twice')).length;
  }

  /** Lists the oldest first. Rejects where the database cannot be read. */
  async list(): Promise<object> {
    const { doubted, overdue, records } = await this.#open();
    const items = await Promise.all(records.map((record) => this.#show(record)));
    // A record that cannot be read counts in the total and is not among the records.
    return { total: doubted.total + overdue.total, unread: doubted.unread + overdue.unread, items };
  }

  async #open() {
    const [doubted, overdue] = await Promise.all([
      this.#oldest({ states: ['in_doubt', 'incomplete'] }),
      this.#oldest(this.#acceptedLongAgo()),
    ]);
    return { doubted, overdue, records: [...doubted.records, ...overdue.records] };
  }

  #acceptedLongAgo(): OrderQuery {
    return { states: ['accepted'], until: Date.now() - this.config.acceptedAlertMs };
  }

  async #oldest(query: OrderQuery) {
    const { total } = await this.ledger.list(query, 0, 1);
    const { records } = await this.ledger.list(query, Math.max(total - MAX_SHOWN, 0), MAX_SHOWN);
    return { total, records: records.toReversed(), unread: Math.min(total, MAX_SHOWN) - records.length };
  }

  async #show(record: LedgerRecord): Promise<object> {
    const { state, details } = record;
    const { caller, order } = details;
    return {
      channelCode: order?.channelCode,
      channelOrderId: order?.channelOrderId,
      state,
      caller,
      sentAt: sentAt(record),
      syncMode: order?.syncMode,
      items: order?.ordered,
      placed: order?.items,
      attempts: await this.history.attemptsFor(record).catch(() => null),
      ...this.#next(record),
    };
  }

  /** When the gateway looks for the order again, or why it does not. */
  #next(record: LedgerRecord): { nextAt: number | null; noMore: string | null } {
    const { state } = record;
    const none = (noMore: string) => ({ nextAt: null, noMore });
    if (!isSought(record) && state === 'incomplete')
      return none('The platform has answered: it did not confirm every item.');
    if (!isSought(record))
      return none('The gateway cannot look for it: it deletes, or an item names no enterprise.');
    if (!this.platform.possible)
      return none('The gateway looks as a user of the users file, and there is none.');
    return { nextAt: this.times.next(sentAt(record), Date.now()), noMore: null };
  }
}
