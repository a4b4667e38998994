import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { CallerGuard } from '../caller/caller.guard.ts';
import { CallerModule } from '../caller/caller.module.ts';
import { ReadHandling } from '../operation/read-handling.ts';
import { UpstreamErrorInterceptor } from '../operation/upstream-error.interceptor.ts';
import { WriteHandling } from '../operation/write-handling.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { TenancyModule } from '../tenancy/tenancy.module.ts';
import { ActingUserGuard } from '../session/acting-user.guard.ts';
import { SessionModule } from '../session/session.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { TenancyGuard } from '../tenancy/tenancy.guard.ts';
import { ValidationGuard } from '../validation/validation.guard.ts';
import { ValidationModule } from '../validation/validation.module.ts';
import { Admission } from './admission.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { Connections } from './connections.ts';
import { CallerAdmission, Identification } from './identification.ts';
import { ProblemFilter } from './problem.filter.ts';
import { PublicTls } from './public-tls.ts';
import { RequestBodies } from './request-bodies.ts';
import { RequestHooks } from './request-hooks.ts';
import { RequestLog } from './request-log.ts';

/** The stages of Nest that every request passes, in this order (the stages are in `request/request-stages.ts`). */
@Module({
  imports: [
    CallerModule,
    OrderLedgerModule,
    ReadCacheModule,
    SessionModule,
    TenancyModule,
    UpstreamClientModule,
    ValidationModule,
  ],
  providers: [
    Admission,
    AllowedMethods,
    CallerAdmission,
    Connections,
    Identification,
    PublicTls,
    RequestBodies,
    RequestHooks,
    RequestLog,
    { provide: APP_GUARD, useClass: CallerGuard },
    { provide: APP_GUARD, useClass: ValidationGuard },
    { provide: APP_GUARD, useClass: ActingUserGuard },
    { provide: APP_GUARD, useExisting: TenancyGuard },
    ReadHandling,
    WriteHandling,
    { provide: APP_INTERCEPTOR, useClass: UpstreamErrorInterceptor },
    { provide: APP_FILTER, useClass: ProblemFilter },
  ],
  exports: [Admission],
})
export class HttpModule {}
