import { Module } from '@nestjs/common';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { IdLists } from './id-lists.ts';
import { OwnershipCheck } from './ownership-check.ts';
import { ReservationStore } from './state/reservation-store.ts';
import { Reservations } from './reservations.ts';
import { TenancyGuard } from './tenancy.guard.ts';

@Module({
  imports: [ReadCacheModule, UpstreamClientModule],
  providers: [IdLists, OwnershipCheck, ReservationStore, Reservations, TenancyGuard],
  exports: [Reservations, TenancyGuard],
})
export class TenancyModule {}
