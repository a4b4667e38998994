import { Module } from '@nestjs/common';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ReconciliationJob } from './reconciliation.job.ts';
import { AttemptStore } from './attempt-store.ts';
import { ReconciliationSchedule } from './schedule.ts';
import { OrderReconciler } from './reconcile-order.ts';
import { TaughtOrders } from './taught-orders.ts';

@Module({
  imports: [OrderLedgerModule, UpstreamClientModule],
  providers: [AttemptStore, ReconciliationSchedule, OrderReconciler, ReconciliationJob, TaughtOrders],
  exports: [AttemptStore, ReconciliationSchedule],
})
export class ReconciliationModule {}
