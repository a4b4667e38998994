import { Module } from '@nestjs/common';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { Belongings } from './belongings.ts';
import { EnterpriseLists } from './enterprise-lists.ts';
import { PlatformLists } from './platform-lists.ts';
import { Reservations } from './reservations.ts';
import { TenancyGuard } from './tenancy.guard.ts';

/** Looks up before each handler whether the caller may reach the ids of a request. */
@Module({
  imports: [OrderLedgerModule, ReadCacheModule, UpstreamClientModule],
  providers: [Belongings, EnterpriseLists, PlatformLists, Reservations, TenancyGuard],
  exports: [Reservations, TenancyGuard],
})
export class TenancyModule {}
