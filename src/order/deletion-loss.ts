import { type Instance, isMeant, type Meant, type NamedInstance } from '../upstream/wire/instances.ts';
import type { DeleteAssetDto, DeleteProductDto } from './dto/license-order.dto.ts';
import type { BoughtAssetDto, OrderProductDto } from './dto/order-product.dto.ts';

/** Pure functions that tell what a deletion takes away from an asset, as far as the platform shows it (interface section 4.1, rules 2 to 5). */

export type DeletionItem = DeleteAssetDto | DeleteProductDto;

export type NamedProducts = Pick<BoughtAssetDto, 'products' | 'merchandises'>;

/** The instances that a deletion means on an asset. `isOpen`: it is open whether it concerns the asset. */
export interface MeantHere extends Meant {
  readonly isOpen?: boolean;
}

export interface Loss {
  /** Whether the asset itself goes. Undefined where that is open. */
  readonly asset: boolean | undefined;
  readonly products: LostProducts;
  /** The instances that go for certain. */
  readonly gone: readonly Instance[];
}

/** Whether it is certain that a product goes, by its `productUri`. Null stands for products whose `productUri` the platform does not show. */
export type LostProducts = ReadonlyMap<string | null, boolean>;

/** Returns what the deletion names by these parts of it. */
export function meantBy(
  { orderType, srcLicenseOrderId }: DeletionItem,
  parts: readonly NamedProducts[],
): Meant {
  const named = parts.flatMap((part) => namedBy(part));
  return { licenseOrderId: srcLicenseOrderId, named: orderType === 'delete_product' ? named : undefined };
}

/** Returns what an asset loses by all that an order deletes from it. A lent lock also shows what is lent into it, which does not keep it. */
export function lossOf(
  instances: readonly Instance[],
  meants: readonly MeantHere[],
  isLentLock = false,
): Loss {
  const certain = meants.filter(({ isOpen }) => !isOpen);
  const gone = instances.filter((each) => certain.some((meant) => isMeant(each, meant) === true));
  // A platform may revoke the asset whole, also where only the products of one order are to go.
  const isRevoked = meants.some(({ named }) => named === undefined);
  const mayGo = instances.filter(
    (each) => isRevoked || meants.some((meant) => isMeant(each, meant) !== false),
  );
  // A package ends with the last product in it.
  const present = isRevoked ? instances : instances.filter(({ product }) => product !== null);
  const isEmptied = gone.length > 0 && present.every((each) => gone.includes(each));
  const mayBeEmptied = mayGo.length > 0 && (isLentLock || present.every((each) => mayGo.includes(each)));
  const isCertain =
    isEmptied ||
    certain.some(({ named, licenseOrderId }) => named === undefined && licenseOrderId === undefined);
  return {
    asset: isCertain || (isRevoked || mayBeEmptied ? undefined : false),
    products: productsOf(gone, mayGo),
    gone,
  };
}

export function productsOf(gone: readonly Instance[], mayGo: readonly Instance[]): LostProducts {
  const products = new Map<string | null, boolean>();
  for (const { product } of gone) if (product) products.set(product.productUri, product.productUri !== null);
  for (const { product } of mayGo)
    if (product && !products.has(product.productUri)) products.set(product.productUri, false);
  return products;
}

/** Whether each thing that the deletion names may be among the instances. */
export function showsAll(instances: readonly Instance[], { licenseOrderId, named }: Meant): boolean {
  if (named === undefined && licenseOrderId === undefined) return true;
  const each = named?.map((name) => [name]) ?? [undefined];
  return each.every((name) =>
    instances.some((instance) => isMeant(instance, { licenseOrderId, named: name }) !== false),
  );
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
