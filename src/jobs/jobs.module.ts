import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { UpstreamConfig } from '../config/app-config.ts';
import { MemberModule } from '../member/member.module.ts';
import { OperationModule } from '../operation/operation.module.ts';
import { OrderLedgerRedis } from '../order-ledger/order-ledger-redis.ts';
import { environmentName } from '../redis/key-names.ts';
import { SessionModule } from '../session/session.module.ts';
import { ImportRunner } from './import-runner.ts';
import { ImportsService } from './imports.service.ts';
import { JOB_STORE, JobDispatcher } from './job-dispatcher.ts';
import type { JobStore } from './job-store.ts';
import { JobUsers } from './job-user.ts';
import { JobWatch } from './job-watch.ts';
import { JobsController } from './jobs.controller.ts';
import { JobsService } from './jobs.service.ts';
import { MemberDirectory } from './member-directory.ts';
import { MemberImportsController } from './member-imports.controller.ts';
import { MemoryJobStore } from './memory-job-store.ts';
import { RedisJobStore } from './redis-job-store.ts';

/** Long work on members: imports as jobs, their progress and results, and exports. */
@Module({
  imports: [CallerModule, MemberModule, OperationModule, SessionModule],
  controllers: [JobsController, MemberImportsController],
  providers: [
    ImportRunner,
    ImportsService,
    JobDispatcher,
    JobUsers,
    JobWatch,
    JobsService,
    MemberDirectory,
    {
      provide: JOB_STORE,
      inject: [OrderLedgerRedis, UpstreamConfig],
      useFactory: (redis: OrderLedgerRedis, { baseUrl }: UpstreamConfig): JobStore =>
        redis.configured ? new RedisJobStore(redis, environmentName(baseUrl)) : new MemoryJobStore(),
    },
  ],
  exports: [JOB_STORE, JobsService],
})
export class JobsModule {}
