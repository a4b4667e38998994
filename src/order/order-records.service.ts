import { Injectable } from '@nestjs/common';
import { LongReads } from '../database/long-reads.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { OrderConfig } from '../config/app-config.ts';
import { pageOf, pageWith } from '../operation/page.dto.ts';
import { JsonPage } from '../operation/response.ts';
import { canonical } from '../order-ledger/fingerprint.ts';
import {
  enterprisesOf,
  type LedgerRecord,
  locationOf,
  orderName,
  type PlacedItem,
  type Settlement,
  type State,
  unsettled,
} from '../order-ledger/ledger-record.ts';
import type { OrderQuery } from '../order-ledger/write-steps.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { type CallContext, type Grants, isGranted } from '../request/call-context.ts';
import type {
  ListOrdersQuery,
  OrderPageDto,
  OrderPath,
  OrderRecordDto,
  SettleOrderDto,
} from './dto/order-record.dto.ts';
import { toOrderRecord } from './license-order.mapper.ts';

/** The time after the send in which the platform may still carry the order out, for example from a queue. */
const NOT_PLACED_AFTER_MS = 15 * 60_000;

/** A page with more bytes counts as large. */
const LARGE_BYTES = 1024 * 1024;

const NOT_PLACED_EARLY = 'An order may be settled as not_placed 15 minutes after it was sent, not before.';
const ACCEPTED_EARLY =
  'The platform has accepted the order and places it later. Until then nothing is to be settled: an operator may after the time of Retry-After.';

const MAY_WAIT_AGAIN = {
  retryable: true,
  retryAfter: 1,
  detail:
    'The order is being sent. If the platform cannot be reached, the order waits again, and can be cancelled then.',
};

/** Reads and settles the gateway's own records of orders, without calls to the platform. */
@Injectable()
export class OrderRecordsService {
  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly config: OrderConfig,
    private readonly reads: LongReads,
  ) {}

  async getOrder(path: OrderPath, grants: Grants): Promise<OrderRecordDto> {
    return toOrderRecord(await this.find(path, grants));
  }

  /**
   * Returns the orders that the caller may see, the newest first unless `sort` says otherwise. Reading ends when the caller hangs up. Until a
   * large page was sent, the caller gets no other one for 30 seconds.
   */
  async listOrders(
    wanted: ListOrdersQuery,
    call: CallContext,
    sent: Promise<void>,
  ): Promise<OrderPageDto | JsonPage> {
    const { caller, abandon } = call;
    const { state, channelCode, page, pageSize } = wanted;
    const { channels, enterprises } = caller.grants;
    const byTime = wanted.sort === 'notBefore';
    if (byTime && state !== 'scheduled')
      throw new ProblemException('validation-failed', {
        errors: [{ parameter: 'sort', detail: 'must be -submittedAt, or be given with state=scheduled' }],
      });
    if (wanted.channelOrderId !== undefined)
      return this.#listOne({ ...wanted, channelOrderId: wanted.channelOrderId }, caller.grants);
    const query: OrderQuery = {
      states: state && [state],
      channels: channelCode === undefined ? only(channels) : new Set([channelCode]),
      within: only(enterprises),
      enterprise: wanted.enterpriseGlobalId,
      from: millisecond(wanted.submittedAfter),
      until: millisecond(wanted.submittedBefore),
      byTime,
    };
    const json = new JsonPage();
    const add = (record: LedgerRecord) => json.add(toOrderRecord(record));
    const total = await this.reads.runUntilSent(
      call,
      () => this.ledger.each(query, (page - 1) * pageSize, pageSize, add, abandon),
      () => (json.bytes > LARGE_BYTES ? sent : undefined),
    );
    const { items: _, ...rest } = pageWith([], total, wanted);
    return json.end(rest);
  }

  /** Returns a page with the one order, if the caller may see it and it matches the other filters. */
  async #listOne(
    wanted: ListOrdersQuery & { channelOrderId: string },
    grants: Grants,
  ): Promise<OrderPageDto> {
    const { channelCode, channelOrderId } = wanted;
    if (channelCode === undefined)
      throw new ProblemException('validation-failed', {
        errors: [{ parameter: 'channelCode', detail: 'must be given with channelOrderId' }],
      });
    const record = await this.ledger.read(orderName(channelCode, channelOrderId), only(grants.enterprises));
    const orders = record && isVisible(record, grants) && isWanted(record, wanted) ? [record] : [];
    return pageOf(orders.map(toOrderRecord), wanted);
  }

  async cancelOrder(call: CallContext, path: OrderPath): Promise<void> {
    const { grants, scopes } = call.caller;
    const { name, submittedAt, details } = await this.find(path, grants);
    const deletes = details.order?.ordered.some(({ orderType }) => orderType !== 'new_buy') === true;
    if (deletes && !scopes?.has('orders:revoke'))
      throw new ProblemException('forbidden', {
        detail: 'The order deletes something, so the scope `orders:revoke` is needed too.',
      });
    const to = { by: 'caller', from: 'scheduled', to: 'cancelled' } as const;
    const moved = await this.ledger.move({ name, ...to, submittedAt, details });
    if (moved.kind === 'missing') throw new ProblemException('order-not-found');
    // The number was used again in the meantime, or the order was tried again. So its caller and its items are checked anew.
    if (moved.kind === 'refused' && moved.record.submittedAt !== submittedAt)
      return this.cancelOrder(call, path);
    if (moved.kind === 'refused' && moved.record.state !== 'cancelled') throw notCancellable(moved.record);
  }

  async settleOrder(call: CallContext, path: OrderPath, request: SettleOrderDto): Promise<OrderRecordDto> {
    const settlement = settlementOf(request);
    const record = await this.find(path, call.caller.grants);
    const { name, state, submittedAt, details } = record;
    const minAgeMs = this.#leastAge(state, settlement);
    if (minAgeMs === undefined) return settledAlready(record, settlement);
    assertOrdered(record, request);
    const { as, reason } = settlement;
    const order = details.order && {
      ...details.order,
      ...{ reason, settlement, items: settledItems(details.order.items, settlement) },
    };
    const moved = await this.ledger.move({
      name,
      by: 'operator',
      from: state,
      to: as,
      submittedAt,
      details: { ...details, order },
      minAgeMs,
    });
    switch (moved.kind) {
      case 'moved':
        return toOrderRecord(moved.record);
      case 'refused':
        // The number was used again meanwhile, and the caller may not see the new order.
        if (moved.record.submittedAt !== submittedAt) return this.settleOrder(call, path, request);
        return settledAlready(moved.record, settlement);
      case 'missing':
        throw new ProblemException('order-not-found');
      case 'early':
        throw tooEarly(record, moved.leftMs);
    }
  }

  /** How old an order of that state must be for this settlement, in ms; undefined where it cannot be settled. */
  #leastAge(state: State, { as }: Settlement): number | undefined {
    const afterMs = as === 'not_placed' ? NOT_PLACED_AFTER_MS : 0;
    if (state === 'accepted') return Math.max(afterMs, this.config.acceptedAlertMs);
    return state === 'in_doubt' || state === 'incomplete' ? afterMs : undefined;
  }

  /** Throws `order-not-found` for an order of another enterprise too: for the caller it does not exist. */
  async find({ channelCode, channelOrderId }: OrderPath, grants: Grants): Promise<LedgerRecord> {
    const name = orderName(channelCode, channelOrderId);
    const record = await this.ledger.read(name, only(grants.enterprises));
    if (!record || !isVisible(record, grants)) throw new ProblemException('order-not-found');
    return record;
  }
}

function notCancellable(record: LedgerRecord): ProblemException {
  const location = locationOf(record);
  const { state, details } = record;
  if (state === 'sending' && details.order?.notBefore !== undefined)
    return new ProblemException('order-not-cancellable', { ...MAY_WAIT_AGAIN, location });
  return new ProblemException('order-not-cancellable', { detail: `The order is \`${state}\`.`, location });
}

function tooEarly(record: LedgerRecord, leftMs: number): ProblemException {
  return new ProblemException('order-not-settleable', {
    retryable: true,
    detail: record.state === 'accepted' ? ACCEPTED_EARLY : NOT_PLACED_EARLY,
    retryAfter: Math.ceil(leftMs / 1_000),
    location: locationOf(record),
  });
}

/** The granted ids; undefined where all are granted. */
function only(granted: ReadonlySet<string>): ReadonlySet<string> | undefined {
  return granted.has('*') ? undefined : granted;
}

function isWanted(
  { state, submittedAt, details: { order } }: LedgerRecord,
  wanted: ListOrdersQuery,
): boolean {
  const { enterpriseGlobalId, submittedAfter, submittedBefore } = wanted;
  return (
    (wanted.state ?? state) === state &&
    submittedAt >= (millisecond(submittedAfter) ?? 0) &&
    submittedAt < (millisecond(submittedBefore) ?? Infinity) &&
    (enterpriseGlobalId === undefined ||
      (order !== undefined && enterprisesOf(order).includes(enterpriseGlobalId)))
  );
}

function millisecond(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}

function settlementOf({ as, reason, items }: SettleOrderDto): Settlement {
  const placed = items?.map((item) => ({ ...item, customerId: item.customerId ?? null }));
  return { as, reason, items: placed?.toSorted((one, other) => one.sequence - other.sequence) ?? null };
}

/** Returns the items that the settlement names, and those that the platform named and the settlement does not. */
function settledItems(known: readonly PlacedItem[], { as, items }: Settlement): readonly PlacedItem[] {
  if (as === 'not_placed') return [];
  const placed = new Map([...known, ...(items ?? [])].map((item) => [item.sequence, item]));
  return [...placed.values()].toSorted((one, other) => one.sequence - other.sequence);
}

/** Refuses items that were not ordered: the record would not show them. */
function assertOrdered({ details: { order } }: LedgerRecord, { items = [] }: SettleOrderDto): void {
  const ordered = (order?.ordered ?? []).map(({ sequence }) => sequence);
  const detail = `must be of an item of the order, from ${Math.min(...ordered)} to ${Math.max(...ordered)}`;
  const errors = items.flatMap(({ sequence }, index) =>
    ordered.includes(sequence) ? [] : [{ pointer: `/items/${index}/sequence`, detail }],
  );
  if (errors.length > 0) throw new ProblemException('validation-failed', { errors });
}

/** The same settlement again changes nothing. Another settlement is refused with the result in the record. */
function settledAlready(record: LedgerRecord, settlement: Settlement): OrderRecordDto {
  const known = record.details.order?.settlement;
  if (known && record.state === known.as && canonical(known) === canonical(settlement))
    return toOrderRecord(record);
  if (record.state === 'scheduled')
    throw new ProblemException('order-not-settleable', {
      detail: 'The order waits for its time, and nothing was sent: cancel it instead.',
      location: locationOf(record),
    });
  // The order may be on its way, or its record has changed since it was read.
  const isOpen = unsettled.includes(record.state);
  throw new ProblemException('order-not-settleable', {
    detail: record.state === 'sending' ? 'The order is on its way.' : resultText(record),
    ...(isOpen && { retryable: true, retryAfter: 1 }),
    location: locationOf(record),
  });
}

/** Licence orders beyond this number are counted, not named. */
const MAX_NAMED = 10;

function resultText({ state, settledAt, details: { order } }: LedgerRecord): string {
  const { items = [], settlement, reason = null } = order ?? {};
  const named = items
    .slice(0, MAX_NAMED)
    .map(({ sequence, licenseOrderId }) => `item ${sequence} as ${licenseOrderId}`);
  const more = items.length - named.length;
  return [
    settlement ? `An operator has settled the order as ${state}` : `The order is ${state} already`,
    settledAt === null ? '' : `, at ${new Date(settledAt).toISOString()}`,
    named.length > 0 ? `, ${named.join(', ')}` : '',
    more > 0 ? ` and ${more} more` : '',
    reason === null ? '.' : `. Reason: ${reason}`,
  ].join('');
}

export function isVisible({ details: { order } }: LedgerRecord, grants: Grants): boolean {
  if (!order || !isGranted(grants.channels, order.channelCode)) return false;
  return enterprisesOf(order).every((enterprise) => isGranted(grants.enterprises, enterprise));
}
