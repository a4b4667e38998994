import { Module } from '@nestjs/common';
import { BudgetsModule } from '../budgets/budgets.module.ts';
import { EstateModule } from '../estate/estate.module.ts';
import { JobsModule } from '../jobs/jobs.module.ts';
import { HttpModule } from '../http/http.module.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { OrderModule } from '../order/order.module.ts';
import { ReconciliationModule } from '../reconciliation/reconciliation.module.ts';
import { TokenModule } from '../token/token.module.ts';
import { WebhooksModule } from '../webhooks/webhooks.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { Console } from './console.ts';
import { ComingOrders } from './coming-orders.ts';
import { ConsoleData } from './console-data.ts';
import { DoubtedOrders } from './doubts.ts';
import { KnownWebhooks } from './known-webhooks.ts';
import { PlatformWatch } from './platform-attention.ts';
import { RecentJobs } from './recent-jobs.ts';
import { ReplicaWatch } from './replica-attention.ts';

/** The operator's page on the management listener. */
@Module({
  imports: [
    BudgetsModule,
    EstateModule,
    HttpModule,
    JobsModule,
    OrderLedgerModule,
    OrderModule,
    ReconciliationModule,
    TokenModule,
    UpstreamClientModule,
    WebhooksModule,
  ],
  providers: [
    ComingOrders,
    DoubtedOrders,
    KnownWebhooks,
    PlatformWatch,
    RecentJobs,
    ReplicaWatch,
    ConsoleData,
    Console,
  ],
})
export class ConsoleModule {}
