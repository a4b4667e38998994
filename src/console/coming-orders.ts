import { Injectable } from '@nestjs/common';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import { DueOrders } from '../order/due-orders.ts';

/** One person cannot look at more. */
const MAX_SHOWN = 100;

/** Lists the scheduled orders, the first due first, and says why an order is late. */
@Injectable()
export class ComingOrders {
  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly due: DueOrders,
    private readonly maintenance: Maintenance,
  ) {}

  /** Rejects where the database cannot be read. */
  async list(): Promise<object> {
    const query = { states: ['scheduled'], byTime: true } as const;
    const { records, total } = await this.ledger.list(query, 0, MAX_SHOWN);
    const unread = Math.min(total, MAX_SHOWN) - records.length;
    return { total, unread, items: records.map((record) => this.#show(record)) };
  }

  #show(record: LedgerRecord): object {
    const { submittedAt, details } = record;
    const { channelCode, channelOrderId, ordered, notBefore = 0 } = details.order ?? {};
    return {
      channelCode,
      channelOrderId,
      caller: details.caller,
      submittedAt,
      notBefore,
      items: ordered,
      waits: notBefore > this.maintenance.now ? null : this.#why(record),
    };
  }

  #why(record: LedgerRecord): string {
    const stopped = this.maintenance.refusal('orders')?.body.detail;
    return stopped ?? this.due.hindranceOf(record) ?? 'It is on its way, or another replica tries it.';
  }
}
