import { Module } from '@nestjs/common';
import { DatabaseConfig } from '../config/app-config.ts';
import { Database } from '../database/database.ts';
import { SealedTexts } from '../database/sealed-texts.ts';
import { CallerModule } from '../caller/caller.module.ts';
import { MemberModule } from '../member/member.module.ts';
import { OperationModule } from '../operation/operation.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { SessionModule } from '../session/session.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { JobDispatcher } from './job-dispatcher.ts';
import { JobsController } from './jobs.controller.ts';
import { JobsService } from './jobs.service.ts';
import { ImportCallServices, JobUsers } from './member-imports/import-calls.ts';
import { ImportsService } from './member-imports/imports.service.ts';
import { MemberDirectory } from './member-imports/member-directory.ts';
import { MemberImportsController } from './member-imports/member-imports.controller.ts';
import { JobStore } from './store/job-store.ts';
import type { JobRoom } from './store/stored-job.ts';

const MIB = 1024 * 1024;
const ROOM: JobRoom = { unfinished: 256 * MIB, all: 1024 * MIB };
const ROOM_IN_MEMORY: JobRoom = { unfinished: 64 * MIB, all: 64 * MIB };

/** Runs long work on members: imports as jobs, with their progress and results, and exports. */
@Module({
  imports: [
    CallerModule,
    MemberModule,
    OperationModule,
    ReadCacheModule,
    SessionModule,
    UpstreamClientModule,
  ],
  controllers: [JobsController, MemberImportsController],
  providers: [
    ImportCallServices,
    ImportsService,
    JobDispatcher,
    JobUsers,
    JobsService,
    MemberDirectory,
    {
      provide: JobStore,
      inject: [Database, SealedTexts, DatabaseConfig],
      useFactory: (database: Database, texts: SealedTexts, { address }: DatabaseConfig) =>
        new JobStore(database, texts, address.kind === 'memory' ? ROOM_IN_MEMORY : ROOM),
    },
  ],
  exports: [JobDispatcher, JobStore, JobsService],
})
export class JobsModule {}
