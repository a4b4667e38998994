/** New purchases. They create or extend assets, with their products and merchandise trees (section 4.1, rules 1 and 7). */
import type { Call } from '../call.ts';
import { invalid } from '../errors.ts';
import { newAsset } from '../state/creation.ts';
import type { Asset, Customer, Extension, LicenseOrder, Origin, ProductTerms } from '../state/records.ts';
import { endAfter } from '../state/time.ts';
import type { AssetPart, Item } from './batch-request.ts';
import { removeProduct, revokeIfEmpty } from './deletion.ts';
import type { MerchandiseTerms } from './terms.ts';

/**
 * Buys assets. Every number in `assetNos` gets all of the item's products and merchandises. Without a number, one asset with a generated
 * number is made. An unused number makes an asset too.
 */
export function buy(call: Call, order: LicenseOrder, customer: Customer, item: Item): void {
  const sources = new Set<string>();
  for (const part of item.assets) {
    const numbers =
      part.assetNos.length > 0 ? part.assetNos : [call.state.nextAssetNum(call.settings.region)];
    for (const assetNum of numbers) {
      const asset = appearOrGrow(call, customer, item, part, assetNum);
      const origin: Origin = {
        customerId: customer.customerId,
        assetId: asset.id,
        licenseType: item.licenseType,
        licenseOrderId: order.licenseOrderId,
        channelCode: order.channelCode,
        channelOrderId: order.channelOrderId,
      };
      const purchase: Purchase = { call, customer, origin, sources };
      for (const { terms } of part.products) addProduct(purchase, terms, null, null);
      for (const terms of part.merchandises) addMerchandise(purchase, terms, null, null);
    }
  }
  for (const assetId of sources) revokeIfEmpty(call, call.state.assets.need(assetId));
}

/** The common data of all products of an asset, and the assets from which products were taken. */
interface Purchase {
  readonly call: Call;
  readonly customer: Customer;
  readonly origin: Origin;
  readonly sources: Set<string>;
}

function appearOrGrow(call: Call, customer: Customer, item: Item, part: AssetPart, assetNum: string): Asset {
  const { state, clock } = call;
  const existing = state.assetByNum(assetNum);
  if (existing === undefined) {
    return newAsset(call, {
      assetNum,
      licenseType: item.licenseType,
      customerId: customer.customerId,
      lentLock: part.lentLock,
      transferred: part.transferred,
      extensions: part.extensions,
      limitStartTime: part.limitStartTime,
      limitEndTime: part.limitEndTime,
    });
  }
  if (existing.licenseType !== item.licenseType)
    throw invalid(`${part.path}: the asset has another licenseType`);
  const moves = existing.customerId !== customer.customerId;
  if (moves && !(part.transferred && sameEnterprise(call, existing.customerId, customer))) {
    throw invalid(`${part.path}: the asset number belongs to another customer`);
  }
  return state.assets.change(existing.id, {
    customerId: customer.customerId,
    transferred: existing.transferred || part.transferred,
    lentLock: existing.lentLock || part.lentLock,
    extensions: mergeExtensions(existing.extensions, part.extensions),
    limitStartTime: part.limitStartTime ?? existing.limitStartTime,
    limitEndTime: part.limitEndTime ?? existing.limitEndTime,
    updateTime: clock.now(),
  });
}

/**
 * Adds a product. A length of time, of the product or else of the package that holds it, counts from the product's start, or from now. It
 * determines the end if the order names none.
 */
function addProduct(
  purchase: Purchase,
  terms: ProductTerms,
  merchandiseInsId: string | null,
  packageDuration: string | null,
): void {
  const { call, origin } = purchase;
  const now = call.clock.now();
  if (terms.srcLicenseOrderId !== null) takeFromOrder(purchase, terms, terms.srcLicenseOrderId);
  const duration = terms.timeDurationExpression ?? packageDuration;
  const start = terms.limitStartTime ?? now;
  const end = duration === null || terms.limitEndTime !== null ? null : endAfter(start, duration);
  call.state.products.put({
    ...terms,
    ...origin,
    id: call.state.nextId('product'),
    productName: terms.productName ?? `Product ${terms.productUri}`,
    merchandiseInsId,
    ...(end === null ? {} : { limitStartTime: start, limitEndTime: end }),
    active: true,
    removed: false,
    createTime: now,
    updateTime: null,
  });
}

/** Transfers a product: one instance of it leaves the named order, which must belong to this customer or its enterprise. */
function takeFromOrder({ call, customer, sources }: Purchase, terms: ProductTerms, sourceId: string): void {
  const source = call.state.orders.get(sourceId);
  if (source === undefined || !sameEnterprise(call, source.customerId, customer)) {
    throw invalid(`srcLicenseOrderId ${sourceId} is not an order of the customer`);
  }
  const product = call.state.products
    .by('order', sourceId)
    .find(({ productUri }) => productUri === terms.productUri);
  if (product === undefined) throw invalid(`order ${sourceId} holds no product ${terms.productUri}`);
  removeProduct(call, product);
  sources.add(product.assetId);
}

function addMerchandise(
  purchase: Purchase,
  terms: MerchandiseTerms,
  parent: { id: string; merchandiseNum: string } | null,
  outerDuration: string | null,
): void {
  const { call, origin } = purchase;
  const { children, products, ...own } = terms;
  const duration = own.timeDurationExpression ?? outerDuration;
  const instance = call.state.merchandises.put({
    ...own,
    ...origin,
    id: call.state.nextId('merchandise'),
    merchandiseName: own.merchandiseName ?? `Package ${own.merchandiseNum}`,
    parentId: parent?.id ?? null,
    parentMerchandiseNum: own.parentMerchandiseNum ?? parent?.merchandiseNum ?? null,
    srcLicenseOrderId: null,
    removed: false,
    createTime: call.clock.now(),
    updateTime: null,
  });
  for (const product of products) addProduct(purchase, product, instance.id, duration);
  for (const child of children) addMerchandise(purchase, child, instance, duration);
}

function sameEnterprise({ state }: Call, customerId: string, customer: Customer): boolean {
  if (customerId === customer.customerId) return true;
  const { enterpriseGlobalId } = state.customers.need(customerId);
  return enterpriseGlobalId !== null && enterpriseGlobalId === customer.enterpriseGlobalId;
}

/** Merges extensions. The later value of a code wins. */
function mergeExtensions(old: readonly Extension[], added: readonly Extension[]): Extension[] {
  const codes = new Set(added.map(({ extendCode }) => extendCode));
  return [...old.filter(({ extendCode }) => !codes.has(extendCode)), ...added];
}
