import type { Holding, Holdings } from '../upstream/platform-search.ts';
import {
  type Instance,
  type InstalledProduct,
  isFrom,
  isMeant,
  type Meant,
} from '../upstream/wire/instances.ts';
import type { Bought, Deletion, OrderDetails } from './ledger-record.ts';

/** Pure functions that decide what the platform's lists prove about an order. A list that could not be read proves nothing. */

/** Licence orders with the channel's number of this order, by their ids. */
export type FoundOrders = ReadonlyMap<string, readonly Instance[]>;

/** Whether the platform shows everything that the deletion names. */
export function isThere(deletion: Deletion, { assets }: Holdings): boolean {
  return deletion.assetNums.every((assetNum) =>
    assets.some((asset) => asset.assetNum === assetNum && hasWhatIsMeant(asset, deletion)),
  );
}

/** Returns whether each product of the deletion is on the asset. The absence of a product that was never there proves nothing. */
function hasWhatIsMeant({ instances }: Holding, { licenseOrderId, named }: Deletion): boolean {
  const isOn = (wanted: Meant) => instances.some((each) => isMeant(each, wanted) === true);
  if (named === undefined) return licenseOrderId === undefined || isOn({ licenseOrderId });
  return named.length > 0 && named.every((name) => isOn({ licenseOrderId, named: [name] }));
}

/**
 * Returns whether the lists came whole and have nothing that the deletion may mean. An instance still counts if the platform does not show its
 * identity, or if it only has other terms than a strict deletion names, because a renewal changes terms. An instance that the order itself bought
 * does not count.
 */
export function isGone(deletion: Deletion, { assets, isWhole }: Holdings, order: OrderDetails): boolean {
  if (!isWhole) return false;
  const { licenseOrderId, named } = deletion;
  const left = listedOf(deletion, assets);
  if (named === undefined && licenseOrderId === undefined) return left.length === 0;
  // A package without a number cannot be told from others.
  if (named?.length === 0) return false;
  const withoutTerms = named?.map(({ terms: _, ...identity }) => identity);
  return left.every((asset) => isFreeOf(asset, { licenseOrderId, named: withoutTerms }, order));
}

/** Whether lent locks may hold what the deletion names. An asset shows nothing of a product whose only node is in a lent lock. */
export function mayBeLent(deletion: Deletion, { assets }: Holdings): boolean {
  return listedOf(deletion, assets).length > 0;
}

/** Whether the lent locks came whole and hold nothing that the deletion may mean. */
export function isInNoLock(deletion: Deletion, locks: Holdings, order: OrderDetails): boolean {
  return locks.isWhole && locks.assets.every((lock) => isFreeOf(lock, lentOf(deletion), order));
}

/** Returns what of a deletion shows in a lent lock. Lending moves single nodes of products, without their packages. */
export function lentOf({ licenseOrderId, named }: Meant): Meant {
  return {
    licenseOrderId,
    named: named?.map(({ productUri }) => ({ productUri, merchandiseNums: [] })),
  };
}

function listedOf({ assetNums }: Deletion, assets: readonly Holding[]): readonly Holding[] {
  return assets.filter(({ assetNum }) => assetNum === null || assetNums.includes(assetNum));
}

function isFreeOf({ isWhole, instances }: Holding, meant: Meant, order: OrderDetails): boolean {
  return isWhole && instances.every((each) => isFrom(each, order) || isMeant(each, meant) === false);
}

/** How far the platform's clock may be behind ours. A smaller value leaves orders in doubt; a larger one mistakes older orders for this one. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Returns the order's licence orders, without those that have an instance older than the order or no instance with a time. */
export function ordersIn({ assets }: Holdings, order: OrderDetails, submittedAt: number): FoundOrders {
  const placed = assets.flatMap(({ instances }) => instances.filter((each) => isFrom(each, order)));
  const orders = Map.groupBy(placed, ({ licenseOrderId }) => licenseOrderId ?? '');
  orders.delete('');
  return new Map(
    [...orders].filter(([, instances]) => {
      const times = instances.flatMap(({ createdAt }) => createdAt ?? []);
      return times.length > 0 && times.every((time) => Date.parse(time) >= submittedAt - CLOCK_TOLERANCE_MS);
    }),
  );
}

/** A purchase of the order, with what it buys; undefined or empty where that is not known, as in records of earlier versions. */
export interface Purchase {
  readonly sequence: number;
  readonly bought: readonly Bought[] | undefined;
}

export type Evidence =
  | { readonly kind: 'none' | 'part' | 'twice' }
  /** `placed`: the licence orders of the purchases, where it is certain which belongs to which. */
  | { readonly kind: 'all'; readonly placed: ReadonlyMap<number, string> };

/**
 * Compares what was bought with the licence orders that were found, by products and nodes. A platform may make one licence order of each purchase,
 * or one of the whole batch.
 */
export function evidenceOf(purchases: readonly Purchase[], found: FoundOrders): Evidence {
  if (found.size === 0) return { kind: purchases.length === 0 ? 'all' : 'none', placed: new Map() };
  // If it is not known what one of the items buys, only the number of licence orders can be compared.
  if (purchases.some(({ bought = [] }) => bought.length === 0)) return byNumber(purchases, found);
  const covering = (wanted: readonly Bought[]) =>
    [...found].filter(([, instances]) => covers(instances, wanted)).map(([licenseOrderId]) => licenseOrderId);
  const wholes = purchases.length > 1 ? covering(purchases.flatMap(({ bought = [] }) => bought)) : [];
  const [whole] = wholes;
  if (wholes.length > 1) return { kind: 'twice' };
  if (whole !== undefined && found.size === 1)
    return { kind: 'all', placed: new Map(purchases.map(({ sequence }) => [sequence, whole])) };
  const candidates = purchases.map(({ sequence, bought = [] }) => ({
    sequence,
    orders: covering(bought),
    bought,
  }));
  const relevant = new Set(candidates.flatMap(({ orders }) => orders));
  if (relevant.size > purchases.length) return { kind: 'twice' };
  if (!haveOneEach(candidates)) return { kind: 'part' };
  const certain = candidates.flatMap(({ sequence, orders: [only, ...others] }) =>
    only !== undefined && others.length === 0 ? [[sequence, only] as const] : [],
  );
  return { kind: 'all', placed: new Map(certain) };
}

/** Whether each purchase can have a licence order of its own. The purchases with the most products choose first. */
function haveOneEach(
  candidates: readonly { readonly orders: readonly string[]; readonly bought: readonly Bought[] }[],
) {
  const taken = new Set<string>();
  return candidates
    .toSorted((one, other) => other.bought.length - one.bought.length)
    .every(({ orders }) => {
      const free = orders.find((each) => !taken.has(each));
      if (free !== undefined) taken.add(free);
      return free !== undefined;
    });
}

/** Compares only the number of licence orders, for records that do not say what was bought. */
function byNumber(purchases: readonly Purchase[], found: FoundOrders): Evidence {
  if (found.size !== purchases.length) return { kind: found.size > purchases.length ? 'twice' : 'part' };
  const [only, ...others] = found.keys();
  const [purchase] = purchases;
  const isCertain = only !== undefined && others.length === 0 && purchase !== undefined;
  return { kind: 'all', placed: new Map(isCertain ? [[purchase.sequence, only]] : []) };
}

/** Whether each thing that was bought is among the instances, as often as it was bought. */
function covers(instances: readonly Instance[], wanted: readonly Bought[]): boolean {
  const left = new Set(instances);
  return wanted.every((bought) => {
    for (let count = 0; count < bought.count; count++) {
      const match = [...left].find((instance) => mayBe(instance, bought));
      if (!match) return false;
      left.delete(match);
    }
    return true;
  });
}

/** Returns false where a field of the instance contradicts the purchase. A platform may leave out the nodes, or have its own number for "no limit". */
function mayBe({ product, merchandiseNums }: Instance, { names, nodes, merchandiseNum }: Bought): boolean {
  if (merchandiseNum !== undefined) return product === null && merchandiseNums.at(-1) === merchandiseNum;
  if (product === null) return false;
  const known = namesOf(product).filter((name) => name !== null);
  if (known.length > 0 && !known.some((name) => names.includes(name))) return false;
  const isLimited = nodes !== undefined && nodes >= 0 && nodes < 2_147_483_647;
  return !isLimited || product.limitConcurrent === null || product.limitConcurrent === nodes;
}

function namesOf({ productUri, gmsPid, appKey }: InstalledProduct): (string | null)[] {
  return [productUri, gmsPid, appKey];
}
