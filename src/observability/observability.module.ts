import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Log } from './log.ts';
import { Metrics } from './metrics.ts';
import { ManagementListener } from './management.listener.ts';

@Global()
@Module({})
export class ObservabilityModule {
  static with(log: Log): DynamicModule {
    return {
      module: ObservabilityModule,
      providers: [{ provide: Log, useValue: log }, Metrics, ManagementListener],
      exports: [Log, ManagementListener, Metrics],
    };
  }
}
