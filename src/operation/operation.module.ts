import { Module } from '@nestjs/common';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { TenancyModule } from '../tenancy/tenancy.module.ts';
import { Watchers } from './watchers.ts';

/** What the interceptors of `@Operation` need: every module whose controllers have operations imports it. */
@Module({
  imports: [ReadCacheModule, OrderLedgerModule, TenancyModule],
  providers: [Watchers],
  exports: [ReadCacheModule, OrderLedgerModule, TenancyModule, Watchers],
})
export class OperationModule {}
