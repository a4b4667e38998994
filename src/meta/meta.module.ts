import { Module } from '@nestjs/common';
import { HttpModule } from '../http/http.module.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { TokenModule } from '../token/token.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { HealthController } from './health.controller.ts';
import { ProblemsController } from './problems.controller.ts';

/** The gateway about itself: its health and its catalogue of problems. */
@Module({
  imports: [HttpModule, OrderLedgerModule, TokenModule, UpstreamClientModule],
  controllers: [HealthController, ProblemsController],
})
export class MetaModule {}
