import { Injectable } from '@nestjs/common';
import type { Deletion as DeletionRecord, KeptEffect, OrderSearch } from '../order-ledger/ledger-record.ts';
import { isThere, lentOf } from '../order-ledger/order-evidence.ts';
import { reasonOf } from '../order-ledger/write-outcome.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
import { AliasUsers } from '../upstream/alias-users.ts';
import type { CallContext } from '../request/call-context.ts';
import { ownCallOf } from '../request/make-call.ts';
import { ifShown } from '../upstream/if-shown.ts';
import { type Holdings, NoUser, PlatformSearch } from '../upstream/platform-search.ts';
import { type AssetContent, isMeant } from '../upstream/wire/instances.ts';
import type { WholeList } from '../upstream/wire/whole-list.ts';
import { AssetContents, READ_MS } from './asset-contents.ts';
import type { AssetDto } from './dto/asset.dto.ts';
import { type DeletionItem, meantBy, type NamedProducts, productsOf, showsAll } from './deletion-loss.ts';
import { type PlaceOrderDto, sequenceOf } from './dto/license-order.dto.ts';
import { EffectList, type AssetPlace } from './effect-list.ts';
import { OrderService } from './order.service.ts';

/** The longest time that an order waits while the gateway reads what the order deletes. */
const MARK_MS = 10_000;

const NO_USER = 'The gateway has no user to read with.';

/** An asset, and the part of the deletion that is for it. */
interface Searched {
  readonly part: NamedProducts;
  readonly asset: AssetDto;
  /** True if it is open whether the deletion concerns the asset. */
  readonly isOpen?: boolean;
}

type IsThrown = (problem: ProblemException) => boolean;

/** The assets of each enterprise, and the contents of those that were read (`known`). All deletions of an order share it. */
export type DeletionReading = Map<
  string,
  { readonly all: WholeList<AssetDto>; readonly known: Map<string, AssetContent> }
>;

export interface FoundEffects {
  readonly effects: readonly KeptEffect[];
  /** Why the platform showed nothing of a deletion, by the enterprise. */
  readonly unshown: ReadonlyMap<string | null, string>;
}

interface ReadingTerms {
  readonly shown: EffectList;
  readonly reading: DeletionReading;
  /** The time of `performance.now()` after which no further asset is read. */
  readonly until: number;
  readonly isThrown: IsThrown;
}

/** Finds what the deletions of an order would take away, as far as the platform shows it now (docs/platform.md, section 4.1, rules 2 to 5). */
@Injectable()
export class DeletionEffects {
  constructor(
    private readonly orders: OrderService,
    private readonly contents: AssetContents,
    private readonly users: AliasUsers,
    private readonly search: PlatformSearch,
  ) {}

  /**
   * Returns the deletions' effects, and why an item's effects are unreadable, by the enterprise of the item. Throws a problem for which `isThrown`
   * is true. What `reading` has is not read again.
   */
  async find(
    call: CallContext,
    { items }: PlaceOrderDto,
    isThrown: IsThrown = () => false,
    reading: DeletionReading = new Map(),
  ): Promise<FoundEffects> {
    const until = performance.now() + READ_MS;
    const shown = new EffectList();
    const unshown = new Map<string | null, string>();
    for (const item of items) {
      if (item.orderType === 'new_buy') continue;
      let why = NO_USER;
      const isShown = await ifShown(
        () => this.#show(call, item, { shown, reading, until, isThrown }),
        (problem) => {
          why = reasonOf(problem);
          return isThrown(problem);
        },
      );
      if (isShown) continue;
      unshown.set(item.customer.enterpriseGlobalId ?? null, why);
      const named = item.assets.flatMap(({ assetNums }) => assetNums);
      showUnreadable(shown, item, deletesFromAll(item) ? [...named, null] : named);
    }
    return { effects: shown.effects, unshown };
  }

  /** Marks each deletion with whether the platform now shows everything that it names. Deletions whose lists cannot be read in time stay unmarked. */
  async marked(order: PlaceOrderDto, search: OrderSearch): Promise<OrderSearch> {
    const { deletions = {}, customers = {}, user } = search;
    const abandon = AbortSignal.timeout(MARK_MS);
    const enterpriseOf = async (sequence: number) => {
      const customer = customers[sequence];
      // Each call asks whether a maintenance stops it.
      const call = ownCallOf('reconciliation', { abandon });
      return customer && (await this.search.enterpriseOf(call, order.channelCode, customer));
    };
    // Items of the same enterprise share one reading of its assets.
    const sequences = new Map<string, number[]>();
    for (const [index, item] of order.items.entries()) {
      const sequence = sequenceOf(item, index);
      if (!deletions[sequence]) continue;
      const enterprise =
        item.customer.enterpriseGlobalId ?? (await unlessAway(abandon, () => enterpriseOf(sequence)));
      if (enterprise !== undefined)
        sequences.set(enterprise, [...(sequences.get(enterprise) ?? []), sequence]);
    }
    const seen: Record<string, readonly DeletionRecord[]> = {};
    for (const [enterprise, own] of sequences) {
      const named = own.flatMap((sequence) => deletions[sequence] ?? []);
      const assetNums = new Set(named.flatMap((deletion) => deletion.assetNums));
      // A deletion may name a lock that only the member center lists.
      let listed: Holdings | undefined;
      const isEnough = (assets: Holdings) => {
        listed = assets;
        return this.search.listsAll || named.every((each) => isThere(each, assets));
      };
      const terms = { abandon, user, assetNums, isEnough };
      const holdings = await unlessAway(abandon, () => this.search.holdings(enterprise, terms));
      if (!holdings) continue;
      for (const sequence of own)
        seen[sequence] = (deletions[sequence] ?? []).map((each) => ({
          ...each,
          seen: isThere(each, holdings),
          seenIn: enterprise,
          isListed: listed && isThere(each, listed),
        }));
    }
    return { ...search, deletions: { ...deletions, ...seen } };
  }

  /** Resolves to false where the item names no enterprise, or the gateway has no user to read with. */
  async #show(
    caller: CallContext,
    item: DeletionItem,
    { shown, reading, until, isThrown }: ReadingTerms,
  ): Promise<boolean> {
    const { enterpriseGlobalId } = item.customer;
    // The platform shows products to its users only.
    const user = caller.user ?? (enterpriseGlobalId && this.users.forEnterprise(enterpriseGlobalId));
    if (enterpriseGlobalId === undefined || !user) return false;
    const call = { ...caller, user };
    const fields = ['assetNum', 'customerId', 'licenseType'] as const;
    const ofEnterprise = reading.get(enterpriseGlobalId) ?? {
      all: await this.orders.wholeAssets(call, enterpriseGlobalId, fields),
      known: new Map<string, AssetContent>(),
    };
    reading.set(enterpriseGlobalId, ofEnterprise);
    const { all, known } = ofEnterprise;
    const byNum = Map.groupBy(all, ({ assetNum }) => assetNum);
    const parts = item.assets.flatMap((part: NamedProducts & { assetNums: string[] }) =>
      part.assetNums.map((num) => ({ part, num })),
    );
    const found = parts.flatMap(({ part, num }): Searched[] =>
      (byNum.get(num) ?? []).map((asset) => ({ part, asset })),
    );
    const others = beyond(item, all, found);
    const searched = [...found, ...(others ?? [])];
    const searchedAssets = searched.map(({ asset }) => asset);
    const terms = { fresh: true, until, known } as const;
    const contents = await this.contents.read(call, enterpriseGlobalId, searchedAssets, terms);
    const unseen: AssetPlace[] = [];
    for (const [index, { part, asset, isOpen }] of searched.entries()) {
      const { assetId, assetNum, lentLock } = asset;
      const { instances = [], isWhole = false } = contents[index] ?? {};
      const of = { enterpriseGlobalId, assetId, assetNum };
      const meant = meantBy(item, [part]);
      shown.mean(
        of,
        { instances, isWhole, isLentLock: lentLock === true },
        { ...meant, isOpen, kind: kindOf(item) },
      );
      if (isWhole && index < found.length && !showsAll(instances, meant)) unseen.push(of);
    }
    if (unseen.length > 0 || (others && deletesFromAll(item))) {
      const abandon = AbortSignal.timeout(MARK_MS);
      const read = () => this.search.lentLocks(enterpriseGlobalId, { abandon, acting: user });
      const locks = await unlessAway(abandon, read, isThrown);
      showLent(shown, item, enterpriseGlobalId, { all, searchedAssets, unseen, locks });
    }
    const missing = parts.flatMap(({ num }) => (byNum.has(num) ? [] : [num]));
    // Only the member center may list some of the customer's assets. Null stands for those that cannot be read.
    const read = () => this.orders.numberedAssets(call, enterpriseGlobalId, true);
    const numbered = others && (deletesFromAll(item) ? await ifShown(read, isThrown) : []);
    const listed = new Set(all.map(({ assetId }) => assetId));
    const unlisted = numbered?.filter(({ assetId }) => !listed.has(assetId)).map(({ assetNum }) => assetNum);
    showUnreadable(shown, item, [...missing, ...(unlisted ?? [null])]);
    return true;
  }
}

/** The lists of the enterprise that were read. */
interface ReadAssets {
  readonly all: readonly AssetDto[];
  readonly searchedAssets: readonly AssetDto[];
  /** The named assets that do not show everything that the deletion names on them. */
  readonly unseen: readonly AssetPlace[];
  /** Undefined where the platform does not show them. */
  readonly locks: Holdings | undefined;
}

/** Adds what the deletion may take from lent locks. An asset shows nothing of a product whose only node is in a lent lock. */
function showLent(
  shown: EffectList,
  item: DeletionItem,
  enterpriseGlobalId: string,
  { all, searchedAssets, unseen, locks }: ReadAssets,
): void {
  const meant = lentOf(meantBy(item, item.assets));
  for (const { assetNum, instances } of locks?.assets ?? []) {
    if (searchedAssets.some((asset) => asset.assetNum === assetNum)) continue;
    const { assetId = null } = all.find((asset) => asset.assetNum === assetNum) ?? {};
    const mayGo = instances.filter((each) => isMeant(each, meant) !== false);
    shown.addProducts({ enterpriseGlobalId, assetId, assetNum }, productsOf([], mayGo));
  }
  if (locks?.isWhole && locks.assets.every(({ isWhole }) => isWhole)) return;
  for (const of of unseen) shown.add(kindOf(item), { ...of, readable: false });
  if (deletesFromAll(item)) showUnreadable(shown, item, [null]);
}

/** Whether the platform takes the products from assets too that the item does not name (rule 5). */
function deletesFromAll({ orderType, srcLicenseOrderId }: DeletionItem): boolean {
  return orderType === 'delete_product' && srcLicenseOrderId === undefined;
}

function kindOf({ orderType }: DeletionItem): 'asset-removed' | 'product-removed' {
  return orderType === 'delete_asset' ? 'asset-removed' : 'product-removed';
}

/** Null stands for assets whose numbers are not known. */
function showUnreadable(shown: EffectList, item: DeletionItem, assetNums: readonly (string | null)[]): void {
  const { enterpriseGlobalId = null } = item.customer;
  for (const assetNum of assetNums)
    shown.add(kindOf(item), { enterpriseGlobalId, assetNum, readable: false });
}

/** Returns undefined where the platform does not show the data in time, or no user can read it. */
async function unlessAway<T>(
  abandon: AbortSignal,
  read: () => Promise<T>,
  isThrown?: IsThrown,
): Promise<T | undefined> {
  try {
    return await ifShown(read, isThrown);
  } catch (error) {
    if (error instanceof NoUser || abandon.aborted) return undefined;
    throw error;
  }
}

/**
 * Returns the customer's other assets, which a deletion of products that names no order affects too (rule 5). It is open whether it affects those
 * of other licence types. Undefined where the customer is not known.
 */
function beyond(
  item: DeletionItem,
  all: WholeList<AssetDto>,
  found: readonly Searched[],
): Searched[] | undefined {
  if (item.orderType !== 'delete_product' || !deletesFromAll(item)) return [];
  const part = {
    products: item.assets.flatMap(({ products }) => products ?? []),
    merchandises: item.assets.flatMap(({ merchandises }) => merchandises ?? []),
  };
  const named = new Set(found.map(({ asset }) => asset));
  const ofFound = found.map(({ asset }) => asset.customerId);
  const customers = new Set([item.customer.customerId, ...ofFound].filter((id) => id != null));
  if (customers.size === 0) return undefined;
  return all
    .filter((asset) => !named.has(asset) && asset.customerId !== null && customers.has(asset.customerId))
    .map((asset) => ({ part, asset, isOpen: asset.licenseType !== item.licenseType }));
}
