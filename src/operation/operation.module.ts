import { Module } from '@nestjs/common';
import { OrderStoreModule } from '../order-store/order-store.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { TenancyModule } from '../tenancy/tenancy.module.ts';
import { Watchers } from './watchers.ts';

/** What the interceptors of `@Operation` need: every module whose controllers have operations imports it. */
@Module({
  imports: [ReadCacheModule, OrderStoreModule, TenancyModule],
  providers: [Watchers],
  exports: [ReadCacheModule, OrderStoreModule, TenancyModule, Watchers],
})
export class OperationModule {}
