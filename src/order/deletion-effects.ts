import { Injectable } from '@nestjs/common';
import type { Deletion as DeletionRecord, OrderSearch } from '../order-ledger/ledger-record.ts';
import { isThere } from '../order-ledger/order-evidence.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
import { AliasUsers } from '../upstream/alias-users.ts';
import type { CallContext } from '../request/call-context.ts';
import type { DryRun } from '../request/dry-run.ts';
import { ifShown } from '../upstream/if-shown.ts';
import { NoUser, PlatformSearch } from '../upstream/platform-search.ts';
import { type Instance, isMeant, type NamedInstance } from '../upstream/wire/instances.ts';
import type { WholeList } from '../upstream/wire/whole-list.ts';
import { AssetContents } from './asset-contents.ts';
import type { AssetDto } from './dto/asset.dto.ts';
import {
  type DeleteAssetDto,
  type DeleteProductDto,
  type PlaceOrderDto,
  sequenceOf,
} from './dto/license-order.dto.ts';
import type { BoughtAssetDto, OrderProductDto } from './dto/order-product.dto.ts';
import { productUrisOf } from './order-assets.service.ts';
import { OrderService } from './order.service.ts';

/** The longest time that an order waits while the gateway reads what the order deletes. */
const MARK_MS = 10_000;

type Deletion = DeleteAssetDto | DeleteProductDto;

type NamedProducts = Pick<BoughtAssetDto, 'products' | 'merchandises'>;

/** Finds what the deletions of an order would take away, as far as the platform shows it now (docs/platform.md, section 4.1, rules 2 to 5). */
@Injectable()
export class DeletionEffects {
  constructor(
    private readonly orders: OrderService,
    private readonly contents: AssetContents,
    private readonly users: AliasUsers,
    private readonly search: PlatformSearch,
  ) {}

  /** Adds the deletions' effects to the dry run. Throws a problem for which `isThrown` is true; any other makes its item's effects unreadable. */
  async show(
    dryRun: DryRun,
    call: CallContext,
    { items }: PlaceOrderDto,
    isThrown?: (problem: ProblemException) => boolean,
  ): Promise<void> {
    for (const item of items)
      if (item.orderType !== 'new_buy') {
        const isShown = await ifShown(() => this.#show(dryRun, call, item), isThrown);
        if (!isShown) for (const { assetNums } of item.assets) showUnreadable(dryRun, item, assetNums);
      }
  }

  /** Marks each deletion with whether the platform now shows everything that it names. Deletions whose lists cannot be read in time stay unmarked. */
  async marked(order: PlaceOrderDto, search: OrderSearch): Promise<OrderSearch> {
    const { deletions = {}, customers = {}, user } = search;
    const abandon = AbortSignal.timeout(MARK_MS);
    const enterpriseOf = async (sequence: number) => {
      const customer = customers[sequence];
      return customer && (await this.search.enterpriseOf(order.channelCode, customer, abandon));
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
      const terms = { abandon, user, assetNums };
      const holdings = await unlessAway(abandon, () => this.search.holdings(enterprise, terms));
      if (!holdings) continue;
      for (const sequence of own)
        seen[sequence] = (deletions[sequence] ?? []).map((each) => ({
          ...each,
          seen: isThere(each, holdings),
        }));
    }
    return { ...search, deletions: { ...deletions, ...seen } };
  }

  /** Resolves to false where the item names no enterprise, or the gateway has no user to read with. */
  async #show(dryRun: DryRun, caller: CallContext, item: Deletion): Promise<boolean> {
    const { enterpriseGlobalId } = item.customer;
    // The platform shows products to its users only.
    const user = caller.user ?? (enterpriseGlobalId && this.users.forEnterprise(enterpriseGlobalId));
    if (enterpriseGlobalId === undefined || !user) return false;
    const call = { ...caller, user };
    const fields = ['assetNum', 'customerId', 'licenseType'] as const;
    const all = await this.orders.wholeAssets(call, enterpriseGlobalId, fields);
    const byNum = new Map(all.map((asset) => [asset.assetNum, asset]));
    const parts = item.assets.flatMap((part: NamedProducts & { assetNums: string[] }) =>
      part.assetNums.map((num) => ({ part, num })),
    );
    const found = parts.flatMap(({ part, num }) => {
      const asset = byNum.get(num);
      return asset ? [{ part, asset }] : [];
    });
    const others = beyond(item, all, found);
    const searched = [...found, ...(others ?? [])];
    const searchedAssets = searched.map(({ asset }) => asset);
    const contents = await this.contents.read(call, enterpriseGlobalId, searchedAssets, true);
    for (const [index, { part, asset }] of searched.entries()) {
      const { assetId, assetNum } = asset;
      const { instances = [], isWhole = false } = contents[index] ?? {};
      const gone = affected(instances, item, item.orderType === 'delete_product' ? part : undefined);
      const of = { enterpriseGlobalId, assetId, assetNum };
      if (gone.whole && isWhole) dryRun.add('asset-removed', of);
      for (const productUri of gone.productUris) dryRun.add('product-removed', { ...of, productUri });
      if (!isWhole) dryRun.add(kindOf(item), { ...of, readable: false });
    }
    const missing = parts.flatMap(({ num }) => (byNum.has(num) ? [] : [num]));
    showUnreadable(dryRun, item, others ? missing : [...missing, null]);
    return true;
  }
}

function kindOf({ orderType }: Deletion): 'asset-removed' | 'product-removed' {
  return orderType === 'delete_asset' ? 'asset-removed' : 'product-removed';
}

/** Null stands for assets whose numbers are not known. */
function showUnreadable(dryRun: DryRun, item: Deletion, assetNums: readonly (string | null)[]): void {
  const { enterpriseGlobalId = null } = item.customer;
  for (const assetNum of assetNums)
    dryRun.add(kindOf(item), { enterpriseGlobalId, assetNum, readable: false });
}

/** Returns undefined where the platform does not show the data in time, or no user can read it. */
async function unlessAway<T>(abandon: AbortSignal, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ifShown(read);
  } catch (error) {
    if (error instanceof NoUser || abandon.aborted) return undefined;
    throw error;
  }
}

/**
 * Returns the customer's other assets of the licence type, which a deletion of products that names no order affects too (rule 5). Undefined
 * where the customer is not known.
 */
function beyond(
  item: Deletion,
  all: WholeList<AssetDto>,
  found: readonly { readonly asset: AssetDto }[],
): { part: NamedProducts; asset: AssetDto }[] | undefined {
  if (item.orderType !== 'delete_product' || item.srcLicenseOrderId !== undefined) return [];
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
    .filter(({ licenseType }) => licenseType === item.licenseType)
    .map((asset) => ({ part, asset }));
}

/** `part` is what a deletion of products names; undefined where whole assets are deleted. */
function affected(
  contents: readonly Instance[],
  { srcLicenseOrderId }: Deletion,
  part: NamedProducts | undefined,
): { readonly whole: boolean; readonly productUris: readonly string[] } {
  const meant = { licenseOrderId: srcLicenseOrderId, named: part && namedBy(part) };
  const gone = contents.filter((each) => isMeant(each, meant) === true);
  // A package ends with the last product in it.
  const present = part ? contents.filter(({ product }) => product !== null) : contents;
  const whole = gone.length > 0 && present.every((instance) => gone.includes(instance));
  // Where the item names no order, an asset without products is revoked too.
  const revoked = !part && srcLicenseOrderId === undefined;
  return { whole: whole || revoked, productUris: productUrisOf(gone) };
}

/** Returns what a deletion of products names. A package that lists no products and no packages stands for everything in it. */
export function namedBy(
  { products = [], merchandises = [] }: NamedProducts,
  outer: readonly string[] = [],
): NamedInstance[] {
  return [
    ...products.flatMap((product) => namedProduct(product, outer)),
    ...merchandises.flatMap((merchandise) => {
      const { merchandiseNum, products: own, children } = merchandise;
      const merchandiseNums = merchandiseNum === undefined ? outer : [...outer, merchandiseNum];
      if (own?.length || children?.length)
        return namedBy({ products: own, merchandises: children }, merchandiseNums);
      return merchandiseNum === undefined ? [] : [{ merchandiseNums }];
    }),
  ];
}

function namedProduct(product: OrderProductDto, merchandiseNums: readonly string[]): NamedInstance[] {
  const {
    productUri,
    strictMatchWhenDelete,
    startsAt = null,
    endsAt = null,
    limitConcurrent = null,
  } = product;
  if (productUri === undefined) return [];
  const terms = { startsAt, endsAt, limitConcurrent };
  return [{ productUri, merchandiseNums, ...(strictMatchWhenDelete && { terms }) }];
}
