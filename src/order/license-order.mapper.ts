import type { ContractNotes, Reader } from '../upstream/wire/reader.ts';
import type { TimestampUnit } from '../upstream/wire/time.ts';
import { IncompleteAnswer, readObject, WireMisfit } from '../upstream/wire/reader.ts';
import type {
  WireBatchOrder,
  WireOrderAsset,
  WireOrderItem,
  WireOrderMerchandise,
  WireOrderProduct,
  WireOrderResult,
  WireProductFeature,
} from '../upstream/wire/order.ts';
import { type OrderItemDto, type PlaceOrderDto, sequenceOf } from './dto/license-order.dto.ts';
import type { BoughtAssetDto, ReducedAssetDto, RevokedAssetDto } from './dto/order-parts.dto.ts';
import type { MerchandiseDto, OrderProductDto, ProductFeatureDto } from './dto/order-product.dto.ts';
import type { PlacedItemDto } from './dto/order-record.dto.ts';

/**
 * A licence order in the vocabulary of the wire (interface section 2.4). What a caller leaves out stays out, but for
 * `children`, which the interface shows as null at the leaf. `allOrders` has no field upstream: it *is* the missing source order.
 */
export function toBatchOrder(order: PlaceOrderDto, unit: TimestampUnit): WireBatchOrder {
  const { channelCode, channelOrderId, syncMode } = order;
  return {
    channelCode,
    channelOrderId,
    syncMode,
    orderList: order.orders.map((item, index) => toItem(item, index, unit)),
  };
}

function toItem(item: OrderItemDto, index: number, unit: TimestampUnit): WireOrderItem {
  const { customer, admin, branch } = item;
  return {
    sequence: sequenceOf(item, index),
    customerId: customer.customerId,
    crmCustomerId: customer.crmCustomerId,
    customerName: customer.customerName,
    channelCustomerId: customer.channelCustomerId,
    adminName: admin?.name,
    adminAccount: admin?.account,
    adminEmail: admin?.email,
    adminCellNumber: admin?.cellNumber,
    passwordMobile: customer.passwordMobile,
    address: customer.address,
    customerType: item.customerType,
    branchCode: branch?.code,
    branchName: branch?.name,
    enterpriseGlobalId: customer.enterpriseGlobalId,
    srcLicenseOrderId: item.srcLicenseOrderId,
    licenseType: item.licenseType,
    orderType: item.orderType,
    assets: item.assets.map((asset) => toAsset(asset, unit)),
  };
}

function toAsset(
  asset: BoughtAssetDto | RevokedAssetDto | ReducedAssetDto,
  unit: TimestampUnit,
): WireOrderAsset {
  const { assetNums, extensions, limitStartTime, limitEndTime, lent, transferred, products, merchandises } =
    asset as Partial<BoughtAssetDto & ReducedAssetDto>;
  return {
    assetNos: assetNums,
    assetExtendList: extensions?.map(({ code, value }) => ({ extendCode: code, extendValue: value })),
    limitStartDate: toLong(limitStartTime, unit),
    limitEndDate: toLong(limitEndTime, unit),
    borrowedUsbKey: lent,
    transferedAssetNum: transferred,
    products: products?.map((product) => toProduct(product, unit)),
    merchandises: merchandises?.map((merchandise) => toMerchandise(merchandise, unit)),
  };
}

function toProduct(product: OrderProductDto, unit: TimestampUnit): WireOrderProduct {
  const { limitStartTime, limitEndTime, trial, trialEndDate, features, ...same } = product;
  return {
    ...same,
    limitStartDate: toLong(limitStartTime, unit),
    limitEndDate: toLong(limitEndTime, unit),
    trial: toBit(trial),
    trialEndDate: toLong(trialEndDate, unit),
    productFeatures: features?.map((feature) => toFeature(feature, unit)),
  };
}

function toFeature(feature: ProductFeatureDto, unit: TimestampUnit): WireProductFeature {
  return {
    featureCode: feature.code,
    featureName: feature.name,
    featureValue: feature.value,
    featureValueType: feature.valueType,
    trial: toBit(feature.trial),
    trialEndDate: toLong(feature.trialEndDate, unit),
  };
}

function toMerchandise(merchandise: MerchandiseDto, unit: TimestampUnit): WireOrderMerchandise {
  const { children, products, ...same } = merchandise;
  return {
    ...same,
    children: children?.length ? children.map((child) => toMerchandise(child, unit)) : null,
    licenseOrderProductList: products?.map((product) => toProduct(product, unit)),
  };
}

function toBit(flag: boolean | undefined): 0 | 1 | undefined {
  return flag === undefined ? undefined : flag ? 1 : 0;
}

/** In the unit `s` fractions of a second are cut off: the wire has no place for them. */
function toLong(time: string | undefined, unit: TimestampUnit): number | undefined {
  if (time === undefined) return undefined;
  const ms = Date.parse(time);
  return unit === 's' ? Math.floor(ms / 1000) : ms;
}

/**
 * The licence orders of a batch, in the order of the request. Every item asked for has to be there once and no other. Anything
 * else is an {@link IncompleteAnswer} with the items that are there once: the batch was placed, and never may be again.
 */
export function toPlacedItems(data: unknown, sent: WireBatchOrder, notes?: ContractNotes): PlacedItemDto[] {
  const read = (item: Reader<WireOrderResult>): PlacedItemDto => ({
    sequence: item.requiredInteger('sequence'),
    licenseOrderId: item.requiredId('licenseOrderId'),
    customerId: item.id('customerId'),
  });
  const results = Array.isArray(data) ? data.map((item: unknown) => readResult(item, read, notes)) : [];
  const bySequence = Map.groupBy(results, (result) => result?.sequence);
  const items = sent.orderList.flatMap(({ sequence }) => {
    const [item, ...more] = bySequence.get(sequence) ?? [];
    return item && more.length === 0 ? [item] : [];
  });
  if (items.length !== sent.orderList.length || results.length !== items.length) {
    throw new IncompleteAnswer('data', 'one result for each order', items);
  }
  return items;
}

/** Undefined where it cannot be read. */
function readResult(
  item: unknown,
  read: (item: Reader<WireOrderResult>) => PlacedItemDto,
  notes: ContractNotes | undefined,
): PlacedItemDto | undefined {
  try {
    return readObject(item, 'data', read, notes);
  } catch (error) {
    if (error instanceof WireMisfit) return undefined;
    throw error;
  }
}
