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

/** Orders whose end is not known, as the console counts them. Undefined counts: the order store does not answer. */
export interface OpenOrders {
  readonly inDoubt: { readonly count: number | undefined; readonly oldestMs: number };
  /** Those that the platform accepted so long ago that an operator may settle them. */
  readonly accepted: { readonly count: number | undefined; readonly oldestMs: number };
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

  async count(): Promise<OpenOrders> {
    const unknown = { count: undefined, oldestMs: 0 };
    try {
      const { inDoubt, accepted } = await this.keeper.store.waiting();
      const { total } = await this.keeper.store.list(this.#overdue(), 0, 1);
      return { inDoubt, accepted: { count: total, oldestMs: total > 0 ? accepted.oldestMs : 0 } };
    } catch {
      return { inDoubt: unknown, accepted: unknown };
    }
  }

  /** The oldest first. Rejects where the order store does not answer. */
  async list(): Promise<object> {
    const [doubted, accepted] = await Promise.all([
      this.#oldest({ states: ['in_doubt', 'incomplete'] }),
      this.#oldest(this.#overdue()),
    ]);
    const records = [...doubted.records, ...accepted.records];
    const items = await Promise.all(records.map((record) => this.#show(record)));
    // A record that cannot be read is in the total, and not among the records.
    return {
      total: doubted.total + accepted.total,
      unread: doubted.unread + accepted.unread,
      items,
    };
  }

  #overdue(): OrderQuery {
    return { states: ['accepted'], until: Date.now() - this.config.acceptedAlertMs };
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
      ...{ state, caller, submittedAt },
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
