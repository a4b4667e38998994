import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { MemberModule } from '../member/member.module.ts';
import { OperationModule } from '../operation/operation.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { EstateController } from './estate.controller.ts';
import { EstateDirectory } from './estate-directory.ts';
import { EstateEvents } from './estate-events-store.ts';
import { EstateJob } from './estate.job.ts';
import { EstateListStore } from './estate-list-store.ts';
import { EstateLists } from './estate-lists.ts';
import { EstatePlatform } from './estate-platform.ts';
import { EstateReading } from './estate-reading.ts';
import { EstateReads } from './estate-reads.ts';
import { EstateRowsStore } from './estate-rows-store.ts';
import { EstateService } from './estate.service.ts';
import { EstateWatch } from './estate-watch.ts';
import { EstateWrites } from './estate-writes.ts';

/** A copy of what all enterprises have, which the gateway reads slowly. */
@Module({
  imports: [CallerModule, MemberModule, OperationModule, ReadCacheModule, UpstreamClientModule],
  controllers: [EstateController],
  providers: [
    EstateDirectory,
    EstateEvents,
    EstateJob,
    EstateListStore,
    EstateLists,
    EstatePlatform,
    EstateReading,
    EstateReads,
    EstateRowsStore,
    EstateService,
    EstateWatch,
    EstateWrites,
  ],
  exports: [EstateEvents, EstateWatch],
})
export class EstateModule {}
