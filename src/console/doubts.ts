import { Injectable } from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import type { OrderQuery } from '../order-ledger/order-ledger-store.ts';
import { AttemptHistory } from '../reconciliation/attempt-history.ts';
import { PlatformSearch } from '../reconciliation/platform-search.ts';
import { ReconciliationSchedule } from '../reconciliation/schedule.ts';

/** More than one person can settle in a night. */
const MOST = 100;

/** Orders whose end is not known, as the console counts them. */
export interface OpenOrders {
  readonly inDoubt: { readonly count: number; readonly oldestMs: number };
  /** Those that the platform accepted so long ago that an operator may settle them. */
  readonly accepted: { readonly count: number; readonly oldestMs: number };
  /** Those of which a look found more licence orders than were ordered. */
  readonly placedTwice: number;
}

/** The orders that wait for an operator, with what is known of each. */
@Injectable()
export class DoubtedOrders {
  constructor(
    private readonly keeper: OrderLedgerKeeper,
    private readonly history: AttemptHistory,
    private readonly times: ReconciliationSchedule,
    private readonly platform: PlatformSearch,
    private readonly config: OrderStoreConfig,
  ) {}

  /** None where the order store does not answer. */
  async count(): Promise<OpenOrders> {
    try {
      const { inDoubt, accepted } = await this.keeper.store.waiting();
      const { overdue, records } = await this.#open();
      const looks = await Promise.all(records.map((record) => this.history.of(record)));
      return {
        inDoubt,
        accepted: { count: overdue.total, oldestMs: accepted.oldestMs },
        placedTwice: looks.filter((each) => each?.some(({ result }) => result === 'placed_twice')).length,
      };
    } catch {
      const none = { count: 0, oldestMs: 0 };
      return { inDoubt: none, accepted: none, placedTwice: 0 };
    }
  }

  /** The oldest first. Rejects where the order store does not answer. */
  async list(): Promise<object> {
    const { doubted, overdue, records } = await this.#open();
    const items = await Promise.all(records.map((record) => this.#show(record)));
    // A record that cannot be read is in the total, and not among the records.
    return {
      total: doubted.total + overdue.total,
      unread: doubted.unread + overdue.unread,
      items,
    };
  }

  async #open() {
    const [doubted, overdue] = await Promise.all([
      this.#oldest({ states: ['in_doubt', 'incomplete'] }),
      this.#oldest({ states: ['accepted'], until: Date.now() - this.config.acceptedAlertMs }),
    ]);
    return { doubted, overdue, records: [...doubted.records, ...overdue.records] };
  }

  async #oldest(query: OrderQuery) {
    const { total } = await this.keeper.store.list(query, 0, 1);
    const { records } = await this.keeper.store.list(query, Math.max(total - MOST, 0), MOST);
    return { total, records: records.toReversed(), unread: Math.min(total, MOST) - records.length };
  }

  async #show(record: LedgerRecord): Promise<object> {
    const { state, submittedAt, details } = record;
    const { caller, order } = details;
    return {
      channelCode: order?.channelCode,
      channelOrderId: order?.channelOrderId,
      state,
      caller,
      submittedAt,
      syncMode: order?.syncMode,
      items: order?.ordered,
      placed: order?.items,
      attempts: (await this.history.of(record)) ?? null,
      ...this.#next(record),
    };
  }

  /** When the gateway looks for it again, or why it does not. */
  #next({ state, submittedAt, details }: LedgerRecord): { nextAt: number | null; noMore: string | null } {
    const none = (noMore: string) => ({ nextAt: null, noMore });
    if (state === 'incomplete') return none('The platform has answered: it did not confirm every item.');
    if (!details.order?.search)
      return none('The gateway cannot look for it: it deletes, or its items name no enterprise, or several.');
    if (!this.platform.possible) return none('The gateway looks as the user `default`, and there is none.');
    return { nextAt: this.times.next(submittedAt, Date.now()), noMore: null };
  }
}
