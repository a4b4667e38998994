import { type DynamicModule, Global, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { ReadCacheModule } from './read-cache/read-cache.module.ts';
import { CallerGuard } from './caller/caller.guard.ts';
import { CallerAuthentication } from './caller/caller-authentication.ts';
import { CallerLimits } from './caller/caller-limits.ts';
import { CallerRegistry } from './caller/caller.registry.ts';
import { JwtCallers } from './caller/jwt-callers.ts';
import type { AppConfig } from './config/app-config.ts';
import { ConfigModule } from './config/config.module.ts';
import { ReconciliationModule } from './reconciliation/reconciliation.module.ts';
import { OrderLedgerModule } from './order-ledger/order-ledger.module.ts';
import { HealthController } from './meta/health.controller.ts';
import { HealthParts } from './meta/health-parts.ts';
import { Admission } from './http/admission.ts';
import { MemberModule } from './member/member.module.ts';
import { Log } from './observability/log.ts';
import { Metrics } from './observability/metrics.ts';
import { MetricsListener } from './observability/metrics.listener.ts';
import { UpstreamErrorInterceptor } from './operation/upstream-error.interceptor.ts';
import { OrderModule } from './order/order.module.ts';
import { AllowedMethods } from './http/allowed-methods.ts';
import { ProblemFilter } from './http/problem.filter.ts';
import { ProblemsController } from './meta/problems.controller.ts';
import { ActingUserGuard } from './session/acting-user.guard.ts';
import { SessionModule } from './session/session.module.ts';
import { SharedRedis } from './redis/shared-redis.ts';
import { TokenModule } from './token/token.module.ts';
import { UpstreamClientModule } from './upstream/upstream-client.module.ts';
import { RequestShapeGuard } from './validation/request-shape.guard.ts';
import { RequestValidationPipe } from './validation/validation.pipe.ts';

/** What every room may ask for: the log, the metrics, the shared store. */
@Global()
@Module({})
class FoundationModule {
  static with(log: Log): DynamicModule {
    const providers = [{ provide: Log, useValue: log }, Metrics, SharedRedis];
    return { module: FoundationModule, providers, exports: providers };
  }
}

@Module({})
export class AppModule {
  static with(config: AppConfig, log: Log): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        FoundationModule.with(log),
        TokenModule,
        UpstreamClientModule,
        ReadCacheModule,
        OrderLedgerModule,
        SessionModule,
        OrderModule,
        MemberModule,
        ReconciliationModule,
      ],
      controllers: [HealthController, ProblemsController],
      providers: [
        AllowedMethods,
        CallerAuthentication,
        CallerLimits,
        CallerRegistry,
        JwtCallers,
        HealthParts,
        Admission,
        MetricsListener,
        { provide: APP_GUARD, useClass: CallerGuard },
        { provide: APP_GUARD, useClass: RequestShapeGuard },
        { provide: APP_GUARD, useClass: ActingUserGuard },
        { provide: APP_PIPE, useClass: RequestValidationPipe },
        { provide: APP_INTERCEPTOR, useClass: UpstreamErrorInterceptor },
        { provide: APP_FILTER, useClass: ProblemFilter },
      ],
    };
  }
}
