import { Injectable } from '@nestjs/common';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import { AttemptHistory } from '../reconciliation/attempt-history.ts';
import { PlatformSearch } from '../reconciliation/platform-search.ts';
import { ReconciliationSchedule } from '../reconciliation/schedule.ts';

/** More than one person can settle in a night. */
const MOST = 100;

/** The orders that wait for an operator, with what is known of each. */
@Injectable()
export class DoubtedOrders {
  constructor(
    private readonly keeper: OrderLedgerKeeper,
    private readonly history: AttemptHistory,
    private readonly times: ReconciliationSchedule,
    private readonly platform: PlatformSearch,
  ) {}

  /** Undefined where the order store does not answer. */
  async count(): Promise<{ count: number | undefined; oldestMs: number }> {
    return this.keeper.store.doubts().catch(() => ({ count: undefined, oldestMs: 0 }));
  }

  /** The oldest first. Rejects where the order store does not answer. */
  async list(): Promise<object> {
    const query = { states: ['in_doubt', 'incomplete'] } as const;
    const { total } = await this.keeper.store.list(query, 0, 1);
    const { records } = await this.keeper.store.list(query, Math.max(total - MOST, 0), MOST);
    const items = await Promise.all(records.toReversed().map((record) => this.#show(record)));
    // A record that cannot be read is in the total, and not among the records.
    return { total, items };
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

  /** When the gateway looks for it again, or why it does not. Only orders in doubt are looked for. */
  #next({ state, submittedAt, details }: LedgerRecord): { nextAt: number | null; noMore: string | null } {
    const none = (noMore: string) => ({ nextAt: null, noMore });
    if (state === 'incomplete') return none('The platform has answered: it did not confirm every item.');
    if (!details.order?.search)
      return none('The gateway cannot look for it: it deletes, or its items name no enterprise, or several.');
    if (!this.platform.possible) return none('The gateway looks as the user `default`, and there is none.');
    const nextAt = this.times.next(submittedAt, Date.now());
    return nextAt === undefined
      ? none('The gateway has stopped looking after a day.')
      : { nextAt, noMore: null };
  }
}
