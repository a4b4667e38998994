import { Module } from '@nestjs/common';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ReconciliationJob } from './reconciliation.job.ts';
import { AttemptHistory } from './attempt-history.ts';
import { ReconciliationSchedule } from './schedule.ts';
import { OrderReconciler } from './reconcile-order.ts';
import { TaughtOrdersJob } from './taught-orders.job.ts';

@Module({
  imports: [OrderLedgerModule, UpstreamClientModule],
  providers: [AttemptHistory, ReconciliationSchedule, OrderReconciler, ReconciliationJob, TaughtOrdersJob],
  exports: [AttemptHistory, ReconciliationSchedule],
})
export class ReconciliationModule {}
