import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { pageOf } from '../operation/page.dto.ts';
import { ReadCache, type Source } from '../read-cache/read-cache.ts';
import type { CallContext } from '../request/call-context.ts';
import { ifShown } from '../upstream/if-shown.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { nothing } from '../upstream/wire/reader.ts';
import { type CameList, type WholeList, wholeOf } from '../upstream/wire/whole-list.ts';
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
import { type CameAssetNums, isFree, toAssetNums, toLentLocks } from './member.mapper.ts';

@Injectable()
export class MemberAssetsService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly cache: ReadCache,
    private readonly config: UpstreamConfig,
    private readonly readings: PlatformReadings,
  ) {}

  async listAssetNums(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListAssetNumsQuery,
  ): Promise<AssetNumPageDto> {
    // A missing owner must not mark a number as free, or hide it from the member who has it.
    const { memberGlobalId, free } = wanted;
    const assetNums =
      memberGlobalId === undefined && free === undefined
        ? await this.allAssetNums(call, enterpriseGlobalId)
        : await this.wholeAssetNums(call, enterpriseGlobalId, { withLent: free !== undefined });
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

  /** Returns all asset numbers of an enterprise, to show them. */
  async allAssetNums(call: CallContext, enterpriseGlobalId: string): Promise<readonly AssetNumDto[]> {
    return (await this.#assetNums(call, enterpriseGlobalId)).items;
  }

  /**
   * Returns all asset numbers of an enterprise, for a decision. `fresh` bypasses the cache. `withLent` means that free numbers matter, so
   * each number has to say whether it is lent.
   */
  async wholeAssetNums(
    call: CallContext,
    enterpriseGlobalId: string,
    { fresh, withLent = false }: { readonly fresh?: boolean; readonly withLent?: boolean } = {},
  ): Promise<WholeList<AssetNumDto>> {
    const { items, isWhole, saysLent } = await this.#assetNums(call, enterpriseGlobalId, fresh);
    return wholeOf({ items, isWhole: isWhole && (saysLent || !withLent) });
  }

  /** Returns all lent locks of an enterprise, to show them. */
  async allLentLocks(call: CallContext, enterpriseGlobalId: string): Promise<readonly LentLockDto[]> {
    return (await this.#lentLocks(call, enterpriseGlobalId)).items;
  }

  /** Returns all lent locks of an enterprise, for a decision. */
  async wholeLentLocks(call: CallContext, enterpriseGlobalId: string): Promise<WholeList<LentLockDto>> {
    return wholeOf(await this.#lentLocks(call, enterpriseGlobalId));
  }

  /** Fetches the asset numbers once for all filters, pages and decisions. */
  #assetNums(call: CallContext, enterpriseGlobalId: string, fresh?: boolean): Promise<CameAssetNums> {
    const source: Source<CameAssetNums> = {
      operation: 'listAssetNums',
      result: 'assetNums',
      ids: { enterpriseGlobalId },
      decode: (data, notes) => toAssetNums(data, notes, this.readings.nullIsEmpty),
    };
    return this.cache.read(source, call, fresh);
  }

  #lentLocks(call: CallContext, enterpriseGlobalId: string): Promise<CameList<LentLockDto>> {
    const source: Source<CameList<LentLockDto>> = {
      operation: 'listLentLocks',
      result: 'lentLocks',
      ids: { enterpriseGlobalId },
      decode: (data, notes) => toLentLocks(data, notes, this.readings.nullIsEmpty),
    };
    return this.cache.read(source, call);
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
    const { dryRun } = call;
    if (dryRun) {
      const all = await ifShown(() => this.wholeAssetNums(call, enterpriseGlobalId, { withLent: true }));
      for (const assetId of assetIds) {
        const asset = all?.find((each) => each.assetId === assetId);
        const what = { enterpriseGlobalId, memberGlobalId, assetId, assetNum: asset?.assetNum ?? null };
        dryRun.add('loan-made', { ...what, readable: asset !== undefined });
      }
    }
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
