import { Module } from '@nestjs/common';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { IdLists } from './id-lists.ts';
import { OwnershipCheck } from './ownership-check.ts';
import { Reservations } from './reservations.ts';
import { TenancyGuard } from './tenancy.guard.ts';

@Module({
  imports: [OrderLedgerModule, ReadCacheModule, UpstreamClientModule],
  providers: [IdLists, OwnershipCheck, Reservations, TenancyGuard],
  exports: [Reservations, TenancyGuard],
})
export class TenancyModule {}
