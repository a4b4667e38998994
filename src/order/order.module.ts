import { Module } from '@nestjs/common';
import { BudgetsModule } from '../budgets/budgets.module.ts';
import { CallerModule } from '../caller/caller.module.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { TenancyModule } from '../tenancy/tenancy.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { AssetContents } from './asset-contents.ts';
import { DeletionEffects } from './deletion-effects.ts';
import { DueCallers } from './due-callers.ts';
import { DueOrders } from './due-orders.ts';
import { EnterprisesController } from './enterprises.controller.ts';
import { LaterOrders } from './later-orders.ts';
import { LicenseOrderService } from './license-order.service.ts';
import { LicenseOrdersController } from './license-orders.controller.ts';
import { LocksController } from './locks.controller.ts';
import { OrderAssetsService } from './order-assets.service.ts';
import { OrderRecordsService } from './order-records.service.ts';
import { OrderService } from './order.service.ts';
import { ScheduledOrders } from './scheduled-orders.ts';

/** Public area 1: enterprises, customers, licence orders, locks, asset numbers. */
@Module({
  imports: [
    BudgetsModule,
    CallerModule,
    OrderLedgerModule,
    ReadCacheModule,
    TenancyModule,
    UpstreamClientModule,
  ],
  controllers: [EnterprisesController, LicenseOrdersController, LocksController],
  providers: [
    AssetContents,
    DeletionEffects,
    DueCallers,
    DueOrders,
    LaterOrders,
    LicenseOrderService,
    OrderAssetsService,
    OrderRecordsService,
    OrderService,
    ScheduledOrders,
  ],
  exports: [DueOrders],
})
export class OrderModule {}
