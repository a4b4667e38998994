import { Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { type Instance, isMeantBy, type NamedInstance } from '../upstream/wire/instances.ts';
import { AssetContents } from './asset-contents.ts';
import type { AssetDto } from './dto/asset.dto.ts';
import {
  type DeleteAssetDto,
  type DeleteProductDto,
  type PlaceOrderDto,
  sequenceOf,
} from './dto/license-order.dto.ts';
import type { AffectedAssetDto, DeletionEffectDto } from './dto/order-assets.dto.ts';
import type { BoughtAssetDto, OrderProductDto } from './dto/order-product.dto.ts';
import { productUrisOf } from './order-assets.service.ts';
import { OrderService } from './order.service.ts';

type Deletion = DeleteAssetDto | DeleteProductDto;

type NamedProducts = Pick<BoughtAssetDto, 'products' | 'merchandises'>;

/** Finds what the deletions of an order would take away, as far as the platform shows it now (docs/platform.md, section 4.1, rules 2 to 5). */
@Injectable()
export class DeletionEffects {
  constructor(
    private readonly orders: OrderService,
    private readonly contents: AssetContents,
  ) {}

  async effectsOf(call: CallContext, { items }: PlaceOrderDto): Promise<DeletionEffectDto[]> {
    const effects: DeletionEffectDto[] = [];
    for (const [index, item] of items.entries())
      if (item.orderType !== 'new_buy')
        effects.push({ sequence: sequenceOf(item, index), ...(await this.#effectOf(call, item)) });
    return effects;
  }

  async #effectOf(call: CallContext, item: Deletion): Promise<Omit<DeletionEffectDto, 'sequence'>> {
    const { enterpriseGlobalId } = item.customer;
    // The platform shows products to its users only.
    if (enterpriseGlobalId === undefined || !call.user) return { readable: false, assets: [] };
    try {
      const all = await this.orders.allAssets(call, enterpriseGlobalId, true);
      const byNum = new Map(all.map((asset) => [asset.assetNum, asset]));
      const parts = item.assets.flatMap((part: NamedProducts & { assetNums: string[] }) =>
        part.assetNums.map((num) => ({ part, num })),
      );
      const found = parts.flatMap(({ part, num }) => {
        const asset = byNum.get(num);
        return asset ? [{ part, asset }] : [];
      });
      const searched = [...found, ...beyond(item, all, found)];
      const searchedAssets = searched.map(({ asset }) => asset);
      const contents = await this.contents.read(call, enterpriseGlobalId, searchedAssets, true);
      const assets = searched.map(({ part, asset }, index) =>
        affected(asset, contents[index] ?? [], item, item.orderType === 'delete_product' ? part : undefined),
      );
      return {
        readable: found.length === parts.length,
        // An asset that the item does not name is shown only where it loses something.
        assets: assets.filter(({ productUris }, index) => index < found.length || productUris.length > 0),
      };
    } catch (error) {
      if (asProblem(error) instanceof ProblemException) return { readable: false, assets: [] };
      throw error;
    }
  }
}

/** A deletion of products that names no order also affects the customer's other assets of the licence type (rule 5). */
function beyond(
  item: Deletion,
  all: readonly AssetDto[],
  found: readonly { readonly asset: AssetDto }[],
): { part: NamedProducts; asset: AssetDto }[] {
  if (item.orderType !== 'delete_product' || item.srcLicenseOrderId !== undefined) return [];
  const part = {
    products: item.assets.flatMap(({ products }) => products ?? []),
    merchandises: item.assets.flatMap(({ merchandises }) => merchandises ?? []),
  };
  const named = new Set(found.map(({ asset }) => asset));
  const customers = new Set(found.map(({ asset }) => asset.customerId));
  return all
    .filter((asset) => !named.has(asset) && asset.customerId !== null && customers.has(asset.customerId))
    .filter(({ licenseType }) => licenseType === item.licenseType)
    .map((asset) => ({ part, asset }));
}

/** `part` is what a deletion of products names; undefined where whole assets are deleted. */
function affected(
  { assetId, assetNum }: AssetDto,
  contents: readonly Instance[],
  { srcLicenseOrderId }: Deletion,
  part: NamedProducts | undefined,
): AffectedAssetDto {
  const ofOrder = contents.filter(
    ({ licenseOrderId }) => srcLicenseOrderId === undefined || licenseOrderId === srcLicenseOrderId,
  );
  const named = part && namedBy(part);
  const gone = named ? ofOrder.filter((each) => named.some((name) => isMeantBy(each, name))) : ofOrder;
  // A package ends with the last product in it.
  const present = part ? contents.filter(({ product }) => product !== null) : contents;
  const whole = gone.length > 0 && present.every((instance) => gone.includes(instance));
  // Where the item names no order, an asset without products is revoked too.
  const revoked = !part && srcLicenseOrderId === undefined;
  return { assetId, assetNum, whole: whole || revoked, productUris: productUrisOf(gone) };
}

/** What a deletion of products names. A package without products and packages of its own stands for all that is in it. */
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
