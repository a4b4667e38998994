import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { locationOf } from '../order-ledger/ledger-responses.ts';
import type { OrderedItem, OrderSearch } from '../order-ledger/ledger-record.ts';
import { OrderLedger } from '../order-ledger/order-ledger.service.ts';
import { withoutSecrets } from '../shared/secret-fields.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { modulePrefix, operations } from '../upstream/operations.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { type PlaceOrderDto, sequenceOf } from './dto/license-order.dto.ts';
import type { OrderPreviewDto, OrderRecordDto } from './dto/order-record.dto.ts';
import { toBatchOrder, toPlacedItems } from './license-order.mapper.ts';
import { toOrderRecord } from './order-record.mapper.ts';

interface PlacedOrder {
  readonly record: OrderRecordDto;
  /** Where the record can be read. */
  readonly location: string | undefined;
  /** It was placed before, and this time nothing was sent. */
  readonly replayed: boolean;
}

/** Placing licence orders: one call upstream a batch, never split, never merged, and sent at most once under its number. */
@Injectable()
export class LicenseOrderService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
    private readonly ledger: OrderLedger,
  ) {}

  async placeOrder(
    call: CallContext,
    order: PlaceOrderDto,
    idempotencyKey: string | undefined,
  ): Promise<PlacedOrder> {
    const body = toBatchOrder(order, this.config.timestampUnit);
    const query = { appKey: call.caller.appKey ?? this.config.appKey.reveal() };
    const { channelCode, channelOrderId, syncMode } = order;
    // While the platform does not work, or where something is not the caller's, new orders leave no records; what is known of others is
    // told as ever: a repeat of a deletion names what is gone by now.
    const refusal = call.reach?.refusal ?? this.upstream.refusal('batchOrder');
    if (refusal && !(await this.ledger.knows(channelCode, channelOrderId))) throw refusal;
    const write = {
      caller: call.caller.name,
      channelCode,
      channelOrderId,
      syncMode,
      ordered: orderedItems(order),
      // Without the application's key: it is the gateway's, and a new one does not make another order.
      payload: { body },
      idempotencyKey,
      deadlineMs: this.config.orderDeadlineMs,
      search: searchOf(order),
    };
    const { result, replayed } = await this.ledger.order(write, (once) =>
      this.upstream.call('batchOrder', call, { query, body, once }, (data, notes) =>
        toPlacedItems(data, body, notes),
      ),
    );
    return { record: toOrderRecord(result), location: locationOf(result), replayed };
  }

  /** What would be sent, with secrets masked; nothing is. */
  previewOrder({ reach }: CallContext, order: PlaceOrderDto): OrderPreviewDto {
    if (reach?.refusal) throw reach.refusal;
    const { method, module, path } = operations.batchOrder;
    const body = withoutSecrets(toBatchOrder(order, this.config.timestampUnit)) as object;
    return { method, path: modulePrefix[module] + path, body };
  }
}

function orderedItems({ items }: PlaceOrderDto): OrderedItem[] {
  return items.map((item, index) => ({
    sequence: sequenceOf(item, index),
    orderType: item.orderType,
    enterpriseGlobalId: item.customer.enterpriseGlobalId ?? null,
  }));
}

/** Purchases for one enterprise show among its assets; nothing else can be looked up afterwards (decision 12, "Reconciliation"). */
function searchOf({ items }: PlaceOrderDto): OrderSearch | undefined {
  const [enterpriseGlobalId, ...others] = new Set(
    items.map(({ orderType, customer }) =>
      orderType === 'new_buy' ? customer.enterpriseGlobalId : undefined,
    ),
  );
  if (enterpriseGlobalId === undefined || others.length > 0) return undefined;
  return { enterpriseGlobalId, items: items.length, sequences: items.map(sequenceOf) };
}
