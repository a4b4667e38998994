import { Module } from '@nestjs/common';
import { OrderStoreModule } from '../order-store/order-store.module.ts';
import { SessionModule } from '../session/session.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ReconciliationJob } from './reconciliation.job.ts';
import { AttemptHistory } from './attempt-history.ts';
import { ReconciliationSchedule } from './schedule.ts';
import { OrderReconciler } from './reconcile-order.ts';
import { PlatformSearch } from './platform-search.ts';

@Module({
  imports: [OrderStoreModule, SessionModule, UpstreamClientModule],
  providers: [AttemptHistory, ReconciliationSchedule, PlatformSearch, OrderReconciler, ReconciliationJob],
  exports: [AttemptHistory, PlatformSearch, ReconciliationSchedule],
})
export class ReconciliationModule {}
