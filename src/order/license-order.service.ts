import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { locationOf } from '../order-ledger/ledger-responses.ts';
import type { OrderedItem, OrderSearch } from '../order-ledger/ledger-record.ts';
import { OrderLedger } from '../order-ledger/order-ledger.service.ts';
import { orderName } from '../order-ledger/order-ledger-store.ts';
import { endOf } from '../order-ledger/write-outcome.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { Reservations } from '../tenancy/reservations.ts';
import { withoutSecrets } from '../shared/secret-fields.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { modulePrefix, operations } from '../upstream/operations.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { DeletionEffects } from './deletion-effects.ts';
import { type PlaceOrderDto, sequenceOf } from './dto/license-order.dto.ts';
import type { OrderPreviewDto, OrderRecordDto } from './dto/order-record.dto.ts';
import { toBatchOrder, toOrderRecord, toPlacedItems } from './license-order.mapper.ts';

interface PlacedOrder {
  readonly record: OrderRecordDto;
  /** The URL of the record. */
  readonly location: string | undefined;
  /** The order was placed before, and this time nothing was sent. */
  readonly replayed: boolean;
}

/** Places licence orders: one call to the platform for each batch, never split or merged, and sent at most once under its number. */
@Injectable()
export class LicenseOrderService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
    private readonly ledger: OrderLedger,
    private readonly effects: DeletionEffects,
    private readonly reservations: Reservations,
  ) {}

  async placeOrder(
    call: CallContext,
    order: PlaceOrderDto,
    idempotencyKey: string | undefined,
  ): Promise<PlacedOrder> {
    const body = toBatchOrder(order, this.config.timestampUnit);
    // Once, for the platform and for the fingerprint. The mapper writes fields in alphabetical order, as the fingerprint needs them.
    const bodyText = JSON.stringify(body);
    const query = { appKey: call.caller.appKey ?? this.config.appKey.reveal() };
    const { channelCode, channelOrderId, syncMode } = order;
    // While the platform does not work, or where an id does not belong to the caller, a new order leaves no record. A repeat still
    // gets its earlier result: a repeated deletion names things that are gone by now.
    const refusal = call.reach?.refusal ?? this.upstream.refusal('batchOrder');
    if (refusal && !(await this.ledger.knows(channelCode, channelOrderId))) throw refusal;
    const write = {
      caller: call.caller.name,
      channelCode,
      channelOrderId,
      syncMode,
      ordered: orderedItems(order),
      // Without the application's key, because a new key does not make it another order.
      payloadText: `{"body":${bodyText}}`,
      idempotencyKey,
      deadlineMs: this.config.orderDeadlineMs,
      search: searchOf(order),
    };
    const { result, replayed } = await this.ledger.order(write, (once) =>
      this.#withNumbersBound(call, order, () =>
        this.upstream.call('batchOrder', call, { query, body, bodyText, once }, (data, notes) =>
          toPlacedItems(data, body, notes),
        ),
      ),
    );
    return { record: toOrderRecord(result), location: locationOf(result), replayed };
  }

  /** Binds the reserved numbers of the order to its enterprises before it is sent, and frees them where it was not carried out. */
  async #withNumbersBound<T>(
    call: CallContext,
    { channelCode, channelOrderId }: PlaceOrderDto,
    send: () => Promise<T>,
  ): Promise<T> {
    const uses = call.reach?.reserved ?? [];
    const use = [call.caller.name, orderName(channelCode, channelOrderId), uses] as const;
    // Another order used the number since it was looked up.
    if (!(await this.reservations.bind(...use))) throw new ProblemException('asset-not-found');
    try {
      return await send();
    } catch (error) {
      const { state } = endOf(error);
      if (state === 'not_sent' || state === 'rejected') await this.reservations.release(...use);
      throw error;
    }
  }

  /** Returns the body that would be sent, with secrets masked, and what deletions would take away. Sends nothing. */
  async previewOrder(call: CallContext, order: PlaceOrderDto): Promise<OrderPreviewDto> {
    if (call.reach?.refusal) throw call.reach.refusal;
    const { method, module, path } = operations.batchOrder;
    const body = withoutSecrets(toBatchOrder(order, this.config.timestampUnit)) as object;
    return {
      method,
      path: modulePrefix[module] + path,
      body,
      effects: await this.effects.of(call, order),
    };
  }
}

function orderedItems({ items }: PlaceOrderDto): OrderedItem[] {
  return items.map((item, index) => ({
    sequence: sequenceOf(item, index),
    orderType: item.orderType,
    enterpriseGlobalId: item.customer.enterpriseGlobalId ?? null,
  }));
}

/** Only purchases for one enterprise can be found later, among its assets (decision 12, "Reconciliation"). */
function searchOf({ items }: PlaceOrderDto): OrderSearch | undefined {
  const [enterpriseGlobalId, ...others] = new Set(
    items.map(({ orderType, customer }) =>
      orderType === 'new_buy' ? customer.enterpriseGlobalId : undefined,
    ),
  );
  if (enterpriseGlobalId === undefined || others.length > 0) return undefined;
  return { enterpriseGlobalId, items: items.length, sequences: items.map(sequenceOf) };
}
