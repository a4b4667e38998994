import { Injectable } from '@nestjs/common';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import { locationOf } from '../order-ledger/ledger-responses.ts';
import { orderName, type OrderQuery } from '../order-ledger/order-ledger-store.ts';
import { isVisible } from '../tenancy/visible-orders.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext, Grants } from '../upstream/call-context.ts';
import type {
  ListOrdersQuery,
  OrderPageDto,
  OrderPath,
  OrderRecordDto,
  SettleOrderDto,
} from './dto/order-record.dto.ts';
import { toOrderRecord } from './order-record.mapper.ts';
import { PageTurns } from './page-turns.ts';

/** For this time after the send the platform may still carry the order out, for example from a queue. */
const NOT_PLACED_AFTER_MS = 15 * 60_000;

/** Reads and settles the gateway's own records of orders, without calls to the platform. */
@Injectable()
export class OrderRecordsService {
  constructor(
    private readonly ledger: OrderLedgerKeeper,
    private readonly turns: PageTurns,
  ) {}

  async getOrder(path: OrderPath, grants: Grants): Promise<OrderRecordDto> {
    return toOrderRecord(await this.find(path, grants));
  }

  /** The orders that the caller may see, newest first. It ends when the caller hangs up. */
  async listOrders(
    {
      state,
      channelCode,
      enterpriseGlobalId,
      submittedAfter,
      submittedBefore,
      page,
      pageSize,
    }: ListOrdersQuery,
    { caller, abandon }: CallContext,
  ): Promise<OrderPageDto> {
    const { channels, enterprises } = caller.grants;
    const query: OrderQuery = {
      states: state && [state],
      channels: channelCode === undefined ? only(channels) : new Set([channelCode]),
      within: only(enterprises),
      enterprise: enterpriseGlobalId,
      from: millisecond(submittedAfter),
      until: millisecond(submittedBefore),
    };
    const { records, total } = await this.turns.take(caller.name, abandon, () =>
      this.ledger.store.list(query, (page - 1) * pageSize, pageSize, abandon),
    );
    return {
      items: records.map(toOrderRecord),
      page,
      pageSize,
      total,
      totalPages: Math.ceil(total / pageSize),
    };
  }

  /** Settles an order with an unknown outcome, with the result that an operator found. */
  async settleOrder(
    path: OrderPath,
    { as, reason, items }: SettleOrderDto,
    grants: Grants,
  ): Promise<OrderRecordDto> {
    const record = await this.find(path, grants);
    const { name, details } = record;
    if (record.state !== 'in_doubt' && record.state !== 'incomplete') return settledAlready(record, as);
    const order = details.order && {
      ...details.order,
      reason,
      ...(items && { items: items.map((item) => ({ ...item, customerId: item.customerId ?? null })) }),
    };
    const moved = await this.ledger.store.move({
      name,
      by: 'operator',
      to: as,
      details: { ...details, order },
      minAgeMs: as === 'not_placed' ? NOT_PLACED_AFTER_MS : 0,
    });
    switch (moved.kind) {
      case 'moved':
        return toOrderRecord(moved.record);
      case 'refused':
        return settledAlready(moved.record, as);
      case 'missing':
        throw new ProblemException('order-not-found');
      case 'early':
        throw new ProblemException('order-not-settleable', {
          retryable: true,
          detail: 'An order may be settled as not_placed 15 minutes after it was sent, not before.',
          retryAfter: Math.ceil(moved.leftMs / 1_000),
          location: locationOf(record),
        });
    }
  }

  /** For the caller an order of another enterprise does not exist. */
  async find({ channelCode, channelOrderId }: OrderPath, grants: Grants): Promise<LedgerRecord> {
    const record = await this.ledger.store.read(orderName(channelCode, channelOrderId));
    if (!record || !isVisible(record, grants)) throw new ProblemException('order-not-found');
    return record;
  }
}

/** The granted ids; undefined where all are granted. */
function only(granted: ReadonlySet<string>): ReadonlySet<string> | undefined {
  return granted.has('*') ? undefined : granted;
}

function millisecond(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}

/** The same settlement again changes nothing; another one is refused. */
function settledAlready(record: LedgerRecord, as: SettleOrderDto['as']): OrderRecordDto {
  if (record.state === as) return toOrderRecord(record);
  throw new ProblemException('order-not-settleable', {
    detail: record.state === 'sending' ? 'The order is on its way.' : `The order is ${record.state} already.`,
    ...(record.state === 'sending' && { retryable: true, retryAfter: 1 }),
    location: locationOf(record),
  });
}
