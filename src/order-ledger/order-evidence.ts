import type { Holding, Holdings } from '../upstream/platform-search.ts';
import { type ChannelOrder, type Instance, isFrom, isMeant, type Meant } from '../upstream/wire/instances.ts';
import { canMeet } from './can-meet.ts';
import type { Bought, Deletion } from './ledger-record.ts';

/** Pure functions that decide what the platform's lists prove about an order. A list that could not be read proves nothing. */

/** Licence orders with the channel's number of this order, by their ids. */
export type FoundOrders = ReadonlyMap<string, readonly Instance[]>;

/** Whether the platform shows everything that the deletion names. */
export function isThere(deletion: Deletion, { assets }: Holdings): boolean {
  const holdings = holdingsOf(assets);
  return deletion.assetNums.every((assetNum) =>
    holdings.get(assetNum)?.some((asset) => hasWhatIsMeant(asset, deletion)),
  );
}

/** An order may have a thousand deletions, and each looks for its assets among all of an enterprise. */
const known = new WeakMap<readonly Holding[], ReadonlyMap<string | null, readonly Holding[]>>();

/** Returns the assets by their number. */
function holdingsOf(assets: readonly Holding[]): ReadonlyMap<string | null, readonly Holding[]> {
  const holdings = known.get(assets) ?? Map.groupBy(assets, ({ assetNum }) => assetNum);
  known.set(assets, holdings);
  return holdings;
}

/** Returns whether each product of the deletion is on the asset. The absence of a product that was never there proves nothing. */
function hasWhatIsMeant({ instances }: Holding, { licenseOrderId, named }: Deletion): boolean {
  const isOn = (wanted: Meant) => instances.some((each) => isMeant(each, wanted) === true);
  if (named === undefined) return licenseOrderId === undefined || isOn({ licenseOrderId });
  return named.length > 0 && named.every((name) => isOn({ licenseOrderId, named: [name] }));
}

/**
 * Returns whether the lists came whole and have nothing that the deletion may mean. An instance still counts if the platform does not show its
 * identity, or if it only has other terms than a strict deletion names, because a renewal changes terms. An instance that the order itself bought,
 * which is in `found`, does not count.
 */
export function isGone(deletion: Deletion, holdings: Holdings, found: FoundOrders): boolean {
  const { licenseOrderId, named, isListed } = deletion;
  const { assets, isWhole, isListedOnly } = holdings;
  if (!isWhole || (isListedOnly && isListed === false)) return false;
  const left = listedOf(deletion, assets);
  if (named === undefined && licenseOrderId === undefined) return left.length === 0;
  // A package without a number cannot be told from others.
  if (named?.length === 0) return false;
  const withoutTerms = named?.map(({ terms: _, ...identity }) => identity);
  return left.every((asset) => isFreeOf(asset, { licenseOrderId, named: withoutTerms }, found));
}

/** Whether lent locks may hold what the deletion names. An asset shows nothing of a product whose only node is in a lent lock. */
export function mayBeLent(deletion: Deletion, { assets }: Holdings): boolean {
  return listedOf(deletion, assets).length > 0;
}

/** Whether the lent locks came whole and hold nothing that the deletion may mean. */
export function isInNoLock(deletion: Deletion, locks: Holdings, found: FoundOrders): boolean {
  return locks.isWhole && locks.assets.every((lock) => isFreeOf(lock, lentOf(deletion), found));
}

/** Returns what of a deletion shows in a lent lock. Lending moves single nodes of products, without their packages. */
export function lentOf({ licenseOrderId, named }: Meant): Meant {
  return {
    licenseOrderId,
    named: named?.map(({ productUri }) => ({ productUri, merchandiseNums: [] })),
  };
}

/** Returns the assets that the deletion names, and those without a number, which it may name. */
function listedOf({ assetNums }: Deletion, assets: readonly Holding[]): readonly Holding[] {
  const holdings = holdingsOf(assets);
  return [...new Set([null, ...assetNums])].flatMap((assetNum) => holdings.get(assetNum) ?? []);
}

function isFreeOf({ isWhole, instances }: Holding, meant: Meant, found: FoundOrders): boolean {
  const isOwn = ({ licenseOrderId }: Instance) => licenseOrderId !== null && found.has(licenseOrderId);
  return isWhole && instances.every((each) => isOwn(each) || isMeant(each, meant) === false);
}

/** How far the platform's clock may be behind ours. A smaller value leaves orders in doubt; a larger one mistakes older orders for this one. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Returns the instances at which the platform noted the order, by their licence order. */
export function notedIn(
  contents: readonly { readonly instances: readonly Instance[] }[],
  order: ChannelOrder,
): FoundOrders {
  const noted = contents.flatMap(({ instances }) => instances.filter((each) => isFrom(each, order) === true));
  const orders = Map.groupBy(noted, ({ licenseOrderId }) => licenseOrderId ?? '');
  orders.delete('');
  return orders;
}

/** Returns the order's licence orders, without those that are older than the order or whose time is not known. `sentAt` is the time of the order. */
export function ordersIn({ assets }: Holdings, order: ChannelOrder, sentAt: number): FoundOrders {
  const hasTime = (instances: readonly Instance[]) => instances.some(({ createdAt }) => createdAt !== null);
  const noted = [...notedIn(assets, order)];
  return new Map(noted.filter(([, instances]) => hasTime(instances) && !isOlder(instances, sentAt)));
}

/** Whether one of the instances of a licence order was made before the order was sent. Another system may have used its number. */
export function isOlder(instances: readonly Instance[], sentAt: number): boolean {
  return instances.some(
    ({ createdAt }) => createdAt !== null && Date.parse(createdAt) < sentAt - CLOCK_TOLERANCE_MS,
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
  const stocks = new Map(
    [...found].map(([licenseOrderId, instances]) => [licenseOrderId, stockOf(instances)]),
  );
  const keys = [...stocks].flatMap(([id, { at }]) => [...at.keys()].map((key) => ({ key, id })));
  const having = Map.groupBy(keys, ({ key }) => key);
  /** Returns the licence orders that have all of it. */
  const covering = (wanted: readonly Wanted[]): readonly string[] => {
    const some = new Set(wanted[0]?.keys.flatMap((key) => having.get(key)?.map(({ id }) => id) ?? []));
    return [...some].filter((id) => covers(stocks.get(id) as Stock, wanted));
  };
  const [whole, ...wholes] =
    purchases.length > 1 ? covering(wantedOf(purchases.flatMap(({ bought = [] }) => bought))) : [];
  if (wholes.length > 0) return { kind: 'twice' };
  if (whole !== undefined && found.size === 1)
    return { kind: 'all', placed: new Map(purchases.map(({ sequence }) => [sequence, whole])) };
  const each = purchases.map(({ sequence, bought = [] }) => ({ sequence, wanted: wantedOf(bought) }));
  const equal = [...Map.groupBy(each, ({ wanted }) => JSON.stringify(wanted)).values()].map((same) => ({
    same,
    orders: covering(same[0]?.wanted ?? []),
  }));
  const relevant = [...new Set(equal.flatMap(({ orders }) => orders))];
  if (relevant.length > purchases.length) return { kind: 'twice' };
  const indexes = new Map(relevant.map((id, index) => [id, index]));
  const demands = equal.map(({ same, orders }) => ({
    count: same.length,
    fits: orders.flatMap((id) => indexes.get(id) ?? []),
  }));
  const oneOfEach = relevant.map(() => 1);
  if (!canMeet(demands, oneOfEach)) return { kind: 'part' };
  const certain = equal.flatMap(({ same, orders: [only, ...others] }) =>
    only !== undefined && others.length === 0 ? same.map(({ sequence }) => [sequence, only] as const) : [],
  );
  return { kind: 'all', placed: new Map(certain) };
}

/** Compares only the number of licence orders, for records that do not say what was bought. */
function byNumber(purchases: readonly Purchase[], found: FoundOrders): Evidence {
  if (found.size !== purchases.length) return { kind: found.size > purchases.length ? 'twice' : 'part' };
  const [only, ...others] = found.keys();
  const [purchase] = purchases;
  const isCertain = only !== undefined && others.length === 0 && purchase !== undefined;
  return { kind: 'all', placed: new Map(isCertain ? [[purchase.sequence, only]] : []) };
}

/** The instances of a licence order: how many there are of each kind, and which kinds have a key. */
interface Stock {
  readonly counts: readonly number[];
  readonly at: ReadonlyMap<string, readonly number[]>;
}

function stockOf(instances: readonly Instance[]): Stock {
  const kinds = [...Map.groupBy(instances.map(keysOf), (keys) => JSON.stringify(keys)).values()];
  const at = new Map<string, number[]>();
  for (const [kind, [keys = []]] of kinds.entries())
    for (const key of keys) {
      const having = at.get(key);
      if (having) having.push(kind);
      else at.set(key, [kind]);
    }
  return { counts: kinds.map(({ length }) => length), at };
}

/** Equal things that were bought: the keys that fit them, and how many they are. */
interface Wanted {
  readonly keys: readonly string[];
  readonly count: number;
}

function wantedOf(bought: readonly Bought[]): readonly Wanted[] {
  const wanted = bought.map((each) => ({ keys: keysFitting(each), count: each.count }));
  return [...Map.groupBy(wanted, ({ keys }) => JSON.stringify(keys)).values()].map((same) => ({
    keys: same[0]?.keys ?? [],
    count: same.reduce((sum, { count }) => sum + count, 0),
  }));
}

/** Whether each thing that was bought is in the stock, as often as it was bought. */
function covers({ counts, at }: Stock, wanted: readonly Wanted[]): boolean {
  const demands = wanted.map(({ keys, count }) => ({
    count,
    fits: [...new Set(keys.flatMap((key) => at.get(key) ?? []))],
  }));
  return canMeet(demands, counts);
}

/**
 * Returns the keys of an instance. It fits a purchase if they have a key in common, unless a field of it contradicts the purchase. A platform may
 * leave out the names or the nodes, or have its own number for "no limit".
 */
function keysOf({ product, merchandiseNums }: Instance): readonly string[] {
  if (product === null) return [`package ${merchandiseNums.at(-1)}`];
  const { productUri, gmsPid, appKey, limitConcurrent } = product;
  const names = [productUri, gmsPid, appKey].filter((name) => name !== null);
  return (names.length > 0 ? names : ['']).flatMap((name) => [`${limitConcurrent} ${name}`, `any ${name}`]);
}

function keysFitting({ names, nodes, merchandiseNum }: Bought): readonly string[] {
  if (merchandiseNum !== undefined) return [`package ${merchandiseNum}`];
  const isLimited = nodes !== undefined && nodes >= 0 && nodes < 2_147_483_647;
  return [...names, ''].flatMap((name) =>
    isLimited ? [`${nodes} ${name}`, `null ${name}`] : [`any ${name}`],
  );
}
