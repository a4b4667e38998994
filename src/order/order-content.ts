import type { Bought, Deletion, OrderedItem, OrderSearch } from '../order-ledger/ledger-record.ts';
import type { SoughtCustomer } from '../upstream/platform-search.ts';
import { namedBy } from './deletion-loss.ts';
import {
  type DeleteAssetDto,
  type DeleteProductDto,
  type PlaceOrderDto,
  sequenceOf,
} from './dto/license-order.dto.ts';
import type {
  BoughtAssetDto,
  MerchandiseDto,
  OrderProductDto,
  ReducedAssetDto,
  RevokedAssetDto,
} from './dto/order-product.dto.ts';

/** The products and packages of an asset in an order. */
export type Content = Pick<MerchandiseDto, 'products'> & { merchandises?: MerchandiseDto[] | undefined };

interface Found {
  readonly product: OrderProductDto;
  readonly pointer: string;
}

/** Returns every product, also those in packages, with its place in the request. */
export function productsIn({ products = [], merchandises = [] }: Content, pointer: string): Found[] {
  return [
    ...products.map((product, at) => ({ product, pointer: `${pointer}/products/${at}` })),
    ...merchandises.flatMap((one, at) => ofMerchandise(one, `${pointer}/merchandises/${at}`)),
  ];
}

function ofMerchandise({ products, children = [] }: MerchandiseDto, pointer: string): Found[] {
  return [
    ...productsIn({ products }, pointer),
    ...children.flatMap((child, at) => ofMerchandise(child, `${pointer}/children/${at}`)),
  ];
}

export function deletes({ items }: PlaceOrderDto): boolean {
  return items.some(({ orderType }) => orderType !== 'new_buy');
}

/** Returns the products that purchases take out of other orders. The interface does not say from which assets. */
export function transfersIn({ items }: PlaceOrderDto) {
  return items.flatMap((item) => {
    if (item.orderType !== 'new_buy') return [];
    const { enterpriseGlobalId } = item.customer;
    return item.assets
      .flatMap((asset) => productsIn(asset, ''))
      .filter(({ product }) => product.srcLicenseOrderId !== undefined)
      .map(({ product: { productUri } }) => ({ enterpriseGlobalId, productUri }));
  });
}

/** The items of an order, as its record has them. */
export function orderedItems({ items }: PlaceOrderDto): OrderedItem[] {
  return items.map((item, index) => ({
    sequence: sequenceOf(item, index),
    orderType: item.orderType,
    enterpriseGlobalId: item.customer.enterpriseGlobalId ?? null,
  }));
}

/** What the gateway needs to look for the order at the platform. */
export function searchOf({ items }: PlaceOrderDto, user: string | undefined): OrderSearch {
  const customers: Record<string, SoughtCustomer> = {};
  const deletions: Record<string, readonly Deletion[]> = {};
  const purchases: Record<string, readonly Bought[]> = {};
  for (const [index, item] of items.entries()) {
    const sequence = sequenceOf(item, index);
    const { enterpriseGlobalId, customerId, channelCustomerId } = item.customer;
    if (enterpriseGlobalId === undefined) customers[sequence] = { customerId, channelCustomerId };
    if (item.orderType === 'new_buy') purchases[sequence] = item.assets.flatMap(boughtOn);
    else deletions[sequence] = deletionsOf(item);
  }
  return {
    ...(user !== undefined && { user }),
    ...(Object.keys(purchases).length > 0 && { purchases }),
    ...(Object.keys(customers).length > 0 && { customers }),
    ...(Object.keys(deletions).length > 0 && { deletions }),
  };
}

/** The products and packages that a purchase puts on one asset, or on each asset that it names. The platform knows what is in a package. */
function boughtOn({ assetNums = [], products = [], merchandises = [] }: BoughtAssetDto): Bought[] {
  const count = Math.max(1, assetNums.length);
  return [
    ...products.flatMap(({ productUri, gmsPid, appKey, limitConcurrent: nodes }) => {
      const names = [productUri, gmsPid, appKey].filter((name) => name !== undefined);
      return names.length > 0 ? [{ names, nodes, count }] : [];
    }),
    ...merchandises.flatMap(({ merchandiseNum }) =>
      merchandiseNum === undefined ? [] : [{ names: [], merchandiseNum, count }],
    ),
  ];
}

function deletionsOf(item: DeleteAssetDto | DeleteProductDto): Deletion[] {
  return item.assets.map((asset: RevokedAssetDto | ReducedAssetDto) => ({
    assetNums: asset.assetNums,
    licenseOrderId: item.srcLicenseOrderId,
    named: item.orderType === 'delete_product' ? namedBy(asset) : undefined,
  }));
}
