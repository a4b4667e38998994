import { Injectable } from '@nestjs/common';
import { pageOf, type PageQuery } from '../operation/page.dto.ts';
import { taggedWith } from '../operation/response.ts';
import { ReadCache, type Source } from '../read-cache/read-cache.ts';
import type { CallContext } from '../request/call-context.ts';
import { ifShown } from '../upstream/if-shown.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { nothing } from '../upstream/wire/reader.ts';
import { filterable, notWhole, type WholeList, wholeOf } from '../upstream/wire/whole-list.ts';
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
import {
  type CameAssetNums,
  type CameLentLocks,
  FREE_FIELDS,
  isFree,
  type NumberField,
  toAssetNums,
  toLentLocks,
} from './member.mapper.ts';

/** The fields by which each filter decides. */
const LOCK_FILTERS = {
  memberGlobalId: ['assetNum', 'cloudAccountGlobalId'],
  lent: ['assetNum', 'borrowedFlag'],
} as const;
const NUMBER_FILTERS = { ...LOCK_FILTERS, free: FREE_FIELDS, online: ['assetNum', 'onlineFlag'] } as const;

@Injectable()
export class MemberAssetsService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly cache: ReadCache,
    private readonly readings: PlatformReadings,
  ) {}

  async listAssetNums(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListAssetNumsQuery,
  ): Promise<AssetNumPageDto> {
    const list = await this.#assetNums(call, enterpriseGlobalId);
    const { free, online } = wanted;
    // A missing owner must not mark a number as free, or hide it from the member who has it.
    const shown = filterable('listAssetNums', list, NUMBER_FILTERS, wanted).filter(
      (each) =>
        isWanted(each, wanted) &&
        (free === undefined || free === isFree(each)) &&
        (online === undefined || online === (each.online === true)),
    );
    return wanted.memberGlobalId === undefined ? pageOf(shown, wanted) : pageOfMember(shown, wanted);
  }

  async listLentLocks(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListLentLocksQuery,
  ): Promise<LentLockPageDto> {
    const list = await this.#lentLocks(call, enterpriseGlobalId);
    const locks = filterable('listLentLocks', list, LOCK_FILTERS, wanted);
    return pageOf(
      locks.filter((lock) => isWanted(lock, wanted)),
      wanted,
    );
  }

  /** Returns all asset numbers of an enterprise, for a decision by `fields`. `fresh` bypasses the cache. */
  async wholeAssetNums(
    call: CallContext,
    enterpriseGlobalId: string,
    {
      fresh,
      fields = ['cloudAccountGlobalId'],
    }: { readonly fresh?: boolean; readonly fields?: readonly NumberField[] } = {},
  ): Promise<WholeList<AssetNumDto>> {
    const list = await this.#assetNums(call, enterpriseGlobalId, fresh);
    return wholeOf('listAssetNums', list, ['assetNum', ...fields]);
  }

  /** Returns all lent locks of an enterprise, for a decision by their numbers. `fresh` bypasses the cache. */
  async wholeLentLocks(
    call: CallContext,
    enterpriseGlobalId: string,
    { fresh }: { readonly fresh?: boolean } = {},
  ): Promise<WholeList<LentLockDto>> {
    const list = await this.#lentLocks(call, enterpriseGlobalId, fresh);
    const locks = wholeOf('listLentLocks', list, ['assetNum']);
    // A lock that comes without its number may be the one that is sought.
    if (locks.some(({ assetNum }) => assetNum === null)) throw notWhole('listLentLocks');
    return locks;
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

  #lentLocks(call: CallContext, enterpriseGlobalId: string, fresh?: boolean): Promise<CameLentLocks> {
    const source: Source<CameLentLocks> = {
      operation: 'listLentLocks',
      result: 'lentLocks',
      ids: { enterpriseGlobalId },
      decode: (data, notes) => toLentLocks(data, notes, this.readings.nullIsEmpty),
    };
    return this.cache.read(source, call, fresh);
  }

  getAssetProducts(call: CallContext, { enterpriseGlobalId, assetId }: AssetPath): Promise<AssetProductsDto> {
    const source: Source<AssetProductsDto> = {
      operation: 'listAssetProducts',
      ids: { assetId },
      enterpriseGlobalId,
      decode: (data, notes) => toAssetProducts(data, this.readings.timestampUnit, notes),
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
      const terms = { fresh: true, fields: FREE_FIELDS };
      const all = await ifShown(() => this.wholeAssetNums(call, enterpriseGlobalId, terms));
      for (const assetId of assetIds) {
        const asset = all?.find((each) => each.assetId === assetId);
        const what = { enterpriseGlobalId, memberGlobalId, assetId, assetNum: asset?.assetNum ?? null };
        dryRun.add('loan-made', { ...what, readable: asset !== undefined });
      }
    }
    const body = { borrowedUsbKey: lentLockNum, assetIDs: assetIds };
    return this.upstream.call('borrowAssets', call, { ids: { memberGlobalId }, body }, nothing);
  }
}

/**
 * Returns one page of the numbers of a member. Its tag changes with every number of the member, also on other pages, because `If-Match`
 * guards all of them.
 */
export function pageOfMember(own: readonly AssetNumDto[], wanted: PageQuery): AssetNumPageDto {
  const page = pageOf(own, wanted);
  return page.items.length === own.length ? page : taggedWith(page, own);
}

/** True if the number or lock passes the filters that both lists have. */
function isWanted(
  { memberGlobalId, lent }: AssetNumDto | LentLockDto,
  wanted: Pick<ListLentLocksQuery, 'memberGlobalId' | 'lent'>,
): boolean {
  return (
    (wanted.memberGlobalId === undefined || wanted.memberGlobalId === memberGlobalId) &&
    (wanted.lent === undefined || wanted.lent === (lent === true))
  );
}
