import { Injectable } from '@nestjs/common';
import { AccountSuffixes, likelySuffix, suffixFor } from '../member/account-suffix.ts';
import { FREE_FIELDS, toAssetNums, toLentLocks, toMemberPage } from '../member/member.mapper.ts';
import type { AssetDto } from '../order/dto/asset.dto.ts';
import { toCameAssets } from '../order/order.mapper.ts';
import type { CallContext } from '../request/call-context.ts';
import { MemberList } from '../upstream/member-list.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { isAboutOneAsset } from '../upstream/platform-search.ts';
import { ContractViolation, UpstreamFailure } from '../upstream/upstream-failure.ts';
import { toAssetContent } from '../upstream/wire/instances.ts';
import { wholeItems } from '../upstream/wire/whole-list.ts';
import { EstatePlatform } from './estate-platform.ts';
import type { EstateAsset, EstateProduct } from './estate-row.ts';

/** The platform does not show the enterprise to this user: nobody but an operator can change that. */
const NOT_SHOWN: ReadonlySet<string> = new Set(['60017', '33003']);

const ACCOUNT = /^[a-z0-9]+(?=@|[^a-z0-9@][^@]*$)/;

/** What the platform shows of an asset besides the list of assets. */
interface Holder {
  readonly assetId: string;
  readonly assetNum: string | null;
  readonly memberGlobalId: string | null;
  readonly lent: boolean | null;
  readonly online: boolean | null;
}

export type ReadAsset = Omit<EstateAsset, 'lastOnlineAt'>;

export interface ReadLists {
  readonly assets: readonly ReadAsset[];
  /** The accounts of each member who has an asset, with and without what the platform appends, in small letters. */
  readonly accounts: ReadonlyMap<string, readonly string[]>;
  /** Why only the list of assets was read; undefined where a user sees the rest. */
  readonly assetsOnly: string | undefined;
}

/** Reads what one enterprise has. Every list that comes from here came whole. */
@Injectable()
export class EstateLists {
  constructor(
    private readonly platform: EstatePlatform,
    private readonly members: MemberList,
    private readonly suffixes: AccountSuffixes,
    private readonly readings: PlatformReadings,
  ) {}

  /** Calls order #8, then member #6, #8 and #5, and order #8 once more if assets came meanwhile. Rejects where one of the lists did not come whole. */
  async read(enterpriseGlobalId: string, call: CallContext): Promise<ReadLists> {
    const ids = { enterpriseGlobalId };
    const assets = await this.#assets(call, ids);
    // Some platforms list an asset twice.
    const listed = new Map(assets.map((asset) => [asset.assetId, asset]));
    const withoutUser = (assetsOnly: string) => ({
      assets: [...listed.values()].map((asset) => joined(asset, undefined)),
      accounts: new Map(),
      assetsOnly,
    });
    if (!call.user) return withoutUser('no user of the users file serves the enterprise');
    let holders: Holder[];
    try {
      holders = await this.#holders(call, ids);
    } catch (error) {
      if (!isNotShown(error)) throw error;
      return withoutUser(unreadReasonOf(error));
    }
    const byId = new Map(holders.map((each) => [each.assetId, each]));
    let others = holders.filter(({ assetId }) => !listed.has(assetId));
    // An asset may have come after the first list. Without its own list its row would lack its end.
    if (others.length > 0 && this.readings.of('assetList') !== 'virtual') {
      const lacking = new Set(others.map(({ assetId }) => assetId));
      for (const asset of await this.#assets(call, ids))
        if (lacking.delete(asset.assetId)) listed.set(asset.assetId, asset);
      others = others.filter(({ assetId }) => lacking.has(assetId));
    }
    const all = [
      ...[...listed.values()].map((asset) => joined(asset, byId.get(asset.assetId))),
      // Some platforms list virtual assets only: reading `assetList`.
      ...new Map(others.map((each) => [each.assetId, joined(undefined, each)])).values(),
    ];
    const owners = new Set(all.flatMap(({ memberGlobalId }) => memberGlobalId ?? []));
    return { assets: all, accounts: await this.#accounts(call, ids, owners), assetsOnly: undefined };
  }

  /** Returns the products on an asset; undefined where the platform does not show all of them. */
  async products(assetId: string, call: CallContext): Promise<readonly EstateProduct[] | undefined> {
    try {
      const { instances, isWhole } = await this.platform.read(
        'listAssetProducts',
        call,
        { ids: { assetId } },
        (data, notes) =>
          toAssetContent(data, this.readings.timestampUnit, this.readings.nullIsEmpty, { notes }),
      );
      if (!isWhole) return undefined;
      return instances.flatMap(({ product, merchandiseNums, licenseOrderId, channelOrderId }) => {
        if (!product) return [];
        // The order of these fields matters, because earlier versions compare kept products as texts.
        const { productId, productUri, productName, startsAt, endsAt, trial, limitConcurrent } = product;
        const { crmProductId } = product;
        return [
          {
            ...{
              productId,
              productUri,
              productName,
              packageNum: merchandiseNums.at(-1) ?? null,
              startsAt,
              endsAt,
            },
            ...{ trial, limitConcurrent, licenseOrderId, channelOrderId, crmProductId },
          },
        ];
      });
    } catch (error) {
      if (isAboutOneAsset(error)) return undefined;
      throw error;
    }
  }

  #assets(call: CallContext, ids: { enterpriseGlobalId: string }): Promise<readonly AssetDto[]> {
    const { timestampUnit: unit, nullIsEmpty } = this.readings;
    return this.platform.read('listAssets', call, { ids }, (data, notes) =>
      wholeItems(toCameAssets(data, unit, nullIsEmpty, notes), ['assetNum']),
    );
  }

  async #holders(call: CallContext, ids: { enterpriseGlobalId: string }): Promise<Holder[]> {
    const { nullIsEmpty } = this.readings;
    const numbers = await this.platform.read('listAssetNums', call, { ids }, (data, notes) =>
      wholeItems(toAssetNums(data, notes, nullIsEmpty), FREE_FIELDS).map(({ assetId, ...rest }) => {
        if (assetId === null) throw new ContractViolation('assetId', 'an id');
        return { assetId, ...rest };
      }),
    );
    const locks = await this.platform.read('listLentLocks', call, { ids }, (data, notes) =>
      wholeItems(toLentLocks(data, notes, nullIsEmpty), FREE_FIELDS),
    );
    return [
      ...locks.map((lock) => ({ ...lock, online: null })),
      // An asset in both lists is taken from this list, which says more.
      ...numbers,
    ];
  }

  async #accounts(
    call: CallContext,
    ids: { enterpriseGlobalId: string },
    owners: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const names: string[] = [];
    const found = new Map<string, string[]>();
    const unit = this.readings.timestampUnit;
    const pages = this.members.all((query) =>
      this.platform.read('listMembers', call, { ids, query }, (data, notes) =>
        toMemberPage(data, unit, notes),
      ),
    );
    for await (const { items } of pages)
      for (const { userName, memberGlobalId } of items) {
        if (userName === null) continue;
        names.push(userName.toLowerCase());
        if (owners.has(memberGlobalId)) found.set(memberGlobalId, [userName.toLowerCase()]);
      }
    const known = await this.suffixes.of(ids.enterpriseGlobalId);
    const suffix = suffixFor(names, new Set(), known);
    const likely = suffix === undefined ? likelySuffix(names) : '';
    for (const accounts of found.values())
      accounts.push(...accounts.flatMap((name) => accountIn(name, suffix ?? '', likely)));
    return found;
  }
}

/**
 * Returns the account in a user name. While the suffix is not certain, the account ends where something else than letters and digits begins,
 * or else before the likely suffix.
 */
function accountIn(userName: string, suffix: string, likely: string): readonly string[] {
  const account = before(suffix, userName) ?? ACCOUNT.exec(userName)?.[0] ?? before(likely, userName);
  return account === undefined || account === '' ? [] : [account];
}

function before(ending: string, userName: string): string | undefined {
  return ending !== '' && userName.endsWith(ending) ? userName.slice(0, -ending.length) : undefined;
}

/** Returns an asset that is in the list of assets, in the other lists, or in both. */
function joined(asset: AssetDto | undefined, holder: Holder | undefined): ReadAsset {
  const memberGlobalId = holder ? holder.memberGlobalId : (asset?.assignment?.memberGlobalId ?? null);
  const isFree = holder !== undefined && holder.memberGlobalId === null && holder.lent !== true;
  return {
    assetId: asset?.assetId ?? holder?.assetId ?? '',
    assetNum: asset?.assetNum ?? holder?.assetNum ?? null,
    licenseType: asset?.licenseType ?? null,
    customerId: asset?.customerId ?? null,
    startsAt: asset?.startsAt ?? null,
    endsAt: asset?.endsAt ?? null,
    updatedAt: asset?.updatedAt ?? null,
    locked: asset?.locked ?? null,
    frozen: asset?.frozen ?? null,
    memberGlobalId,
    lent: holder?.lent ?? null,
    online: holder?.online ?? null,
    isUnassigned: isFree && asset !== undefined && canBeGiven(asset),
    isListed: asset !== undefined,
  };
}

/** The platform gives no member an asset that is frozen or has ended. */
function canBeGiven({ grantable, frozen, endsAt }: AssetDto): boolean {
  return grantable !== false && frozen !== true && (endsAt === null || Date.parse(endsAt) > Date.now());
}

function isNotShown(error: unknown): error is UpstreamFailure {
  return (
    error instanceof UpstreamFailure && error.kind === 'refused' && NOT_SHOWN.has(error.details.code ?? '')
  );
}

/** Says in the gateway's own words why a list was not read, without any text of the platform. */
export function unreadReasonOf(error: UpstreamFailure): string {
  const { operation, kind, details } = error;
  const what = kind === 'nonconforming' ? 'did not come whole' : kind;
  return `${operation.operationId}: ${what}${details.code === undefined ? '' : ` ${details.code}`}`;
}
