import { Injectable } from '@nestjs/common';
import { locationOf, problemFor } from '../order-ledger/ledger-responses.ts';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
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

/** So long after the send somebody may still carry it out: a late answer, a queue of the platform. */
const NOT_PLACED_AFTER_MS = 15 * 60_000;

/** What became of orders: the gateway's own records. The platform is not asked. */
@Injectable()
export class OrderRecordsService {
  constructor(private readonly ledger: OrderLedgerKeeper) {}

  async getOrder(path: OrderPath, grants: Grants): Promise<OrderRecordDto> {
    return toOrderRecord(await this.#find(path, grants));
  }

  /** Newest first, of what the caller may see. It ends when the caller hangs up. */
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
    const { records, total } = await this.ledger.store.list(query, (page - 1) * pageSize, pageSize, abandon);
    return {
      items: records.map(toOrderRecord),
      page,
      pageSize,
      total,
      totalPages: Math.ceil(total / pageSize),
    };
  }

  /** Ends an order that nobody knows the outcome of, by what an operator found out. */
  async settleOrder(
    path: OrderPath,
    { as, reason, items }: SettleOrderDto,
    grants: Grants,
  ): Promise<OrderRecordDto> {
    const record = await this.#find(path, grants);
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
        throw new ProblemException('request-in-progress', {
          detail: 'An order may be settled as not_placed 15 minutes after it was sent, not before.',
          retryAfter: Math.ceil(moved.leftMs / 1_000),
          location: locationOf(record),
        });
    }
  }

  /** The order of another enterprise is one that does not exist. */
  async #find({ channelCode, channelOrderId }: OrderPath, grants: Grants): Promise<LedgerRecord> {
    const record = await this.ledger.store.read(orderName(channelCode, channelOrderId));
    if (!record || !isVisible(record, grants)) throw new ProblemException('order-not-found');
    return record;
  }
}

/** Undefined where all are granted. */
function only(granted: ReadonlySet<string>): ReadonlySet<string> | undefined {
  return granted.has('*') ? undefined : granted;
}

function millisecond(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}

/** The same settlement once more changes nothing; another is too late. */
function settledAlready(record: LedgerRecord, as: SettleOrderDto['as']): OrderRecordDto {
  if (record.state === 'sending') throw problemFor(record);
  if (record.state === as) return toOrderRecord(record);
  const detail = `is too late or too early: the order is ${record.state}`;
  throw new ProblemException('validation-failed', { errors: [{ pointer: '/as', detail }] });
}
