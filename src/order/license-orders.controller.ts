import { Body, Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiExtension, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Call, IdempotencyKey } from '../request/request-stages.ts';
import type { Scope } from '../request/scopes.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { PageQuery } from '../operation/page.dto.ts';
import type { JsonPage } from '../operation/response.ts';
import type { CallContext } from '../request/call-context.ts';
import { edge } from '../shared/edge.ts';
import { PlaceOrderDto } from './dto/license-order.dto.ts';
import { OrderAssetPageDto } from './dto/order-assets.dto.ts';
import {
  ListOrdersQuery,
  OrderPageDto,
  OrderPath,
  OrderRecordDto,
  SettledOrderPath,
  CancelledOrderPath,
  SettleOrderDto,
} from './dto/order-record.dto.ts';
import { LicenseOrderService } from './license-order.service.ts';
import { OrderAssetsService } from './order-assets.service.ts';
import { OrderRecordsService } from './order-records.service.ts';

@ApiTags('Licence orders')
@Controller('v1/license-orders')
export class LicenseOrdersController {
  constructor(
    private readonly orders: LicenseOrderService,
    private readonly records: OrderRecordsService,
    private readonly assets: OrderAssetsService,
  ) {}

  @Operation({
    id: 'placeOrder',
    summary: 'Place a batch of licence orders: buy, revoke assets, revoke products',
    description:
      'The gateway makes one call to the platform for each batch, at most once under its `channelCode` and `channelOrderId`: a repeat gets the ' +
      'result of the first. A deletion needs the scope `orders:revoke` too, and names the order that it deletes from or has `allOrders: true`.',
    effect: 'write',
    dryRun: true,
    scope: 'orders:write',
    alsoScopes: deletionScopes,
    upstream: 'batchOrder',
    idempotency: 'order',
    answersRepeats: true,
    changedNothing: (record) => (record as OrderRecordDto).state === 'scheduled',
    looksUpAsUser: true,
    // `effects-changed` is the answer to a repeat of a scheduled order that was rejected at its time.
    problems: [
      'customer-not-found',
      'asset-not-found',
      'order-not-found',
      'budget-exhausted',
      'effects-changed',
    ],
    success: [
      { status: 201, description: 'Placed (`syncMode` sync)', type: OrderRecordDto },
      {
        status: 202,
        description:
          'The platform places the order later (`syncMode` async), or the gateway does (`notBefore`)',
        type: OrderRecordDto,
      },
    ],
    body: PlaceOrderDto,
  })
  @Post()
  async placeOrder(
    @Call() call: CallContext,
    @Body() order: PlaceOrderDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OrderRecordDto> {
    const { record, location, replayed } = await this.orders.placeOrder(call, order, idempotencyKey);
    const isPlaced = record.syncMode === 'sync' && record.state !== 'scheduled';
    void reply.status(isPlaced ? 201 : 202).header('location', location);
    if (replayed) void reply.header('idempotent-replayed', 'true');
    return record;
  }

  @Operation({
    id: 'listOrders',
    summary: 'Page through the orders that were placed through the gateway, newest first',
    description:
      'Only orders whose channel is granted to the caller. Unless all enterprises are granted, each item must name a granted one. ' +
      'The gateway does not call the platform.',
    effect: 'read',
    scope: 'orders:read',
    paged: true,
    success: [{ status: 200, description: 'One page; empty after the last page', type: OrderPageDto }],
  })
  @Get()
  listOrders(
    @Call() call: CallContext,
    @Query() query: ListOrdersQuery,
    @Res({ passthrough: true }) { raw }: FastifyReply,
  ): Promise<OrderPageDto | JsonPage> {
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    raw.once('close', edge('list of orders', resolve));
    if (raw.closed) resolve();
    return this.records.listOrders(query, call, sent);
  }

  @Operation({
    id: 'getOrder',
    summary: 'Read the record of an order',
    description: "The gateway's own record; the gateway does not call the platform.",
    effect: 'read',
    scope: 'orders:read',
    problems: ['order-not-found'],
    success: [{ status: 200, description: 'The record', type: OrderRecordDto }],
  })
  @Get(':channelCode/:channelOrderId')
  getOrder(@Call() { caller }: CallContext, @Param() order: OrderPath): Promise<OrderRecordDto> {
    return this.records.getOrder(order, caller.grants);
  }

  @Operation({
    id: 'getOrderAssets',
    summary: 'Page through the assets that an order made or added to',
    description:
      'What of the order stands on the assets of the enterprises of its items, now. An item that names no enterprise belongs to that of its ' +
      "customer. Where the record does not know a licence order, the platform's note of the `channelOrderId` tells.",
    effect: 'read',
    scope: 'orders:read',
    upstream: 'listAssetProducts',
    // The response depends on the record of the order too, which is not in the cache.
    isUncached: true,
    paged: true,
    problems: ['order-not-found'],
    success: [{ status: 200, description: 'One page; beyond the last it is empty', type: OrderAssetPageDto }],
  })
  @Get(':channelCode/:channelOrderId/assets')
  @ApiExtension('x-upstream-also', ['listAssets', 'listAssetNums', 'queryCustomers'])
  getOrderAssets(
    @Call() call: CallContext,
    @Param() order: OrderPath,
    @Query() query: PageQuery,
  ): Promise<OrderAssetPageDto> {
    return this.assets.getOrderAssets(call, order, query);
  }

  @Operation({
    id: 'cancelOrder',
    summary: 'Cancel an order that waits for its time',
    description:
      'Only while it is `scheduled`; the number is free afterwards. An order with a deletion needs the scope `orders:revoke` too. A caller may repeat it.',
    effect: 'write',
    scope: 'orders:write',
    problems: ['order-not-found', 'order-not-cancellable'],
    success: [{ status: 204, description: 'Cancelled, now or before' }],
  })
  @Delete(':channelCode/:channelOrderId')
  cancelOrder(@Call() call: CallContext, @Param() order: CancelledOrderPath): Promise<void> {
    return this.records.cancelOrder(call, order);
  }

  @Operation({
    id: 'settleOrder',
    summary: 'Settle an order whose end is not known with the result that an operator found',
    description:
      'Changes only the record; the gateway does not call the platform. For orders in doubt or incomplete, and for those that were accepted a day ' +
      '(`ACCEPTED_ALERT_AFTER_MS`) ago or earlier. `not_placed` frees the number, and is possible 15 minutes after the send. Too early: 409 ' +
      '`order-not-settleable` with `Retry-After`. The same settlement again (result, reason and items) gets the record; another one is 409 ' +
      '`order-not-settleable`, whose `detail` says what stands there.',
    effect: 'write',
    scope: 'orders:settle',
    idempotency: 'key',
    showsEnterprises: true,
    problems: ['order-not-found', 'order-not-settleable'],
    success: [{ status: 200, description: 'Settled now, or before in the same way', type: OrderRecordDto }],
    body: SettleOrderDto,
  })
  @Post(':channelCode/:channelOrderId/settlement')
  settleOrder(
    @Call() call: CallContext,
    @Param() order: SettledOrderPath,
    @Body() settlement: SettleOrderDto,
  ): Promise<OrderRecordDto> {
    return this.records.settleOrder(call, order, settlement);
  }
}

const DELETIONS: ReadonlySet<unknown> = new Set(['delete_asset', 'delete_product']);

/** Runs before the body is validated, so `body` may be any value. The validation refuses every other kind of item. */
function deletionScopes(body: unknown): readonly Scope[] {
  const items = (body as { items?: unknown } | null | undefined)?.items;
  const deletes =
    Array.isArray(items) &&
    items.some((item: unknown) => DELETIONS.has((item as { orderType?: unknown } | null)?.orderType));
  return deletes ? ['orders:revoke'] : [];
}
