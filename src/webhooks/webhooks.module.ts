import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { EventsModule } from '../events/events.module.ts';
import { OperationModule } from '../operation/operation.module.ts';
import { OrderStoreRedis } from '../order-store/order-store-redis.ts';
import { Destinations } from './delivery/destinations.ts';
import { Receivers } from './delivery/receivers.ts';
import { WebhookDispatcher } from './delivery/webhook-dispatcher.ts';
import { WebhookTurns } from './delivery/webhook-turns.ts';
import { MemoryWebhookStore } from './store/memory-webhook-store.ts';
import { RedisWebhookStore } from './store/redis-webhook-store.ts';
import { WEBHOOK_STORE, type WebhookStore } from './store/webhook-store.ts';
import { WebhooksController } from './webhooks.controller.ts';
import { WebhooksService } from './webhooks.service.ts';

/** Events sent to the receivers that callers name. */
@Module({
  imports: [CallerModule, EventsModule, OperationModule],
  controllers: [WebhooksController],
  providers: [
    Destinations,
    Receivers,
    WebhookDispatcher,
    WebhooksService,
    WebhookTurns,
    {
      provide: WEBHOOK_STORE,
      inject: [OrderStoreRedis],
      useFactory: (redis: OrderStoreRedis): WebhookStore =>
        redis.configured ? new RedisWebhookStore(redis, redis.environment) : new MemoryWebhookStore(),
    },
  ],
  exports: [WEBHOOK_STORE],
})
export class WebhooksModule {}
