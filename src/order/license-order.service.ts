import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { exhausted, exhaustedProblem, monthOf } from '../budgets/state/budgets.ts';
import { UseStore } from '../budgets/state/use-store.ts';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import {
  type LedgerRecord,
  locationOf,
  orderName,
  released,
  type ScheduledOrder,
} from '../order-ledger/ledger-record.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { OrderLedger, type OrderWrite } from '../order-ledger/order-ledger.service.ts';
import { NotDue } from '../order-ledger/write-recorder.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { Reservations } from '../tenancy/reservations.ts';
import type { CallContext } from '../request/call-context.ts';
import type { DryRun } from '../request/dry-run.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import type { SendOnce } from '../upstream/upstream.exchange.ts';
import { DeletionEffects } from './deletion-effects.ts';
import type { PlaceOrderDto } from './dto/license-order.dto.ts';
import type { OrderRecordDto } from './dto/order-record.dto.ts';
import { LaterOrders } from './later-orders.ts';
import { toBatchOrder, toOrderRecord, toPlacedItems } from './license-order.mapper.ts';
import { budgetUses, unlimitedProblem } from './order-budget.ts';
import { deletes, orderedItems, searchOf, transfersIn } from './order-content.ts';
import { notTaken, timeProblem } from './order-refusals.ts';

/** An order whose `notBefore` is this close waits and is placed now, because the database's time is known only approximately. */
const MAX_HELD_MS = 100;

/** A scheduled order whose time has come, as its record says. `waitsAgain` means that it is scheduled again if it cannot be sent. */
interface DueOrder extends Pick<OrderWrite, 'onEnd'> {
  readonly scheduled: ScheduledOrder;
  readonly submittedAt: number;
  readonly waitsAgain: boolean;
}

/** Places licence orders: one call to the platform for each batch, never split or merged, and sent at most once under its number. */
@Injectable()
export class LicenseOrderService {
  // Many services may refuse an order, and each belongs to a room of its own.
  // oxlint-disable-next-line max-params
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
    private readonly ledger: OrderLedger,
    private readonly effects: DeletionEffects,
    private readonly reservations: Reservations,
    private readonly readings: PlatformReadings,
    private readonly maintenance: Maintenance,
    private readonly records: ObservedOrderLedger,
    private readonly uses: UseStore,
    private readonly later: LaterOrders,
  ) {}

  /** Returns `replayed` where the order was placed before, and nothing was sent this time. */
  async placeOrder(
    call: CallContext,
    order: PlaceOrderDto,
    idempotencyKey: string | undefined,
  ): Promise<{ record: OrderRecordDto; location: string | undefined; replayed: boolean }> {
    if (call.dryRun) return this.#dryRun(call.dryRun, call, order);
    const leftMs = (timeOf(order) ?? 0) - this.maintenance.now;
    if (leftMs > 0 && leftMs < MAX_HELD_MS) await sleep(Math.ceil(leftMs));
    const { now } = this.maintenance;
    const notBefore = timeOf(order) ?? now;
    const isLater = notBefore > now;
    // A new order leaves no record while the platform does not work, or where an id does not belong to the caller. A repeated order
    // still gets its earlier result, even if its deletion names things that are gone by now.
    const ofOrder = this.#refusalOf(call, order);
    const refusal = ofOrder ?? (isLater ? undefined : this.upstream.refusal('batchOrder'));
    // Reconciliation later recognizes the end of an async deletion by what is gone, so the gateway reads what is there before it sends the order.
    const isSeenBefore = !isLater && order.syncMode === 'async' && deletes(order);
    const known = refusal || isSeenBefore || isLater ? await this.#recordOf(order) : undefined;
    if (refusal && !known) throw refusal;
    const { write, send } = await this.#prepared(call, order, idempotencyKey, isSeenBefore && isFree(known));
    const asked = { ...write, refusal: timeProblem(notBefore, now) ?? ofOrder };
    const kept = isLater ? await this.#kept(call, order, asked, known) : asked;
    try {
      const { result, replayed } = await this.ledger.order(kept, send);
      return { record: toOrderRecord(result), location: locationOf(result), replayed };
    } catch (error) {
      if (!(error instanceof NotDue) || error.left === 'doubtful') throw error;
      // The clock of the database is behind the time that this process has for it, which is read again within a second.
      await sleep(Math.min(error.left, MAX_HELD_MS));
      return this.placeOrder(call, order, idempotencyKey);
    }
  }

  /** Throws where no order can be sent now. */
  assertOpen(): void {
    const refusal = this.maintenance.refusal('orders') ?? this.upstream.refusal('batchOrder');
    if (refusal) throw refusal;
  }

  /** Places a scheduled order whose time has come, by the same steps as any other. Throws the problem of an order that is not placed. */
  async placeDue(
    call: CallContext,
    order: PlaceOrderDto,
    { scheduled, submittedAt, waitsAgain, onEnd }: DueOrder,
  ): Promise<void> {
    const refusal = this.#refusalOf(call, order);
    if (refusal) throw refusal;
    const isMarked = order.syncMode === 'async' && deletes(order);
    const { write, send } = await this.#prepared(call, order, scheduled.idempotencyKey, isMarked);
    call.abandon?.throwIfAborted();
    const due = { scheduledAt: submittedAt, waitsAgain, onEnd, order: { ...write.order, scheduled } };
    await this.ledger.order({ ...write, ...due }, send);
  }

  /** Returns why an order is not placed, whatever its time is; undefined where nothing is against it. */
  #refusalOf(call: CallContext, order: PlaceOrderDto): ProblemException | undefined {
    return (
      notTaken(order, this.readings) ??
      call.authorisedIds?.refusal ??
      this.maintenance.refusal('orders') ??
      unlimitedProblem(order, call.caller.budgets)
    );
  }

  #recordOf({ channelCode, channelOrderId }: PlaceOrderDto): Promise<LedgerRecord | undefined> {
    return this.records.read(orderName(channelCode, channelOrderId));
  }

  /** Returns the order as it is recorded until its time. The budgets are used only at that time. */
  async #kept(
    call: CallContext,
    order: PlaceOrderDto,
    { budgets: _, ...write }: OrderWrite,
    known: LedgerRecord | undefined,
  ): Promise<OrderWrite> {
    const isNew = isFree(known) && !write.refusal;
    if (isNew) await this.#assertInBudget(call, order);
    // The earlier order with this number may end before the begin. This order would then be kept without its effects.
    const refusal =
      write.refusal ?? (isNew ? undefined : new ProblemException('request-in-progress', { retryAfter: 1 }));
    return { ...(await this.#later(call, order, write, isNew)), refusal };
  }

  async #later(
    call: CallContext,
    order: PlaceOrderDto,
    write: OrderWrite,
    isNew: boolean,
  ): Promise<OrderWrite> {
    const scheduled = await this.later.scheduled(call, order, write.idempotencyKey, isNew);
    return { ...write, notBefore: write.order.notBefore, order: { ...write.order, scheduled } };
  }

  /** With `isMarked`, the gateway reads what the deletions name before it sends the order. */
  async #prepared(
    call: CallContext,
    order: PlaceOrderDto,
    idempotencyKey: string | undefined,
    isMarked: boolean,
  ) {
    const body = this.#bodyOf(order);
    const bodyText = JSON.stringify(body);
    const query = { appKey: call.caller.appKey ?? this.config.appKey.reveal() };
    const { channelCode, channelOrderId, syncMode } = order;
    const notBefore = timeOf(order);
    const sought = searchOf(order, call.user?.alias);
    const search = isMarked ? await this.effects.marked(order, sought) : sought;
    const write: OrderWrite = {
      caller: call.caller.name,
      granted: call.caller.grants.enterprises,
      order: { channelCode, channelOrderId, syncMode, ordered: orderedItems(order), search, notBefore },
      payloadText: this.#payloadText(order, bodyText),
      idempotencyKey,
      budgets: call.caller.budgets && budgetUses(order, call.caller.budgets),
      deadlineMs: this.config.orderDeadlineMs,
    };
    const send = async (sendOnce: SendOnce) => {
      await this.#bindNumbers(call, order);
      // The number of a refused order may come again with another order, so the check runs again.
      const refusal = notTaken(order, this.readings);
      if (refusal) throw refusal;
      return this.upstream.call('batchOrder', call, { query, body, bodyText, sendOnce }, (data, notes) =>
        toPlacedItems(data, body, this.readings.of('orderIds'), notes),
      );
    };
    return { write, send };
  }

  /** Binds the reserved numbers of the order to its enterprises before it is sent. The move of an order that was not carried out frees them. */
  async #bindNumbers(call: CallContext, { channelCode, channelOrderId }: PlaceOrderDto): Promise<void> {
    const uses = call.authorisedIds?.reserved ?? [];
    if (uses.length === 0) return;
    const order = orderName(channelCode, channelOrderId);
    const isBound = await this.reservations.bind(call.caller.name, order, uses);
    // Another order has used a number since the lookup.
    if (!isBound) throw new ProblemException('asset-not-found');
  }

  async #dryRun(dryRun: DryRun, call: CallContext, order: PlaceOrderDto): Promise<never> {
    const { write } = await this.#prepared(call, order, undefined, false);
    if (await this.ledger.isRepeat(write)) return dryRun.stop();
    const { now } = this.maintenance;
    const refusal = timeProblem(timeOf(order) ?? now, now) ?? this.#refusalOf(call, order);
    if (refusal) throw refusal;
    await this.#assertInBudget(call, order);
    const { notBefore = 0 } = write.order;
    const isLater = notBefore > now;
    await this.ledger.assertRoom(isLater ? await this.#later(call, order, write, false) : write, now);
    const { effects } = await this.effects.find(call, order);
    // The instances are for the gateway only.
    for (const { instances: _, kind, ...what } of effects) dryRun.add(kind, what);
    for (const { enterpriseGlobalId = null, productUri = null } of transfersIn(order))
      dryRun.add('product-removed', { enterpriseGlobalId, productUri, readable: false });
    const { budgets } = call.caller;
    if (budgets && budgetUses(order, budgets).some(({ amount }) => amount > 0)) dryRun.add('budget-used');
    return dryRun.stopBefore('batchOrder', this.#bodyOf(order));
  }

  /** Checks the budgets of the order's month. A scheduled order is counted only when it begins, so its budget may be used up by then. */
  async #assertInBudget({ caller: { name, budgets } }: CallContext, order: PlaceOrderDto): Promise<void> {
    if (!budgets) return;
    const at = timeOf(order) ?? this.maintenance.now;
    const [use] = await this.uses.used(name, [monthOf(at)]);
    const spent = use && exhausted(budgetUses(order, budgets), use.used);
    if (spent) throw exhaustedProblem(spent, at);
  }

  /**
   * Returns the text of the fingerprint. It has no application key, and every time in ms, because another key or another form of times does not
   * make another order. It is the text of the body if that has its times in ms too. An order that does not say `ifEffectsChanged` says `reject`.
   */
  #payloadText(order: PlaceOrderDto, bodyText?: string): string {
    const plain = (this.#isPlain && bodyText) || JSON.stringify(toBatchOrder(order, { unit: 'ms' }));
    const notBefore = timeOf(order);
    const ifChanged = order.ifEffectsChanged === 'reject' ? undefined : order.ifEffectsChanged;
    const later = notBefore === undefined ? '' : `,"later":${JSON.stringify([notBefore, ifChanged])}`;
    return `{"body":${plain}${later}}`;
  }

  get #isPlain(): boolean {
    return (
      this.config.timestampUnit === 'ms' &&
      this.readings.of('featureTrialEnd') !== 'text' &&
      this.readings.of('productTrialEnd') !== 'seconds'
    );
  }

  #bodyOf(order: PlaceOrderDto) {
    return toBatchOrder(order, {
      unit: this.config.timestampUnit,
      featureTrialEnd: this.readings.of('featureTrialEnd'),
      productTrialEnd: this.readings.of('productTrialEnd'),
    });
  }
}

/** Whether the number of the order may be used: it was never used, or its order was not placed. */
function isFree(known: LedgerRecord | undefined): boolean {
  return !known || known.state === 'rejected' || released.includes(known.state);
}

/** Returns the time in ms since the epoch. */
function timeOf({ notBefore }: PlaceOrderDto): number | undefined {
  return notBefore === undefined ? undefined : Date.parse(notBefore);
}
