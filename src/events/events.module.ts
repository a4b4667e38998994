import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { EstateModule } from '../estate/estate.module.ts';
import { JobsModule } from '../jobs/jobs.module.ts';
import { OperationModule } from '../operation/operation.module.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { EventStore } from './log/event-store.ts';
import { EventStream } from './event-stream.ts';
import { EventsController } from './events.controller.ts';
import { EventsService } from './events.service.ts';

/** What became of orders, jobs and the estate, as one feed. */
@Module({
  imports: [CallerModule, EstateModule, JobsModule, OperationModule, OrderLedgerModule],
  controllers: [EventsController],
  providers: [EventStore, EventStream, EventsService],
  exports: [EventsService],
})
export class EventsModule {}
