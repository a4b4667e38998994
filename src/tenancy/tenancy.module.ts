import { Module } from '@nestjs/common';
import { OrderStoreModule } from '../order-store/order-store.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { IdLists } from './id-lists.ts';
import { OwnershipCheck } from './ownership-check.ts';
import { Reservations } from './reservations.ts';
import { TenancyGuard } from './tenancy.guard.ts';

@Module({
  imports: [OrderStoreModule, ReadCacheModule, UpstreamClientModule],
  providers: [IdLists, OwnershipCheck, Reservations, TenancyGuard],
  exports: [Reservations, TenancyGuard],
})
export class TenancyModule {}
