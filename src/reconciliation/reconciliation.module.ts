import { Module } from '@nestjs/common';
import { OrderStoreConfig, UpstreamConfig } from '../config/app-config.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { Log } from '../observability/log.ts';
import { environmentName } from '../redis/key-names.ts';
import { serverOf } from '../redis/redis-client.ts';
import { SessionModule } from '../session/session.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ATTEMPT_RUNNER, ReconciliationJob } from './reconciliation.job.ts';
import { AttemptHistory } from './attempt-history.ts';
import { ReconciliationSchedule } from './schedule.ts';
import { type AttemptRunner, ProcessRunner, QueuedRunner } from './attempt-runner.ts';
import { OrderReconciler } from './reconcile-order.ts';
import { PlatformSearch } from './platform-search.ts';

/** Searches the platform for orders with an unknown outcome. */
@Module({
  imports: [OrderLedgerModule, SessionModule, UpstreamClientModule],
  providers: [
    AttemptHistory,
    ReconciliationSchedule,
    PlatformSearch,
    OrderReconciler,
    ReconciliationJob,
    {
      provide: ATTEMPT_RUNNER,
      inject: [OrderStoreConfig, UpstreamConfig, Log],
      useFactory: (config: OrderStoreConfig, { baseUrl }: UpstreamConfig, log: Log): AttemptRunner => {
        const server = serverOf(config);
        return server ? new QueuedRunner(server, environmentName(baseUrl), log) : new ProcessRunner();
      },
    },
  ],
  exports: [AttemptHistory, PlatformSearch, ReconciliationSchedule],
})
export class ReconciliationModule {}
