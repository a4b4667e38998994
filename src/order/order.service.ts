import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Reservations } from '../tenancy/reservations.ts';
import { type CallContext, isBound, isGranted } from '../request/call-context.ts';
import { type DryRun, DryRunStop } from '../request/dry-run.ts';
import { AliasUsers } from '../upstream/alias-users.ts';
import { ifShown, mayEnd } from '../upstream/if-shown.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { asProblem, problemFrom } from '../upstream/problems/as-problem.ts';
import { violation } from '../upstream/problems/violation.ts';
import { nothingIfUnknown } from '../upstream/unknown-enterprise.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { type NumberedAsset, type NumberedAssets, toNumberedAssets } from '../upstream/wire/member.ts';
import { nothing } from '../upstream/wire/reader.ts';
import { filterable, isWholeFor, notWhole, type WholeList, wholeOf } from '../upstream/wire/whole-list.ts';
import { licenseTypes } from '../upstream/wire/words.ts';
import { pageOf } from '../operation/page.dto.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { ReadCache, type Source } from '../read-cache/read-cache.ts';
import { chunksOf } from '../shared/chunks-of.ts';
import type { AssetDto, AssetPageDto, SoughtAssetPath, ListAssetsQuery } from './dto/asset.dto.ts';
import type {
  BindCustomerDto,
  CustomerDto,
  CustomerPageDto,
  FindCustomersQuery,
  UpdateCustomerDto,
} from './dto/customer.dto.ts';
import type { CreateEnterpriseDto, EnterpriseDto } from './dto/enterprise.dto.ts';
import type { LockResultsDto, LocksDto, ReserveAssetNumsDto, ReservedAssetNumsDto } from './dto/lock.dto.ts';
import {
  type CameAssets,
  type CameCustomers,
  type DecidingField,
  lockResultsOf,
  toAsset,
  toCameAssets,
  toCustomer,
  toCustomers,
  toEnterprise,
  toLockResults,
  toReservedAssetNums,
} from './order.mapper.ts';

/** The known licence types of assets that are no locks. */
const NO_LOCKS: ReadonlySet<string> = new Set(licenseTypes.words.filter((type) => !type.endsWith('usbkey')));

const NOT_ASKED =
  'The platform may list an asset in its member center only, and does not show that list to a user of the gateway, so the gateway cannot tell whether the asset exists.';

/** The fields by which each filter of the list of assets decides. */
const FILTERS: Readonly<Record<string, readonly DecidingField[]>> = {
  extendCode: ['assetExtends'],
  licenseType: ['licenseType'],
  assetNum: ['assetNum'],
  memberGlobalId: ['assignStatus'],
  lentLock: ['borrowedUsbKey'],
  endsBefore: ['limitEndTime'],
};

/** The operations of the order module except orders: each maps the request, calls the platform and maps the response. */
@Injectable()
export class OrderService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly cache: ReadCache,
    private readonly config: UpstreamConfig,
    private readonly reservations: Reservations,
    private readonly readings: PlatformReadings,
    private readonly users: AliasUsers,
  ) {}

  bindCustomer(call: CallContext, customer: BindCustomerDto): Promise<CustomerDto> {
    return this.upstream.call('bindCustomer', call, { body: customer }, toCustomer);
  }

  async findCustomers(call: CallContext, wanted: FindCustomersQuery): Promise<CustomerPageDto> {
    const { channelCode, channelCustomerId, defaultOnly } = wanted;
    const query = { channelCode, channelCustomerId, defaultCustomer: defaultOnly ? 'Y' : 'N' };
    const source: Source<CameCustomers> = {
      operation: 'queryCustomers',
      result: 'cameCustomers',
      query,
      decode: toCustomers,
    };
    const { items, lacking } = await this.cache.read(source, call);
    // A channel has customers of several enterprises.
    const { enterprises } = call.caller.grants;
    if (!enterprises.has('*') && lacking.length > 0) throw notWhole('queryCustomers');
    return pageOf(
      items.filter(({ enterpriseGlobalId }) => isGranted(enterprises, enterpriseGlobalId ?? '')),
      wanted,
    );
  }

  async updateCustomer(call: CallContext, crmCustomerId: string, changes: UpdateCustomerDto): Promise<void> {
    this.readings.assertClears('customerEdit', changes);
    const { customerName, branchName, address } = changes;
    const body = {
      ...{ crmCustomerId, customerName },
      branchName: branchName ?? undefined,
      address: address ?? undefined,
    };
    await this.upstream.call('updateCustomer', call, { body }, nothing);
  }

  createEnterprise(call: CallContext, enterprise: CreateEnterpriseDto): Promise<EnterpriseDto> {
    return this.upstream.call('createEnterprise', call, { body: enterprise }, toEnterprise);
  }

  /** Returns the assets of an enterprise as they came. All operations share one cached list. `fresh` bypasses the cache. */
  cameAssets(call: CallContext, enterpriseGlobalId: string, fresh?: boolean): Promise<CameAssets> {
    return this.cache.read(this.#assetList(enterpriseGlobalId), call, fresh);
  }

  /** Returns all assets of an enterprise as they are now, for a decision by their ids and `fields`. */
  async wholeAssets(
    call: CallContext,
    enterpriseGlobalId: string,
    fields: readonly DecidingField[] = [],
  ): Promise<WholeList<AssetDto>> {
    return wholeOf('listAssets', await this.cameAssets(call, enterpriseGlobalId, true), fields);
  }

  async listAssets(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListAssetsQuery,
  ): Promise<AssetPageDto> {
    const { extendCode, ...filters } = wanted;
    const source = this.#assetList(enterpriseGlobalId, extendCode);
    const none = nothingIfUnknown(this.upstream, call, enterpriseGlobalId);
    const list = await this.cache
      .read(source, call)
      .catch(async (error): Promise<CameAssets> => ({ items: await none(error), came: true, lacking: [] }));
    const hasCode = ({ extensions }: AssetDto) => extensions.some(({ code }) => code === extendCode);
    const known = this.readings.of('extendCode');
    // The platform lists assets without the property too. A list that shows the property of some assets tells it by the others.
    const isUnfiltered = known
      ? known !== 'assets'
      : isWholeFor(list, ['assetExtends']) && list.items.some(hasCode);
    const sought = isUnfiltered ? extendCode : undefined;
    const assets = filterable('listAssets', list, FILTERS, { ...filters, extendCode: sought });
    return pageOf(
      assets.filter((asset) => (sought === undefined || hasCode(asset)) && isWanted(asset, wanted)),
      wanted,
    );
  }

  async getAsset(call: CallContext, { enterpriseGlobalId, assetId }: SoughtAssetPath): Promise<AssetDto> {
    const wanted = (assets: readonly AssetDto[]) => assets.find((each) => each.assetId === assetId);
    // A list for display may lack assets. Only a whole list proves that an asset does not exist.
    const sought = async () =>
      wanted((await this.cameAssets(call, enterpriseGlobalId)).items) ??
      wanted(await this.wholeAssets(call, enterpriseGlobalId)) ??
      wanted(await this.#assetsOfMembers(call, enterpriseGlobalId));
    const none = nothingIfUnknown(this.upstream, call, enterpriseGlobalId);
    const asset = await sought().catch(async (error: unknown) => wanted(await none(error)));
    if (!asset) throw new ProblemException('asset-not-found');
    return asset;
  }

  /**
   * Returns the assets that only the member center may list (member #6), as its user of the call sees them. None where the order module is known
   * to list all assets (reading `assetList`). `fresh` bypasses the cache.
   */
  async numberedAssets(
    call: CallContext,
    enterpriseGlobalId: string,
    fresh?: boolean,
  ): Promise<readonly NumberedAsset[]> {
    if (this.readings.of('assetList') === 'all') return [];
    const source: Source<NumberedAssets> = {
      operation: 'listAssetNums',
      result: 'numberedAssets',
      ids: { enterpriseGlobalId },
      decode: (data, notes) => toNumberedAssets(data, this.readings.nullIsEmpty, notes),
    };
    return wholeOf('listAssetNums', await this.cache.read(source, call, fresh), ['assetId']);
  }

  /** Reads {@link numberedAssets} on the gateway's own behalf, for a caller who names no user. Throws 502 where the platform does not show them. */
  async #assetsOfMembers(call: CallContext, enterpriseGlobalId: string): Promise<readonly AssetDto[]> {
    // A gateway without users works with the order module alone.
    if (this.readings.of('assetList') === 'all' || this.users.size === 0) return [];
    const user = this.users.forEnterprise(enterpriseGlobalId);
    if (!user) throw violation(NOT_ASKED, { operation: 'listAssets', status: 200 });
    try {
      return (await this.numberedAssets({ ...call, user }, enterpriseGlobalId, true)).map(toAsset);
    } catch (error) {
      const problem = problemFrom(error);
      if (mayEnd(problem)) throw problem;
      throw violation(NOT_ASKED, problem.body.upstream);
    }
  }

  #assetList(enterpriseGlobalId: string, extendCode?: string): Source<CameAssets> {
    return {
      operation: 'listAssets',
      result: 'cameAssets',
      ids: { enterpriseGlobalId },
      query: { extendCode },
      decode: (data, notes) =>
        toCameAssets(data, this.config.timestampUnit, this.readings.nullIsEmpty, notes),
    };
  }

  /** Makes several calls where the platform takes fewer locks at once. */
  async switchLocks(
    call: CallContext,
    operation: 'disableLocks' | 'enableLocks',
    enterpriseGlobalId: string,
    locks: LocksDto,
  ): Promise<LockResultsDto> {
    const { assetNums, operatorIdentity = call.caller.name } = locks;
    const notFound = call.authorisedIds?.notFound;
    const sent = notFound ? assetNums.filter((assetNum) => !notFound.has(assetNum)) : assetNums;
    const parts = chunksOf(sent, this.readings.of('maxLocksPerCall') ?? sent.length);
    if (call.dryRun) await this.#showLocks(call.dryRun, call, operation, enterpriseGlobalId, sent);
    // If a later call fails, the status of its locks is `unknown`.
    const results = await this.#inTurn(parts, async (part) => {
      const body = { assetNums: part, operatorIdentity };
      const came = await this.upstream.call(operation, call, { body }, toLockResults);
      // A response decides only about the locks of its own call.
      return came.filter(({ assetNum }) => part.includes(assetNum));
    });
    return lockResultsOf(assetNums, results, notFound);
  }

  /**
   * Adds the locks of the enterprise that would change to the dry run. Of the locks that cannot be issued again, only those of large customers can
   * change (order module #6), and the list does not tell which these are.
   */
  async #showLocks(
    dryRun: DryRun,
    call: CallContext,
    operation: 'disableLocks' | 'enableLocks',
    enterpriseGlobalId: string,
    assetNums: readonly string[],
  ): Promise<void> {
    const isDisabling = operation === 'disableLocks';
    const kind = isDisabling ? 'lock-disabled' : 'lock-enabled';
    const assets = await ifShown(() => this.wholeAssets(call, enterpriseGlobalId, ['assetNum', 'locked']));
    // The list may have virtual assets only, or a lock without its number, so a number that it lacks may be that of a lock.
    const hasNums = assets?.every(({ assetNum }) => assetNum !== null) === true;
    const hasLocks = hasNums && this.readings.of('assetList') === 'all';
    for (const assetNum of assetNums) {
      const asset = assets?.find((each) => each.assetNum === assetNum);
      const { licenseType = null } = asset ?? {};
      if (licenseType !== null && NO_LOCKS.has(licenseType)) continue;
      const isUnknown = asset ? asset.locked === null || !licenseType?.includes('_recover_') : !hasLocks;
      if (isUnknown || (asset && asset.locked !== isDisabling))
        dryRun.add(kind, {
          enterpriseGlobalId,
          assetId: asset?.assetId ?? null,
          assetNum,
          readable: !isUnknown,
        });
    }
  }

  /** Makes several calls where the platform gives fewer numbers at once. If a later call fails, the caller gets fewer numbers. */
  async reserveAssetNums(call: CallContext, { size }: ReserveAssetNumsDto): Promise<ReservedAssetNumsDto> {
    const most = this.readings.of('maxAssetNums') ?? size;
    const sizes = Array.from({ length: Math.ceil(size / most) }, (_, part) =>
      Math.min(most, size - part * most),
    );
    const items = await this.#inTurn(sizes, (part) =>
      this.upstream.call('obtainAssetNums', call, { body: { size: part } }, toReservedAssetNums),
    );
    const { name, grants } = call.caller;
    const numbers = items.map(({ keyShellNumber }) => keyShellNumber);
    if (isBound(grants)) await this.reservations.add(name, numbers);
    return { requested: size, items };
  }

  /** Makes the calls one after the other, until one fails or the time limit of one call has passed. Throws if the first call fails. */
  async #inTurn<Part, T>(parts: readonly Part[], send: (part: Part) => Promise<readonly T[]>): Promise<T[]> {
    const until = performance.now() + this.config.deadlineMs;
    const results: T[] = [];
    for (const [index, part] of parts.entries()) {
      if (index > 0 && performance.now() > until) break;
      try {
        results.push(...(await send(part)));
      } catch (error) {
        // A dry run shows every part.
        if (error instanceof DryRunStop) continue;
        if (index === 0 || !(asProblem(error) instanceof ProblemException)) throw error;
        break;
      }
    }
    return results;
  }
}

function isWanted(
  { licenseType, assetNum, assignment, endsAt, lentLock }: AssetDto,
  wanted: ListAssetsQuery,
): boolean {
  return (
    (wanted.licenseType === undefined || wanted.licenseType === licenseType) &&
    (wanted.assetNum === undefined || wanted.assetNum === assetNum) &&
    (wanted.memberGlobalId === undefined || wanted.memberGlobalId === assignment?.memberGlobalId) &&
    (wanted.lentLock === undefined || wanted.lentLock === (lentLock === true)) &&
    (wanted.endsBefore === undefined ||
      (endsAt !== null && Date.parse(endsAt) < Date.parse(wanted.endsBefore)))
  );
}
