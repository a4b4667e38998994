/**
 * Counts nodes. Lending an asset moves one node of each of its products into the lent lock. Nodes count by product, that is by
 * `productUri`, over all orders. An instance whose order has no node count has one node, and one with a negative count has no limit.
 */
import type { World } from '../call.ts';
import type { Asset, ProductInstance } from './records.ts';
import type { State } from './state.ts';
import { isUsable } from './time.ts';

export function nodesOf({ limitConcurrent }: ProductInstance): number {
  return limitConcurrent !== null && limitConcurrent < 0 ? Infinity : (limitConcurrent ?? 1);
}

/** True if the asset has usable products and each has a node to lend. Online use occupies one node of each. */
export function hasFreeNodes({ state, clock }: World, asset: Asset): boolean {
  const total = new Map<string, number>();
  for (const product of state.products.by('asset', asset.id)) {
    if (!isUsable(product, asset, clock.now())) continue;
    total.set(product.productUri, (total.get(product.productUri) ?? 0) + nodesOf(product));
  }
  const inUse = asset.online ? 1 : 0;
  return total.size > 0 && [...total.values()].every((nodes) => nodes > inUse);
}

/**
 * Returns the instances of which a lent asset gave a node: the first of each product that has one. It returns none if the asset is not
 * lent.
 */
export function lentInstances(state: State, asset: Asset): ReadonlyMap<string, ProductInstance> {
  const lent = new Map<string, ProductInstance>();
  if (asset.lentInto === null) return lent;
  for (const product of state.products.by('asset', asset.id)) {
    if (nodesOf(product) > 0 && !lent.has(product.productUri)) lent.set(product.productUri, product);
  }
  return lent;
}

/** Returns the nodes of an instance that are left on its asset. */
export function nodesLeft(state: State, asset: Asset, product: ProductInstance): number {
  const isLent = lentInstances(state, asset).get(product.productUri)?.id === product.id;
  return nodesOf(product) - (isLent ? 1 : 0);
}
