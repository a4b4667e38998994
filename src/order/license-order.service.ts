import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { modulePrefix, operations } from '../upstream/operations.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import type { PlaceOrderDto } from './dto/license-order.dto.ts';
import type { OrderPreviewDto, OrderRecordDto } from './dto/order-record.dto.ts';
import { toBatchOrder, toPlacedItems } from './license-order.mapper.ts';

/** Placing licence orders: one call upstream a batch, never split, never merged, never repeated. */
@Injectable()
export class LicenseOrderService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
  ) {}

  async placeOrder(call: CallContext, order: PlaceOrderDto): Promise<OrderRecordDto> {
    const body = toBatchOrder(order, this.config.timestampUnit);
    const query = { appKey: call.caller.appKey ?? this.config.appKey.reveal() };
    const submittedAt = new Date().toISOString();
    const items = await this.upstream.call('batchOrder', call, { query, body }, (data, notes) =>
      toPlacedItems(data, body, notes),
    );
    const { channelCode, channelOrderId, syncMode } = order;
    const settled = syncMode === 'sync';
    return {
      channelCode,
      channelOrderId,
      state: settled ? 'succeeded' : 'accepted',
      syncMode,
      items,
      submittedAt,
      settledAt: settled ? new Date().toISOString() : null,
      reason: null,
    };
  }

  /** What would be sent, with secrets masked; nothing is. */
  previewOrder(order: PlaceOrderDto): OrderPreviewDto {
    const { method, module, path } = operations.batchOrder;
    const body = JSON.stringify(toBatchOrder(order, this.config.timestampUnit), (key, value: unknown) =>
      key === 'passwords' && Array.isArray(value) ? value.map(() => '[secret]') : value,
    );
    return { method, path: modulePrefix[module] + path, body: JSON.parse(body) as object };
  }
}
