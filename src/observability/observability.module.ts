import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Log } from './log.ts';
import { Metrics } from './metrics.ts';
import { MetricsListener } from './metrics.listener.ts';

/** What every room may ask for: the log and the metrics. */
@Global()
@Module({})
export class ObservabilityModule {
  static with(log: Log): DynamicModule {
    return {
      module: ObservabilityModule,
      providers: [{ provide: Log, useValue: log }, Metrics, MetricsListener],
      exports: [Log, Metrics],
    };
  }
}
