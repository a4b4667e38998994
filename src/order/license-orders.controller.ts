import { Body, Controller, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Call } from '../caller/request-call.ts';
import type { Scope } from '../caller/scopes.ts';
import { Operation } from '../openapi/operation.decorator.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { PlaceOrderDto } from './dto/license-order.dto.ts';
import { OrderPreviewDto, OrderRecordDto, PlaceOrderQuery } from './dto/order-record.dto.ts';
import { LicenseOrderService } from './license-order.service.ts';
import { orderExamples } from './order-examples.ts';

@ApiTags('Licence orders')
@Controller('v1/license-orders')
export class LicenseOrdersController {
  constructor(private readonly orders: LicenseOrderService) {}

  @Post()
  @Operation({
    id: 'placeOrder',
    summary: 'Place a batch of licence orders: buy, revoke assets, revoke products',
    description:
      'One call upstream a batch, sent at most once and never retried. A batch with a deletion needs the scope `orders:revoke` too. ' +
      'A deletion names the order it deletes from, or says `allOrders: true`.',
    scope: 'orders:write',
    alsoScopes: deletionScopes,
    upstream: 'batchOrder',
    success: [
      { status: 201, description: 'Placed (`syncMode` sync)', type: OrderRecordDto },
      { status: 202, description: 'Taken over for later (`syncMode` async)', type: OrderRecordDto },
      {
        status: 200,
        description: 'Only validated (`validateOnly`): what would be sent',
        type: OrderPreviewDto,
      },
    ],
    body: { type: PlaceOrderDto, examples: orderExamples },
  })
  async placeOrder(
    @Call() call: CallContext,
    @Query() { validateOnly }: PlaceOrderQuery,
    @Body() order: PlaceOrderDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OrderRecordDto | OrderPreviewDto> {
    if (validateOnly) {
      void reply.status(200);
      return this.orders.previewOrder(order);
    }
    const record = await this.orders.placeOrder(call, order);
    void reply.status(record.state === 'accepted' ? 202 : 201);
    return record;
  }
}

/** Asked before the body is validated, so it takes nothing for granted. */
function deletionScopes(body: unknown): readonly Scope[] {
  const orders = (body as { orders?: unknown } | null | undefined)?.orders;
  const deletes =
    Array.isArray(orders) &&
    orders.some((order: unknown) => (order as { orderType?: unknown } | null)?.orderType !== 'new_buy');
  return deletes ? ['orders:revoke'] : [];
}
