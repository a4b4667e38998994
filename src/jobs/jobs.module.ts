import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { MemberModule } from '../member/member.module.ts';
import { OperationModule } from '../operation/operation.module.ts';
import { MemoryMoveLog } from '../order-ledger/memory-move-log.ts';
import { OrderStoreRedis } from '../order-store/order-store-redis.ts';
import { SessionModule } from '../session/session.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { JobDispatcher } from './job-dispatcher.ts';
import { JobWatch } from './job-watch.ts';
import { JobsController } from './jobs.controller.ts';
import { JobsService } from './jobs.service.ts';
import { ImportCallServices, JobUsers } from './member-imports/import-calls.ts';
import { ImportsService } from './member-imports/imports.service.ts';
import { MemberDirectory } from './member-imports/member-directory.ts';
import { MemberImportsController } from './member-imports/member-imports.controller.ts';
import { JOB_STORE, type JobStore } from './store/job-store.ts';
import { MemoryJobStore } from './store/memory-job-store.ts';
import { RedisJobStore } from './store/redis-job-store.ts';

/** Long work on members: imports as jobs, with their progress and results, and exports. */
@Module({
  imports: [CallerModule, MemberModule, OperationModule, SessionModule, UpstreamClientModule],
  controllers: [JobsController, MemberImportsController],
  providers: [
    ImportCallServices,
    ImportsService,
    JobDispatcher,
    JobUsers,
    JobWatch,
    JobsService,
    MemberDirectory,
    {
      provide: JOB_STORE,
      inject: [OrderStoreRedis, MemoryMoveLog],
      useFactory: (redis: OrderStoreRedis, moves: MemoryMoveLog): JobStore =>
        redis.configured ? new RedisJobStore(redis, redis.environment) : new MemoryJobStore(moves),
    },
  ],
  exports: [JOB_STORE, JobsService],
})
export class JobsModule {}
