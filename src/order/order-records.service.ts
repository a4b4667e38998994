import { Injectable } from '@nestjs/common';
import { placeOf, problemFor } from '../order-ledger/ledger-responses.ts';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import type { LedgerRecord, State } from '../order-ledger/ledger-record.ts';
import { orderName } from '../order-ledger/order-ledger-store.ts';
import { isVisible } from '../tenancy/visible-orders.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { type Grants, isGranted } from '../upstream/call-context.ts';
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
/** Records read at a time where a caller's own have to be picked out. */
const CHUNK = 200;

/** What became of orders: the gateway's own records. The platform is not asked. */
@Injectable()
export class OrderRecordsService {
  constructor(private readonly guard: OrderLedgerKeeper) {}

  async getOrder(path: OrderPath, grants: Grants): Promise<OrderRecordDto> {
    return toOrderRecord(await this.#find(path, grants));
  }

  /** Newest first, of the channels that are granted. */
  async listOrders({ state, page, pageSize }: ListOrdersQuery, { channels }: Grants): Promise<OrderPageDto> {
    const first = (page - 1) * pageSize;
    const { records, total } = channels.has('*')
      ? await this.guard.store.list(state, first, pageSize)
      : await this.#listOwn(state, first, pageSize, channels);
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
    const moved = await this.guard.store.move({
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
          location: placeOf(record),
        });
    }
  }

  /** The order of another enterprise is one that does not exist. */
  async #find({ channelCode, channelOrderId }: OrderPath, grants: Grants): Promise<LedgerRecord> {
    const record = await this.guard.store.read(orderName(channelCode, channelOrderId));
    if (!record || !isVisible(record, grants)) throw new ProblemException('order-not-found');
    return record;
  }

  /** The store counts all channels together, so a caller's own are picked out of all of them, each once. */
  async #listOwn(
    state: State | undefined,
    first: number,
    count: number,
    channels: ReadonlySet<string>,
  ): Promise<{ records: readonly LedgerRecord[]; total: number }> {
    const own = new Map<string, LedgerRecord>();
    for (let offset = 0, total = 1; offset < total; offset += CHUNK) {
      const part = await this.guard.store.list(state, offset, CHUNK);
      total = part.total;
      for (const record of part.records)
        if (isGranted(channels, record.details.order?.channelCode ?? '')) own.set(record.name, record);
    }
    return { records: [...own.values()].slice(first, first + count), total: own.size };
  }
}

/** The same settlement once more changes nothing; another is too late. */
function settledAlready(record: LedgerRecord, as: SettleOrderDto['as']): OrderRecordDto {
  if (record.state === 'sending') throw problemFor(record);
  if (record.state === as) return toOrderRecord(record);
  const detail = `is too late or too early: the order is ${record.state}`;
  throw new ProblemException('validation-failed', { errors: [{ pointer: '/as', detail }] });
}
