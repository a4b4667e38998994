import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { nothing } from '../upstream/wire/reader.ts';
import type { WireLoan, WirePrivileges } from '../upstream/wire/member.ts';
import { toAssetProducts } from './asset-products.mapper.ts';
import type { AssetProductsDto } from './dto/asset-products.dto.ts';
import type { AssetNumDto, ChangeAssetNumsDto, LendAssetsDto, LentLockDto } from './dto/member-assets.dto.ts';
import { toAssetNums, toLentLocks } from './member.mapper.ts';

/** What members have: asset numbers, lent locks, products. */
@Injectable()
export class MemberAssetsService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
  ) {}

  listAssetNums(call: CallContext, enterpriseGlobalId: string): Promise<AssetNumDto[]> {
    return this.upstream.call('listAssetNums', call, { ids: { enterpriseGlobalId } }, toAssetNums);
  }

  listLentLocks(call: CallContext, enterpriseGlobalId: string): Promise<LentLockDto[]> {
    return this.upstream.call('listLentLocks', call, { ids: { enterpriseGlobalId } }, toLentLocks);
  }

  getAssetProducts(call: CallContext, assetId: string): Promise<AssetProductsDto> {
    return this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data, notes) =>
      toAssetProducts(data, this.config.timestampUnit, notes),
    );
  }

  /** Upstream requires both lists, also where one is empty. */
  changeAssetNums(
    call: CallContext,
    memberGlobalId: string,
    { assign, withdraw }: ChangeAssetNumsDto,
  ): Promise<void> {
    const body: WirePrivileges = { deleteAssets: withdraw, addAssets: assign };
    return this.upstream.call('changePrivileges', call, { ids: { memberGlobalId }, body }, nothing);
  }

  lendAssets(
    call: CallContext,
    memberGlobalId: string,
    { lentLockNum, assetIds }: LendAssetsDto,
  ): Promise<void> {
    const body: WireLoan = { borrowedUsbKey: lentLockNum, assetIDs: assetIds };
    return this.upstream.call('borrowAssets', call, { ids: { memberGlobalId }, body }, nothing);
  }
}
