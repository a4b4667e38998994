import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../config/app-config.ts';
import { ConfigModule } from '../config/config.module.ts';
import { MaintenanceStateModule } from '../maintenance/state/maintenance-state.module.ts';
import type { Log } from '../observability/log.ts';
import { ObservabilityModule } from '../observability/observability.module.ts';
import { RedisModule } from '../redis/redis.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';

/** The parts of the gateway that call the platform. Nothing listens, and nothing is shared with a running gateway. */
@Module({})
export class ConformanceModule {
  static with(config: AppConfig, log: Log): DynamicModule {
    // With the Redis of a gateway, its tokens would be used instead of the settings, and refused credentials would stop the gateway.
    const own = { ...config, redis: { ...config.redis, url: undefined } };
    return {
      module: ConformanceModule,
      imports: [
        ConfigModule.with(own),
        ObservabilityModule.with(log),
        MaintenanceStateModule,
        RedisModule,
        UpstreamClientModule,
      ],
    };
  }
}
