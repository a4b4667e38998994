import { Module } from '@nestjs/common';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { TenancyModule } from '../tenancy/tenancy.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { AddMembersService } from './add-members.service.ts';
import { EnterpriseMembersController } from './enterprise-members.controller.ts';
import { MemberAssetsController } from './member-assets.controller.ts';
import { MemberAssetsService } from './member-assets.service.ts';
import { MemberService } from './member.service.ts';
import { UnsettledDeletes } from './unsettled-deletes.ts';
import { OverviewService } from './overview.service.ts';

/** Public area 2: members, what is assigned and lent to them, and the overview of an enterprise. */
@Module({
  imports: [UpstreamClientModule, OrderLedgerModule, ReadCacheModule, TenancyModule],
  controllers: [EnterpriseMembersController, MemberAssetsController],
  providers: [AddMembersService, MemberAssetsService, MemberService, OverviewService, UnsettledDeletes],
})
export class MemberModule {}
