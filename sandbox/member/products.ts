/** Member operation 7: the products and merchandises under an asset (sections 4.2 and 2.12). */
import { type Call, type Handler, wireTime } from '../call.ts';
import { Refusal } from '../errors.ts';
import type { Asset, MerchandiseInstance, ProductInstance } from '../state/records.ts';
import { lentInstances, nodesLeft, nodesOf } from '../state/nodes.ts';
import { isUsable } from '../state/time.ts';
import { requireBoundUser } from './who.ts';

/** A product instance with its nodes in the place where it is shown. */
interface Held {
  readonly product: ProductInstance;
  readonly nodes: number;
}

/**
 * Operation 7 lists the products of an asset. A lent asset shows the rest of its nodes. A lent lock also shows the moved products, without
 * their packages.
 * @returns `{ productInstanceList, children }`: the products directly on the asset, and the trees of merchandises
 */
export const listAssetProducts: Handler = (call) => {
  requireBoundUser(call);
  const asset = call.state.assets.get(call.parameters['assetId'] ?? '');
  if (asset === undefined || asset.revoked) throw new Refusal('60024', 'no such asset');
  const held = heldBy(call, asset);
  const merchandises = call.state.merchandises.by('asset', asset.id);
  const present = new Set(merchandises.map(({ id }) => id));
  const roots = merchandises.filter(({ parentId }) => parentId === null || !present.has(parentId));
  const movedIn = call.state.assets
    .by('lentInto', asset.id)
    .flatMap((lent) => [...lentInstances(call.state, lent).values()])
    .map((product) => ({ product, nodes: 1 }));
  return {
    productInstanceList: [
      ...held.filter(({ product }) => !present.has(product.merchandiseInsId ?? '')),
      ...movedIn,
    ].map((one) => productView(call, asset, one)),
    children: roots.map((root) => merchandiseView(call, asset, root, merchandises, held)),
  };
};

function heldBy({ state }: Call, asset: Asset): Held[] {
  return state.products
    .by('asset', asset.id)
    .map((product) => ({ product, nodes: nodesLeft(state, asset, product) }))
    .filter(({ product, nodes }) => nodes > 0 || nodesOf(product) === 0);
}

function merchandiseView(
  call: Call,
  asset: Asset,
  merchandise: MerchandiseInstance,
  all: readonly MerchandiseInstance[],
  held: readonly Held[],
): Record<string, unknown> {
  const children = all.filter(({ parentId }) => parentId === merchandise.id);
  const products = held.filter(({ product }) => product.merchandiseInsId === merchandise.id);
  return {
    id: merchandise.id,
    licenseType: merchandise.licenseType,
    merchandiseNum: merchandise.merchandiseNum,
    merchandiseName: merchandise.merchandiseName,
    parentId: merchandise.parentId,
    parentMerchandiseNum: merchandise.parentMerchandiseNum,
    customerId: merchandise.customerId,
    licenseOrderId: merchandise.licenseOrderId,
    channelOrderId: merchandise.channelOrderId,
    createTime: wireTime(call, merchandise.createTime),
    updateTime: wireTime(call, merchandise.updateTime),
    channelCode: merchandise.channelCode,
    timeDurationExpression: merchandise.timeDurationExpression,
    srcLicenseOrderId: merchandise.srcLicenseOrderId,
    children:
      children.length === 0 ? null : children.map((child) => merchandiseView(call, asset, child, all, held)),
    productInstanceList: products.length === 0 ? null : products.map((one) => productView(call, asset, one)),
  };
}

/**
 * Returns a product as the interface shows it. `assetId`, `assetNum` and `licenseType` belong to the asset that shows the product,
 * `assetInsId` to the asset for which it was bought; they differ in a lent lock. The interface shows no element of
 * `productExtendInstanceList`; here it has the order's features.
 */
function productView(call: Call, asset: Asset, { product, nodes }: Held): Record<string, unknown> {
  const extended = product.features.length > 0;
  return {
    id: product.id,
    licenseType: asset.licenseType,
    customerId: product.customerId,
    assetId: asset.id,
    assetInsId: product.assetId,
    merchandiseInsId: product.merchandiseInsId,
    assetNum: asset.assetNum,
    productUri: product.productUri,
    gmsPid: product.gmsPid,
    appKey: product.appKey,
    productName: product.productName,
    channelCode: product.channelCode,
    licenseOrderId: product.licenseOrderId,
    channelOrderId: product.channelOrderId,
    limitStartTime: wireTime(call, product.limitStartTime),
    limitEndTime: wireTime(call, product.limitEndTime),
    limitAmount: 0,
    limitConcurrent: nodes === Infinity ? product.limitConcurrent : nodes,
    limitTimeDuration: product.limitTimeDuration ?? 0,
    trial: product.trial,
    trialEndDate: wireTime(call, product.trialEndTime),
    limitType: extended ? 'feature' : 'basic',
    prodDefExtend: extended,
    timeDurationExpression: product.timeDurationExpression,
    srcLicenseOrderId: product.srcLicenseOrderId,
    createTime: wireTime(call, product.createTime),
    updateTime: wireTime(call, product.updateTime),
    activateFlag: isUsable(product, call.state.assets.need(product.assetId), call.clock.now()),
    crmProductId: product.crmProductId,
    productExtendInstanceList: product.features,
  };
}
