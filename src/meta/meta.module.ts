import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { HttpModule } from '../http/http.module.ts';
import { OperationModule } from '../operation/operation.module.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { TokenModule } from '../token/token.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { CallersController } from './callers.controller.ts';
import { DeclaredProblems } from './declared-problems.ts';
import { GapsController } from './gaps.controller.ts';
import { HealthController } from './health.controller.ts';
import { MaintenanceController } from './maintenance.controller.ts';
import { ProblemsController } from './problems.controller.ts';

/** What the gateway says about itself: its health, its problems, what a caller may do, the gaps of the platform, and what operators have stopped. */
@Module({
  imports: [
    DiscoveryModule,
    OperationModule,
    HttpModule,
    OrderLedgerModule,
    TokenModule,
    UpstreamClientModule,
  ],
  providers: [DeclaredProblems],
  controllers: [
    ...[CallersController, GapsController, HealthController, MaintenanceController, ProblemsController],
  ],
})
export class MetaModule {}
