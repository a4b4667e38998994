import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { EventsModule } from '../events/events.module.ts';
import { DeliveryReports } from './delivery/delivery-reports.ts';
import { Destinations } from './delivery/destinations.ts';
import { DueWebhooks } from './delivery/due-webhooks.ts';
import { Receivers } from './delivery/receivers.ts';
import { WebhookDispatcher } from './delivery/webhook-dispatcher.ts';
import { WebhookRights } from './delivery/webhook-rights.ts';
import { WebhookTurns } from './delivery/webhook-turns.ts';
import { WebhookStore } from './store/webhook-store.ts';
import { WebhooksController } from './webhooks.controller.ts';
import { WebhooksService } from './webhooks.service.ts';

/** Sends events to the receivers that callers name. */
@Module({
  imports: [CallerModule, EventsModule],
  controllers: [WebhooksController],
  providers: [
    DeliveryReports,
    Destinations,
    DueWebhooks,
    Receivers,
    WebhookDispatcher,
    WebhookRights,
    WebhooksService,
    WebhookTurns,
    WebhookStore,
  ],
  exports: [WebhookRights, WebhookStore],
})
export class WebhooksModule {}
