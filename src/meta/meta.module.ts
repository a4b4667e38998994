import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { HttpModule } from '../http/http.module.ts';
import { BudgetsModule } from '../budgets/budgets.module.ts';
import { TokenModule } from '../token/token.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { CallersController } from './callers.controller.ts';
import { DeclaredProblems } from './declared-problems.ts';
import { GapsController } from './gaps.controller.ts';
import { HealthController } from './health.controller.ts';
import { ProblemsController } from './problems.controller.ts';

/** What the gateway says about itself: its health, its problems, what a caller may do, the gaps of the platform, and what operators have stopped. */
@Module({
  imports: [DiscoveryModule, HttpModule, BudgetsModule, TokenModule, UpstreamClientModule],
  providers: [DeclaredProblems],
  controllers: [...[CallersController, GapsController, HealthController, ProblemsController]],
})
export class MetaModule {}
