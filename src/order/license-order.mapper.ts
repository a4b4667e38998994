import type { Readings } from '../config/readings.ts';
import { type LedgerRecord, type PlacedItem, unsettled } from '../order-ledger/ledger-record.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { ContractViolation, IncompleteResponse } from '../upstream/upstream-failure.ts';
import { readObject } from '../upstream/wire/reader.ts';
import {
  orderResultShape,
  type WireBatchOrder,
  type WireOrderAsset,
  type WireOrderItem,
  type WireOrderMerchandise,
  type WireOrderProduct,
  type WireProductFeature,
} from '../upstream/wire/order.ts';
import { type TimestampUnit, wireLong } from '../upstream/wire/scalars.ts';
import { type OrderItemDto, type PlaceOrderDto, sequenceOf } from './dto/license-order.dto.ts';
import type {
  BoughtAssetDto,
  MerchandiseDto,
  OrderProductDto,
  ProductFeatureDto,
  ReducedAssetDto,
  RevokedAssetDto,
} from './dto/order-product.dto.ts';
import type { OrderRecordDto } from './dto/order-record.dto.ts';

/** How times are written. */
interface TimeForm {
  readonly unit: TimestampUnit;
  readonly featureTrialEnd?: Readings['featureTrialEnd'] | undefined;
  readonly productTrialEnd?: Readings['productTrialEnd'] | undefined;
}

/**
 * Converts a licence order to the wire (interface section 2.4). Fields that the caller leaves out stay out, except `children`, which the
 * interface shows as null at the leaf. `allOrders` has no field there. Fields are in alphabetical order, as the fingerprint of the order needs
 * them.
 */
export function toBatchOrder(order: PlaceOrderDto, form: TimeForm): WireBatchOrder {
  const { channelCode, channelOrderId, syncMode } = order;
  return {
    channelCode,
    channelOrderId,
    orderList: order.items.map((item, index) => toItem(item, index, form)),
    syncMode,
  };
}

function toItem(item: OrderItemDto, index: number, form: TimeForm): WireOrderItem {
  const { customer, admin, branch } = item;
  return {
    address: customer.address,
    adminAccount: admin?.account,
    adminCellNumber: admin?.cellNumber,
    adminEmail: admin?.email,
    adminName: admin?.name,
    assets: item.assets.map((asset) => toAsset(asset, form)),
    branchCode: branch?.code,
    branchName: branch?.name,
    channelCustomerId: customer.channelCustomerId,
    crmCustomerId: customer.crmCustomerId,
    customerId: customer.customerId,
    customerName: customer.customerName,
    customerType: item.customerType,
    enterpriseGlobalId: customer.enterpriseGlobalId,
    licenseType: item.licenseType,
    orderType: item.orderType,
    passwordMobile: customer.passwordMobile,
    sequence: sequenceOf(item, index),
    srcLicenseOrderId: item.srcLicenseOrderId,
  };
}

function toAsset(asset: BoughtAssetDto | RevokedAssetDto | ReducedAssetDto, form: TimeForm): WireOrderAsset {
  const { assetNums, extensions, startsAt, endsAt, lentLock, transferred, products, merchandises } = asset;
  return {
    assetExtendList: extensions?.map(({ code, value }) => ({ extendCode: code, extendValue: value })),
    assetNos: assetNums,
    borrowedUsbKey: lentLock,
    limitEndDate: toLong(endsAt, form),
    limitStartDate: toLong(startsAt, form),
    merchandises: merchandises?.map((merchandise) => toMerchandise(merchandise, form)),
    products: products?.map((product) => toProduct(product, form)),
    transferedAssetNum: transferred,
  };
}

function toProduct(product: OrderProductDto, form: TimeForm): WireOrderProduct {
  return {
    appKey: product.appKey,
    crmProductId: product.crmProductId,
    gmsPid: product.gmsPid,
    limitConcurrent: product.limitConcurrent,
    limitEndDate: toLong(product.endsAt, form),
    limitStartDate: toLong(product.startsAt, form),
    limitTimeDuration: wireLong(product.limitTimeDuration),
    parentCrmProductId: product.parentCrmProductId,
    passwords: product.passwords,
    productFeatures: product.features?.map((feature) => toFeature(feature, form)),
    productName: product.productName,
    productType: product.productType,
    productUri: product.productUri,
    srcLicenseOrderId: product.srcLicenseOrderId,
    strictMatchWhenDelete: product.strictMatchWhenDelete,
    timeDurationExpression: product.timeDurationExpression,
    timeUnit: product.timeUnit,
    timeUnitQuantity: product.timeUnitQuantity,
    trial: toBit(product.trial),
    trialEndDate: toLong(
      product.trialEndsAt,
      form.productTrialEnd === 'seconds' ? { ...form, unit: 's' } : form,
    ),
  } satisfies Record<keyof WireOrderProduct, unknown>;
}

function toFeature(feature: ProductFeatureDto, form: TimeForm): WireProductFeature {
  return {
    featureCode: feature.code,
    featureName: feature.name,
    featureValue: feature.value,
    featureValueType: feature.valueType,
    trial: toBit(feature.trial),
    trialEndDate:
      form.featureTrialEnd === 'text' ? toDate(feature.trialEndsAt) : toLong(feature.trialEndsAt, form),
  };
}

function toMerchandise(merchandise: MerchandiseDto, form: TimeForm): WireOrderMerchandise {
  const { children, products } = merchandise;
  return {
    children: children?.length ? children.map((child) => toMerchandise(child, form)) : null,
    crmProductId: merchandise.crmProductId,
    licenseOrderProductList: products?.map((product) => toProduct(product, form)),
    merchandiseName: merchandise.merchandiseName,
    merchandiseNum: merchandise.merchandiseNum,
    parentCrmProductId: merchandise.parentCrmProductId,
    parentMerchandiseNum: merchandise.parentMerchandiseNum,
    timeDurationExpression: merchandise.timeDurationExpression,
  } satisfies Record<keyof WireOrderMerchandise, unknown>;
}

function toBit(flag: boolean | undefined): 0 | 1 | undefined {
  return flag === undefined ? undefined : flag ? 1 : 0;
}

/** Returns the date in UTC. The interface does not show the form of a date, so this form is a guess. */
function toDate(time: string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString().slice(0, 10);
}

/** Cuts off the fraction of a second in the unit `s`, because the wire has none. */
function toLong(time: string | undefined, form: TimeForm): number | undefined {
  if (time === undefined) return undefined;
  const ms = Date.parse(time);
  return form.unit === 's' ? Math.floor(ms / 1000) : ms;
}

/**
 * Returns the licence orders of a batch, in the order of the request. Throws an {@link IncompleteResponse} with the items that came once if one
 * of the batch is missing, or if another came: the batch was placed, and must not be placed again. Throws a {@link ContractViolation} for an item
 * with another customer, because the response may belong to another company's order. An id may be missing in an async order, and where the
 * platform is known to give none (reading `orderIds`).
 */
export function toPlacedItems(
  data: unknown,
  sent: WireBatchOrder,
  orderIds?: Readings['orderIds'],
  notes?: ContractNotes,
): PlacedItem[] {
  const customers = new Map(sent.orderList.map(({ sequence, customerId }) => [sequence, customerId]));
  const results = Array.isArray(data) ? data.map((item: unknown) => readResult(item, notes)) : [];
  for (const [index, result] of results.entries()) {
    const named = result && customers.get(result.sequence);
    if (named !== undefined && result?.customerId && result.customerId !== named)
      throw new ContractViolation(`data[${index}].customerId`, 'the customer of the order');
  }
  const bySequence = Map.groupBy(results, (result) => result?.sequence);
  const only = ({ sequence }: WireOrderItem) => {
    const [item, ...more] = bySequence.get(sequence) ?? [];
    return more.length === 0 ? item : undefined;
  };
  const items = sent.orderList.flatMap((item) => {
    const { licenseOrderId = null, ...result } = only(item) ?? {};
    return licenseOrderId === null ? [] : [{ licenseOrderId, ...result } as PlacedItem];
  });
  const isAsync = sent.syncMode === 'async';
  const mayLackId = ({ orderType }: WireOrderItem) =>
    orderIds === 'later' || (orderIds === 'purchases' && orderType !== 'new_buy');
  const isConfirmed = (item: WireOrderItem) => {
    const rows = bySequence.get(item.sequence)?.length ?? 0;
    if (items.some(({ sequence }) => sequence === item.sequence)) return true;
    return rows <= 1 && (mayLackId(item) || (isAsync && (rows === 1 || results.length === 0)));
  };
  const isForeign = results.some((result) => !result || !customers.has(result.sequence));
  if (isForeign || !Array.isArray(data ?? []) || !sent.orderList.every(isConfirmed))
    throw new IncompleteResponse('data', 'one result for each order', items);
  return items;
}

/** Returns undefined where the item cannot be read. */
function readResult(item: unknown, notes: ContractNotes | undefined) {
  try {
    return readObject(orderResultShape, item, notes, (wire) => ({
      sequence: wire.requiredInteger('sequence'),
      licenseOrderId: wire.id('licenseOrderId'),
      customerId: wire.id('customerId'),
    }));
  } catch (error) {
    if (error instanceof ContractViolation) return undefined;
    throw error;
  }
}

export function toOrderRecord({ state, submittedAt, settledAt, details }: LedgerRecord): OrderRecordDto {
  const { order } = details;
  if (!order) throw new Error('a write that is no order has no order record');
  const placed = new Map(order.items.map((item) => [item.sequence, item]));
  return {
    channelCode: order.channelCode,
    channelOrderId: order.channelOrderId,
    state,
    syncMode: order.syncMode,
    items: order.ordered.map(({ sequence, orderType, enterpriseGlobalId }) => {
      const { licenseOrderId = null, customerId = null } = placed.get(sequence) ?? {};
      return { sequence, orderType, enterpriseGlobalId, licenseOrderId, customerId };
    }),
    notBefore: order.notBefore === undefined ? null : new Date(order.notBefore).toISOString(),
    submittedAt: new Date(submittedAt).toISOString(),
    settledAt: settledAt === null || unsettled.includes(state) ? null : new Date(settledAt).toISOString(),
    reason: order.reason,
  };
}
