import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import { PageQuery } from '../operation/page.dto.ts';
import { linksTo } from '../operation/openapi/links.ts';
import { LongReads } from '../database/long-reads.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { Call } from '../request/request-stages.ts';
import type { CallContext } from '../request/call-context.ts';
import { WEBHOOK_SCOPE } from './delivery/delivery-rules.ts';
import {
  CreateWebhookDto,
  DeliveryPageDto,
  DeliveryPath,
  ListDeliveriesQuery,
  TestDeliveryDto,
  TestEventDto,
  UpdateWebhookDto,
  WebhookDto,
  webhookLocation,
  WebhookPageDto,
  WebhookPath,
  WebhookWithSecretDto,
} from './dto/webhook.dto.ts';
import { WebhooksService } from './webhooks.service.ts';

const READING = ['getWebhook', 'listDeliveries', 'redeliver'];
const CHANGING = ['updateWebhook', 'rotateWebhookSecret', 'testWebhook', 'deleteWebhook'];
const ofNew = linksTo([...READING, ...CHANGING], 'path.webhookId', '/webhookId');
const ofList = linksTo(READING, 'path.webhookId', '/items/0/webhookId');
const ofDeliveries = linksTo(['redeliver'], 'path.eventId', '/items/0/eventId');

@ApiTags('Webhooks')
@ApiExtraModels(TestEventDto)
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly reads: LongReads,
  ) {}

  @Operation({
    id: 'createWebhook',
    summary: 'Have events sent to a URL, from now on',
    description:
      'Each event that the caller may see, of these types, is sent by POST (Standard Webhooks): at least once, those of one order or job in their ' +
      'order. What is not taken within 10 s with 2xx is sent again after 5 s, 1 min, 5 min, 30 min, 2 h, 6 h, 12 h and 24 h. A `Retry-After` of the ' +
      'receiver postpones an attempt and is no step of this schedule. A caller has 20 webhooks at most. With `outcome-unknown` the gateway does not ' +
      'know whether it has made the webhook, whose URL is in `Location`.',
    effect: 'write',
    scope: WEBHOOK_SCOPE,
    idempotency: 'key',
    keyExample: 'example-of-create-webhook-1',
    shownOnce: 'secret',
    locationOf: webhookLocation,
    body: CreateWebhookDto,
    problems: ['webhooks-off', 'too-many-webhooks', 'outcome-unknown'],
    success: [
      {
        status: 201,
        description: 'The webhook, with its secret',
        type: WebhookWithSecretDto,
        links: ofNew,
      },
    ],
  })
  @Post()
  createWebhook(@Call() call: CallContext, @Body() terms: CreateWebhookDto): Promise<WebhookWithSecretDto> {
    return this.webhooks.create(call, terms);
  }

  @Operation({
    id: 'listWebhooks',
    summary: "Page through the caller's webhooks, newest first",
    effect: 'read',
    scope: WEBHOOK_SCOPE,
    paged: true,
    success: [
      {
        status: 200,
        description: 'One page; empty after the last page',
        type: WebhookPageDto,
        links: ofList,
      },
    ],
  })
  @Get()
  listWebhooks(@Call() { caller }: CallContext, @Query() query: PageQuery): Promise<WebhookPageDto> {
    return this.webhooks.list(caller, query);
  }

  @Operation({
    id: 'getWebhook',
    summary: 'How the deliveries of a webhook go',
    effect: 'read',
    scope: WEBHOOK_SCOPE,
    problems: ['webhook-not-found'],
    success: [{ status: 200, description: 'The webhook', type: WebhookDto }],
  })
  @Get(':webhookId')
  getWebhook(@Call() { caller }: CallContext, @Param() { webhookId }: WebhookPath): Promise<WebhookDto> {
    return this.webhooks.get(caller, webhookId);
  }

  @Operation({
    id: 'updateWebhook',
    summary: 'Change a webhook, or switch it off or on',
    description:
      'Changed types and enterprises count for events from then on. What waits to be sent again is sent to a changed `url` at once.',
    effect: 'write',
    body: UpdateWebhookDto,
    scope: WEBHOOK_SCOPE,
    problems: ['webhook-not-found', 'webhooks-off'],
    success: [{ status: 200, description: 'The webhook', type: WebhookDto }],
  })
  @Patch(':webhookId')
  updateWebhook(
    @Call() call: CallContext,
    @Param() { webhookId }: WebhookPath,
    @Body() change: UpdateWebhookDto,
  ): Promise<WebhookDto> {
    return this.webhooks.update(call, webhookId, change);
  }

  @Operation({
    id: 'rotateWebhookSecret',
    summary: 'Give a webhook another secret',
    description:
      'A former secret signs each delivery too for 24 hours, up to three of them. With `outcome-unknown` the gateway does not know whether it has ' +
      'made the new secret: call it again, with another `Idempotency-Key`.',
    effect: 'write',
    scope: WEBHOOK_SCOPE,
    idempotency: 'key',
    shownOnce: 'secret',
    problems: ['webhook-not-found', 'outcome-unknown'],
    success: [{ status: 200, description: 'The webhook, with its new secret', type: WebhookWithSecretDto }],
  })
  @Post(':webhookId/secret')
  rotateWebhookSecret(
    @Call() call: CallContext,
    @Param() { webhookId }: WebhookPath,
  ): Promise<WebhookWithSecretDto> {
    return this.webhooks.rotateSecret(call, webhookId);
  }

  @Operation({
    id: 'testWebhook',
    summary: 'Send one event of the type `webhook.test` now',
    description: 'Four tests of one webhook run at a time; a further one is 429.',
    effect: 'write',
    scope: WEBHOOK_SCOPE,
    idempotency: 'key',
    problems: ['webhook-not-found', 'webhooks-off'],
    success: [{ status: 200, description: 'What the receiver answered', type: TestDeliveryDto }],
  })
  @Post(':webhookId/test')
  testWebhook(@Call() call: CallContext, @Param() { webhookId }: WebhookPath): Promise<TestDeliveryDto> {
    return this.webhooks.test(call, webhookId);
  }

  @Operation({
    id: 'listDeliveries',
    summary: 'Page through the deliveries of a webhook, newest events first',
    description:
      'Those that wait, those that were given up, and the last 1,000 that were delivered, for 7 days.',
    effect: 'read',
    scope: WEBHOOK_SCOPE,
    paged: true,
    problems: ['webhook-not-found'],
    success: [
      {
        status: 200,
        description: 'One page; empty after the last page',
        type: DeliveryPageDto,
        links: ofDeliveries,
      },
    ],
  })
  @Get(':webhookId/deliveries')
  listDeliveries(
    @Call() call: CallContext,
    @Param() { webhookId }: WebhookPath,
    @Query() query: ListDeliveriesQuery,
  ): Promise<DeliveryPageDto> {
    return this.reads.run(call, () => this.webhooks.deliveries(call.caller, webhookId, query));
  }

  @Operation({
    id: 'redeliver',
    summary: 'Send an event once more',
    description: 'Under the same `webhook-id`, so that a receiver that has had it sees that.',
    effect: 'write',
    scope: WEBHOOK_SCOPE,
    idempotency: 'key',
    problems: ['webhook-not-found', 'webhooks-off'],
    success: [{ status: 202, description: 'It will be sent; if the webhook is off, once it is on again' }],
  })
  @Post(':webhookId/deliveries/:eventId')
  redeliver(@Call() call: CallContext, @Param() { webhookId, eventId }: DeliveryPath): Promise<void> {
    return this.webhooks.redeliver(call, webhookId, eventId);
  }

  @Operation({
    id: 'deleteWebhook',
    summary: 'Remove a webhook, with what waits for it',
    effect: 'write',
    scope: WEBHOOK_SCOPE,
    problems: ['webhook-not-found'],
    success: [{ status: 204, description: 'It is gone' }],
  })
  @Delete(':webhookId')
  deleteWebhook(@Call() call: CallContext, @Param() { webhookId }: WebhookPath): Promise<void> {
    return this.webhooks.remove(call, webhookId);
  }
}
