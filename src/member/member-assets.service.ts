import { Injectable } from '@nestjs/common';
import { pageOf, type PageQuery } from '../operation/page.dto.ts';
import { taggedWith } from '../operation/response.ts';
import { ReadCache, type Source } from '../read-cache/read-cache.ts';
import type { CallContext } from '../request/call-context.ts';
import { ifShown } from '../upstream/if-shown.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { nothing } from '../upstream/wire/reader.ts';
import { type WholeList, wholeOf } from '../upstream/wire/whole-list.ts';
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
import {
  type CameAssetNums,
  type CameLentLocks,
  FREE_FIELDS,
  isFree,
  type LockField,
  type NumberField,
  toAssetNums,
  toLentLocks,
} from './member.mapper.ts';

/** The fields by which each filter decides. */
const LOCK_FILTERS = {
  memberGlobalId: ['cloudAccountGlobalId'],
  lent: ['borrowedFlag'],
} as const;
const NUMBER_FILTERS = { ...LOCK_FILTERS, free: FREE_FIELDS, online: ['onlineFlag'] } as const;

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
    // A missing owner must not mark a number as free, or hide it from the member who has it.
    const fields = fieldsOf<NumberField>(NUMBER_FILTERS, wanted);
    const assetNums =
      fields.length === 0
        ? await this.allAssetNums(call, enterpriseGlobalId)
        : await this.wholeAssetNums(call, enterpriseGlobalId, { fields });
    const shown = assetNums.filter((each) => isWanted(each, wanted));
    return wanted.memberGlobalId === undefined ? pageOf(shown, wanted) : pageOfMember(shown, wanted);
  }

  async listLentLocks(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListLentLocksQuery,
  ): Promise<LentLockPageDto> {
    const { lent, memberGlobalId } = wanted;
    const fields = fieldsOf<LockField>(LOCK_FILTERS, wanted);
    const locks =
      fields.length === 0
        ? (await this.#lentLocks(call, enterpriseGlobalId)).items
        : await this.wholeLentLocks(call, enterpriseGlobalId, { fields });
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

  /** Returns all lent locks of an enterprise, for a decision by their numbers and `fields`. `fresh` bypasses the cache. */
  async wholeLentLocks(
    call: CallContext,
    enterpriseGlobalId: string,
    { fresh, fields = [] }: { readonly fresh?: boolean; readonly fields?: readonly LockField[] } = {},
  ): Promise<WholeList<LentLockDto>> {
    const list = await this.#lentLocks(call, enterpriseGlobalId, fresh);
    return wholeOf('listLentLocks', list, ['assetNum', ...fields]);
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
    const body: WireLoan = { borrowedUsbKey: lentLockNum, assetIDs: assetIds };
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

/** Returns the fields by which the filters of a request decide. */
function fieldsOf<Field extends string>(
  filters: Readonly<Record<string, readonly Field[]>>,
  wanted: object,
): readonly Field[] {
  return Object.entries(wanted).flatMap(([name, value]) =>
    value === undefined ? [] : (filters[name] ?? []),
  );
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
