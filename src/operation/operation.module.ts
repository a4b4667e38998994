import { Module } from '@nestjs/common';
import { OrderStoreModule } from '../order-store/order-store.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { TenancyModule } from '../tenancy/tenancy.module.ts';

/** What the interceptors of `@Operation` need: every module whose controllers have operations imports it. */
@Module({
  imports: [ReadCacheModule, OrderStoreModule, TenancyModule],
  exports: [ReadCacheModule, OrderStoreModule, TenancyModule],
})
export class OperationModule {}
