/** Revokes assets and products (section 4.1, rules 2 to 5). */
import { type Call, wireTime } from '../call.ts';
import { invalid } from '../errors.ts';
import type {
  Asset,
  Customer,
  MerchandiseInstance,
  ProductInstance,
  ProductTerms,
} from '../state/records.ts';
import { emptyLock, takeRightsBack } from '../state/lending.ts';
import { nodesLeft } from '../state/nodes.ts';
import type { AssetPart, Item, ProductPart } from './batch-request.ts';

/**
 * Revokes assets. With `srcLicenseOrderId`, only the products of that order end, and the asset too if nothing remains on it. Without it,
 * the asset and everything on it end, from all orders.
 */
export function deleteAssets(call: Call, customer: Customer, item: Item): void {
  checkSource(call, customer, item);
  for (const part of item.assets) {
    for (const asset of namedAssets(call, customer, item, part)) {
      const products = fromOrder(call.state.products.by('asset', asset.id), item);
      const merchandises = fromOrder(call.state.merchandises.by('asset', asset.id), item);
      if (item.srcLicenseOrderId !== null && products.length + merchandises.length === 0) {
        throw invalid(`${part.path}: asset ${asset.assetNum} holds nothing of the order srcLicenseOrderId`);
      }
      for (const product of products) removeProduct(call, product);
      const updateTime = call.clock.now();
      for (const { id } of merchandises) call.state.merchandises.change(id, { removed: true, updateTime });
      revokeIfEmpty(call, asset);
    }
  }
}

/**
 * Deletes products of the named assets. A loose match compares the mnemonic, that is the uri, gmsPid or appKey. A strict match also
 * compares start time, end time and node count. An absent value equals only an absent value. Values may be as `listAssetProducts` shows them:
 * times in the wire's unit, and the nodes that are left on the asset. Every match ends. Without a match the call is refused. Without
 * `srcLicenseOrderId` the products end on all assets of the customer with the item's licence type, whether or not the call names them (rule 5).
 * An asset that has nothing afterwards ends too.
 */
export function deleteProducts(call: Call, customer: Customer, item: Item): void {
  checkSource(call, customer, item);
  // All products are found before the first one ends, because two parts may name the same product.
  const gone = new Set(item.assets.flatMap((part) => productsToDelete(call, customer, item, part)));
  const packages = new Set<MerchandiseInstance>();
  if (call.settings.profile.packagesInDeletion === 'taken')
    for (const part of item.assets)
      for (const named of packagesToDelete(call, customer, item, part))
        for (const each of packagesWithin(call, named)) packages.add(each);
  const ids = new Set(Array.from(packages, ({ id }) => id));
  for (const { assetId } of packages)
    for (const product of call.state.products.by('asset', assetId))
      if (product.merchandiseInsId !== null && ids.has(product.merchandiseInsId)) gone.add(product);
  for (const product of gone) removeProduct(call, product);
  const updateTime = call.clock.now();
  for (const id of ids) call.state.merchandises.change(id, { removed: true, updateTime });
  for (const assetId of new Set([...gone, ...packages].map((each) => each.assetId)))
    revokeIfEmpty(call, call.state.assets.need(assetId));
}

/** Finds packages. A package is named by its number alone; its content in the order does not narrow the match. */
function packagesToDelete(
  call: Call,
  customer: Customer,
  item: Item,
  part: AssetPart,
): MerchandiseInstance[] {
  return namedAssets(call, customer, item, part).flatMap((asset) => {
    const there = fromOrder(call.state.merchandises.by('asset', asset.id), item);
    return part.merchandises.flatMap(({ merchandiseNum }) => {
      const matches = there.filter((each) => each.merchandiseNum === merchandiseNum);
      if (matches.length === 0)
        throw invalid(`${part.path}: asset ${asset.assetNum} holds no package ${merchandiseNum}`);
      return matches;
    });
  });
}

/** Returns the package and the packages within it. */
function packagesWithin(call: Call, outer: MerchandiseInstance): MerchandiseInstance[] {
  const inner = call.state.merchandises
    .by('asset', outer.assetId)
    .filter(({ parentId }) => parentId === outer.id);
  return [outer, ...inner.flatMap((each) => packagesWithin(call, each))];
}

function productsToDelete(call: Call, customer: Customer, item: Item, part: AssetPart): ProductInstance[] {
  const named = namedAssets(call, customer, item, part);
  for (const asset of named) {
    const missing = part.products.find((product) => matchesOn(call, asset, item, product).length === 0);
    if (missing !== undefined) {
      throw invalid(
        `${part.path}: asset ${asset.assetNum} holds no matching product ${missing.terms.productUri}`,
      );
    }
  }
  const reached = item.srcLicenseOrderId === null ? assetsLike(call, customer, item) : named;
  return reached.flatMap((asset) =>
    part.products.flatMap((product) => matchesOn(call, asset, item, product)),
  );
}

function matchesOn(call: Call, asset: Asset, item: Item, named: ProductPart): ProductInstance[] {
  const { terms, strict } = named;
  return fromOrder(call.state.products.by('asset', asset.id), item).filter(
    (product) => sameMnemonic(product, terms) && (!strict || sameLimits(call, asset, product, terms)),
  );
}

function assetsLike({ state }: Call, { customerId }: Customer, { licenseType }: Item): Asset[] {
  return state.assets.by('customer', customerId).filter((asset) => asset.licenseType === licenseType);
}

/** Ends a product instance, and the merchandises that are empty afterwards. */
export function removeProduct(call: Call, product: ProductInstance): void {
  call.state.products.change(product.id, { removed: true, updateTime: call.clock.now() });
  for (let holderId = product.merchandiseInsId; holderId !== null;) {
    const holder = call.state.merchandises.need(holderId);
    if (holder.removed || !holdsNothing(call, product.assetId, holder.id)) return;
    call.state.merchandises.change(holder.id, { removed: true, updateTime: call.clock.now() });
    holderId = holder.parentId;
  }
}

/** The source order of a deletion must belong to the customer, or to several of whom the customer is one. */
function checkSource({ state, settings }: Call, customer: Customer, item: Item): void {
  if (item.srcLicenseOrderId === null) return;
  const source = state.orders.get(item.srcLicenseOrderId);
  const orders =
    source && settings.profile.licenseOrders === 'batch'
      ? state.ordersOfNumber(source.channelCode, source.channelOrderId)
      : [source];
  if (!orders.some((order) => order?.customerId === customer.customerId)) {
    throw invalid(`${item.path}.srcLicenseOrderId is not an order of the customer`);
  }
}

function namedAssets({ state }: Call, customer: Customer, item: Item, part: AssetPart): Asset[] {
  return part.assetNos.map((assetNum) => {
    const asset = state.assetByNum(assetNum);
    if (asset === undefined || asset.customerId !== customer.customerId) {
      throw invalid(`${part.path}: ${assetNum} is not an asset of the customer`);
    }
    if (asset.licenseType !== item.licenseType)
      throw invalid(`${part.path}: asset ${assetNum} has another licenseType`);
    return asset;
  });
}

function fromOrder<Instance extends { licenseOrderId: string }>(
  instances: Instance[],
  item: Item,
): Instance[] {
  const source = item.srcLicenseOrderId;
  return source === null ? instances : instances.filter(({ licenseOrderId }) => licenseOrderId === source);
}

/** Ends an asset that holds nothing any more. */
export function revokeIfEmpty(call: Call, asset: Asset): void {
  if (isEmpty(call, asset)) revoke(call, asset);
}

/** Ends an asset, its assignment and its lending. */
function revoke(call: Call, asset: Asset): void {
  takeRightsBack(call, asset);
  emptyLock(call, asset);
  call.state.assets.change(asset.id, {
    revoked: true,
    memberGlobalId: null,
    assignTime: null,
    updateTime: call.clock.now(),
  });
}

function isEmpty({ state }: Call, asset: Asset): boolean {
  return state.products.by('asset', asset.id).length + state.merchandises.by('asset', asset.id).length === 0;
}

function holdsNothing({ state }: Call, assetId: string, merchandiseId: string): boolean {
  return (
    !state.products.by('asset', assetId).some(({ merchandiseInsId }) => merchandiseInsId === merchandiseId) &&
    !state.merchandises.by('asset', assetId).some(({ parentId }) => parentId === merchandiseId)
  );
}

function sameMnemonic(product: ProductInstance, terms: ProductTerms): boolean {
  const names = [product.productUri, product.gmsPid, product.appKey];
  return names.includes(terms.productUri);
}

function sameLimits(call: Call, asset: Asset, product: ProductInstance, terms: ProductTerms): boolean {
  const nodes = [product.limitConcurrent, nodesLeft(call.state, asset, product)];
  return (
    wireTime(call, product.limitStartTime) === wireTime(call, terms.limitStartTime) &&
    wireTime(call, product.limitEndTime) === wireTime(call, terms.limitEndTime) &&
    nodes.includes(terms.limitConcurrent)
  );
}
