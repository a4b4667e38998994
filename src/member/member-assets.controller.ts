import { Body, Controller, Get, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiExtension, ApiHeader, ApiTags } from '@nestjs/swagger';
import { Call, HeaderValue } from '../request/request-stages.ts';
import { EnterprisePath } from '../operation/enterprise-path.dto.ts';
import { Operation, type OperationSpec } from '../operation/operation.decorator.ts';
import type { CallContext } from '../request/call-context.ts';
import { AssetPath, AssetProductsDto } from './dto/asset-products.dto.ts';
import { EnterpriseMemberPath } from './dto/member.dto.ts';
import {
  AssetNumPageDto,
  ChangeAssetNumsDto,
  LendAssetsDto,
  LentLockPageDto,
  ListAssetNumsQuery,
  ListLentLocksQuery,
  RightsChangeDto,
  SetAssetNumsDto,
} from './dto/member-assets.dto.ts';
import { OverviewDto } from './dto/overview.dto.ts';
import { MemberAssetsService } from './member-assets.service.ts';
import { MemberRightsService } from './member-rights.service.ts';
import { OverviewService } from './overview.service.ts';

const READ_FIRST =
  'The gateway first reads the current state past the cache, so a caller may repeat the request, also after a lost response. Where another ' +
  'member has a number, the response is 409 `asset-assigned-twice` with `conflicts`, and nothing is sent.';

const ifMatchHeader = {
  name: 'If-Match',
  required: false,
  description:
    'The `ETag` of `listAssetNums` with this `memberGlobalId` and no other parameter. It stands for all numbers of the member, also for those on ' +
    'further pages: 412 where one has changed since, unless nothing is left to change',
};

/** The options that both operations on the rights of a member share. */
const RIGHTS_CHANGE = {
  effect: 'write',
  scope: 'members:write',
  upstream: 'changePrivileges',
  // The member's numbers are read first.
  problems: ['precondition-failed', 'account-not-bound'],
  success: [{ status: 200, description: 'What changed', type: RightsChangeDto }],
} satisfies Partial<OperationSpec>;

@ApiTags('Members')
@Controller('v1')
export class MemberAssetsController {
  constructor(
    private readonly assets: MemberAssetsService,
    private readonly rights: MemberRightsService,
    private readonly overview: OverviewService,
  ) {}

  @Operation({
    id: 'listAssetNums',
    summary: 'Page through the asset numbers of an enterprise and the members that have them',
    effect: 'read',
    scope: 'members:read',
    upstream: 'listAssetNums',
    paged: true,
    success: [{ status: 200, description: 'One page; empty after the last page', type: AssetNumPageDto }],
  })
  @Get('enterprises/:enterpriseGlobalId/asset-nums')
  listAssetNums(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Query() query: ListAssetNumsQuery,
  ): Promise<AssetNumPageDto> {
    return this.assets.listAssetNums(call, enterpriseGlobalId, query);
  }

  @Operation({
    id: 'listLentLocks',
    summary: 'Page through the lent locks of an enterprise and the members that have them',
    effect: 'read',
    scope: 'members:read',
    upstream: 'listLentLocks',
    paged: true,
    success: [{ status: 200, description: 'One page; empty after the last page', type: LentLockPageDto }],
  })
  @Get('enterprises/:enterpriseGlobalId/lent-locks')
  listLentLocks(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Query() query: ListLentLocksQuery,
  ): Promise<LentLockPageDto> {
    return this.assets.listLentLocks(call, enterpriseGlobalId, query);
  }

  @Operation({
    id: 'getAssetProducts',
    summary: 'List the products and packages on an asset',
    effect: 'read',
    scope: 'members:read',
    upstream: 'listAssetProducts',
    success: [
      { status: 200, description: 'Single products, and the trees of packages', type: AssetProductsDto },
    ],
  })
  @Get('enterprises/:enterpriseGlobalId/assets/:assetId/products')
  getAssetProducts(@Call() call: CallContext, @Param() asset: AssetPath): Promise<AssetProductsDto> {
    return this.assets.getAssetProducts(call, asset);
  }

  @Operation({
    id: 'setMemberAssetNums',
    summary: 'Replace the asset numbers of a member',
    description: `The gateway sends only the difference to the numbers that the member has. ${READ_FIRST}`,
    ...RIGHTS_CHANGE,
    dryRun: true,
    body: SetAssetNumsDto,
  })
  @Put('enterprises/:enterpriseGlobalId/members/:memberGlobalId/asset-nums')
  @ApiHeader(ifMatchHeader)
  @ApiExtension('x-upstream-also', ['listAssetNums'])
  setMemberAssetNums(
    @Call() call: CallContext,
    @Param() member: EnterpriseMemberPath,
    @Body() wanted: SetAssetNumsDto,
    @HeaderValue('if-match') ifMatch?: string,
  ): Promise<RightsChangeDto> {
    return this.rights.set(call, member, wanted, ifMatch);
  }

  @Operation({
    id: 'changeMemberAssetNums',
    summary: 'Assign asset numbers to a member, and withdraw others',
    description: `Numbers that the member already has are in \`kept\`. Numbers to withdraw that it no longer has are left out. ${READ_FIRST}`,
    ...RIGHTS_CHANGE,
    dryRun: { with: 'setMemberAssetNums', own: 'patch', takes: isChange },
    body: ChangeAssetNumsDto,
  })
  @Patch('enterprises/:enterpriseGlobalId/members/:memberGlobalId/asset-nums')
  @ApiHeader(ifMatchHeader)
  @ApiExtension('x-upstream-also', ['listAssetNums'])
  changeMemberAssetNums(
    @Call() call: CallContext,
    @Param() member: EnterpriseMemberPath,
    @Body() changes: ChangeAssetNumsDto,
    @HeaderValue('if-match') ifMatch?: string,
  ): Promise<RightsChangeDto> {
    return this.rights.change(call, member, changes, ifMatch);
  }

  @Operation({
    id: 'lendAssets',
    summary: "Move the product rights of a member's assets into a lent lock",
    effect: 'write',
    scope: 'members:write',
    upstream: 'borrowAssets',
    idempotency: 'key',
    keyExample: 'example-of-lend-assets-1',
    dryRun: true,
    // A caller that is bound to enterprises names assets and lent locks that are looked up.
    problems: ['asset-not-found', 'account-not-bound'],
    success: [{ status: 204, description: 'Lent' }],
    body: LendAssetsDto,
  })
  @Post('enterprises/:enterpriseGlobalId/members/:memberGlobalId/loans')
  lendAssets(
    @Call() call: CallContext,
    @Param() member: EnterpriseMemberPath,
    @Body() loan: LendAssetsDto,
  ): Promise<void> {
    return this.assets.lendAssets(call, member, loan);
  }

  @Operation({
    id: 'getOverview',
    summary: 'Count the members, asset numbers, lent locks and assets of an enterprise',
    description:
      'The gateway makes four reads at the same time. A section whose read failed is null and named in `unreachable` with the code of its problem. Where ' +
      'all fail, the response is the problem of the first. The caller needs the scope `orders:read` too.',
    effect: 'read',
    scope: 'members:read',
    alsoScopes: () => ['orders:read'],
    upstream: 'listMembers',
    // A success may lack a section that can be read a moment later, so it is not cached.
    isUncached: true,
    success: [{ status: 200, description: 'The sections that could be read', type: OverviewDto }],
  })
  @Get('enterprises/:enterpriseGlobalId/overview')
  @ApiExtension('x-upstream-also', ['listAssetNums', 'listLentLocks', 'listAssets'])
  getOverview(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
  ): Promise<OverviewDto> {
    return this.overview.getOverview(call, enterpriseGlobalId);
  }
}

/** True for a change. Its two lists have other names than the one of `setMemberAssetNums`. */
function isChange(body: unknown): boolean {
  return typeof body === 'object' && body !== null && ('assign' in body || 'withdraw' in body);
}
