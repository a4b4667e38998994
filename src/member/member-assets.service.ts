import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { pageOf } from '../operation/page.dto.ts';
import { ReadCache, type Source } from '../read-cache/read-cache.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { nothing } from '../upstream/wire/reader.ts';
import type { WireLoan } from '../upstream/wire/member.ts';
import { toAssetProducts } from './asset-products.mapper.ts';
import type { AssetPath, AssetProductsDto } from './dto/asset-products.dto.ts';
import type {
  AssetNumDto,
  AssetNumPageDto,
  LendAssetsDto,
  LentLockDto,
  LentLockPageDto,
  ListAssetNumsQuery,
  ListLentLocksQuery,
} from './dto/member-assets.dto.ts';
import type { EnterpriseMemberPath } from './dto/member.dto.ts';
import { isFree, toAssetNums, toLentLocks } from './member.mapper.ts';

@Injectable()
export class MemberAssetsService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly cache: ReadCache,
    private readonly config: UpstreamConfig,
  ) {}

  async listAssetNums(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListAssetNumsQuery,
  ): Promise<AssetNumPageDto> {
    const assetNums = await this.allAssetNums(call, enterpriseGlobalId);
    return pageOf(
      assetNums.filter((each) => isWanted(each, wanted)),
      wanted,
    );
  }

  async listLentLocks(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListLentLocksQuery,
  ): Promise<LentLockPageDto> {
    const { lent, memberGlobalId } = wanted;
    const locks = await this.allLentLocks(call, enterpriseGlobalId);
    return pageOf(
      locks.filter(
        (lock) =>
          (lent === undefined || lent === (lock.lent === true)) &&
          (memberGlobalId === undefined || memberGlobalId === lock.memberGlobalId),
      ),
      wanted,
    );
  }

  /** All asset numbers of an enterprise, fetched once for all filters and pages. `fresh` bypasses the cache. */
  allAssetNums(
    call: CallContext,
    enterpriseGlobalId: string,
    fresh?: boolean,
  ): Promise<readonly AssetNumDto[]> {
    const ids = { enterpriseGlobalId };
    return this.cache.read({ operation: 'listAssetNums', ids, decode: toAssetNums }, call, fresh);
  }

  allLentLocks(call: CallContext, enterpriseGlobalId: string): Promise<readonly LentLockDto[]> {
    const ids = { enterpriseGlobalId };
    return this.cache.read({ operation: 'listLentLocks', ids, decode: toLentLocks }, call);
  }

  getAssetProducts(call: CallContext, { enterpriseGlobalId, assetId }: AssetPath): Promise<AssetProductsDto> {
    const source: Source<AssetProductsDto> = {
      operation: 'listAssetProducts',
      ids: { assetId },
      enterpriseGlobalId,
      decode: (data, notes) => toAssetProducts(data, this.config.timestampUnit, notes),
    };
    return this.cache.read(source, call);
  }

  async lendAssets(
    call: CallContext,
    { enterpriseGlobalId, memberGlobalId }: EnterpriseMemberPath,
    { lentLockNum, assetIds }: LendAssetsDto,
  ): Promise<void> {
    if (call.dryRun)
      for (const each of await this.allAssetNums(call, enterpriseGlobalId))
        if (each.assetId !== null && assetIds.includes(each.assetId))
          call.dryRun.effects.push({ assetId: each.assetId, free: isFree(each) });
    const body: WireLoan = { borrowedUsbKey: lentLockNum, assetIDs: assetIds };
    return this.upstream.call('borrowAssets', call, { ids: { memberGlobalId }, body }, nothing);
  }
}

function isWanted(
  assetNum: AssetNumDto,
  { memberGlobalId, free, lent, online }: ListAssetNumsQuery,
): boolean {
  return (
    (memberGlobalId === undefined || memberGlobalId === assetNum.memberGlobalId) &&
    (free === undefined || free === isFree(assetNum)) &&
    (lent === undefined || lent === (assetNum.lent === true)) &&
    (online === undefined || online === (assetNum.online === true))
  );
}
