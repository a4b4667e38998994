import { type DynamicModule, Module } from '@nestjs/common';
import { CallerRightsModule } from './caller/rights/caller-rights.module.ts';
import type { AppConfig } from './config/app-config.ts';
import { ConfigModule } from './config/config.module.ts';
import { ConsoleModule } from './console/console.module.ts';
import { MaintenanceModule } from './maintenance/maintenance.module.ts';
import { DatabaseModule } from './database/database.module.ts';
import { DocumentationModule } from './documentation/documentation.module.ts';
import { EstateModule } from './estate/estate.module.ts';
import { EventsModule } from './events/events.module.ts';
import { HealthModule } from './health/health.module.ts';
import { HttpModule } from './http/http.module.ts';
import { JobsModule } from './jobs/jobs.module.ts';
import { MemberModule } from './member/member.module.ts';
import type { Log } from './observability/log.ts';
import { ObservabilityModule } from './observability/observability.module.ts';
import { OrderModule } from './order/order.module.ts';
import { ReconciliationModule } from './reconciliation/reconciliation.module.ts';
import { RedisModule } from './redis/redis.module.ts';
import { SessionModule } from './session/session.module.ts';
import { GapListModule } from './upstream/gap-list/gap-list.module.ts';
import { WebhooksModule } from './webhooks/webhooks.module.ts';

@Module({})
export class AppModule {
  static with(config: AppConfig, log: Log): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        ObservabilityModule.with(log),
        RedisModule,
        DatabaseModule,
        CallerRightsModule,
        GapListModule,
        HealthModule,
        MaintenanceModule,
        DocumentationModule,
        HttpModule,
        SessionModule,
        OrderModule,
        // The jobs precede the members, because their routes are more specific.
        JobsModule,
        MemberModule,
        EstateModule,
        EventsModule,
        WebhooksModule,
        ReconciliationModule,
        ConsoleModule,
      ],
    };
  }
}
