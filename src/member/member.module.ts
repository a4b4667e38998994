import { Module } from '@nestjs/common';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { AccountSuffixes } from './account-suffix.ts';
import { AddMembersService } from './add-members.service.ts';
import { EnterpriseMembersController } from './enterprise-members.controller.ts';
import { MemberAssetsController } from './member-assets.controller.ts';
import { MemberAssetsService } from './member-assets.service.ts';
import { MemberEdits } from './member-edits.ts';
import { MemberRightsService } from './member-rights.service.ts';
import { MemberSearch } from './member-search.ts';
import { MemberService, UnsettledDeletes } from './member.service.ts';
import { OverviewService } from './overview.service.ts';

/** Public area 2: members, their assets and lent locks, and the overview of an enterprise. */
@Module({
  imports: [ReadCacheModule, UpstreamClientModule],
  controllers: [EnterpriseMembersController, MemberAssetsController],
  providers: [
    AccountSuffixes,
    AddMembersService,
    MemberAssetsService,
    MemberEdits,
    MemberRightsService,
    MemberSearch,
    MemberService,
    OverviewService,
    UnsettledDeletes,
  ],
  exports: [AccountSuffixes, AddMembersService, MemberSearch, MemberService],
})
export class MemberModule {}
