import { type DynamicModule, Global, Module } from '@nestjs/common';
import { FollowedFiles } from './followed-files.ts';
import { Log } from './log.ts';
import { Metrics } from './metrics.ts';
import { ManagementListener } from './management.listener.ts';

@Global()
@Module({})
export class ObservabilityModule {
  static with(log: Log): DynamicModule {
    return {
      module: ObservabilityModule,
      providers: [{ provide: Log, useValue: log }, Metrics, FollowedFiles, ManagementListener],
      exports: [FollowedFiles, Log, ManagementListener, Metrics],
    };
  }
}
