import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { JobsModule } from '../jobs/jobs.module.ts';
import { OperationModule } from '../operation/operation.module.ts';
import { EventStream } from './event-stream.ts';
import { EventsController } from './events.controller.ts';
import { EventsService } from './events.service.ts';

/** What became of orders and jobs, as one feed. */
@Module({
  imports: [CallerModule, JobsModule, OperationModule],
  controllers: [EventsController],
  providers: [EventStream, EventsService],
  exports: [EventsService],
})
export class EventsModule {}
