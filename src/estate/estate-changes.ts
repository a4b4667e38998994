import { isDeepStrictEqual } from 'node:util';
import { type EstateRow, estateRows, type HeldAsset, isListed } from './estate-row.ts';

/** The time for which writes of the gateway stay noted. It is longer than the longest `ESTATE_REFRESH`, after which their changes are read. */
export const NOTES_KEPT_MS = 14 * 86_400_000;

/** A change of a row between two readings. It becomes an event, unless a write through the gateway made it. */
export interface EstateChange {
  readonly what: 'added' | 'removed' | 'changed';
  readonly row: EstateRow;
  /** The ids by which a write that made this change may have named the row. */
  readonly ids: readonly string[];
  /** The last time at which the platform showed the row without this change, in ms since the epoch. */
  readonly since: number;
}

/**
 * Returns the changes of an asset that events tell. `before` is what the copy had, and `after` is what the copy has from now on; undefined:
 * nothing. The rows of a new asset are told when its products have been read. `since` is the time of the enterprise's previous reading.
 */
export function changesOf(
  enterprise: string,
  before: HeldAsset | undefined,
  after: HeldAsset | undefined,
  since: number,
): EstateChange[] {
  const [old, now] = [knownRows(enterprise, before), knownRows(enterprise, after)];
  const assetSince = before && !before.isNew ? before.seenAt : since;
  const productsSince = before?.read?.at ?? assetSince;
  const told = (what: EstateChange['what'], row: EstateRow, was = row, from = assetSince): EstateChange => ({
    what,
    row,
    ids: [...new Set([...idsOf(was), ...idsOf(row)])],
    since: from,
  });
  if (!before && after?.isNew !== true) {
    // If no products are shown, nothing says which order has made the asset.
    const orders = after?.read ? [] : [enterprise, after?.asset.customerId ?? ''].map((of) => orderIn(of));
    return [...now.values()].map((row) => ({ ...told('added', row), ids: [...idsOf(row), ...orders] }));
  }
  if (!before) return [];
  if (!after) return [...old.values()].map((row) => told('removed', row));
  if (before.isNew && !after.isNew) return [...now.values()].map((row) => told('added', row));
  if (!before.read && after.read) return [];
  const changed = [...now].flatMap(([key, row]) => {
    const was = old.get(key);
    // The row of an asset without products is no product.
    if (!was) return key === '' ? [] : [told('added', row, row, productsSince)];
    if (!isDeepStrictEqual(was.product, row.product)) return [told('changed', row, was, productsSince)];
    return isSameAsset(was, row) ? [] : [told('changed', row, was)];
  });
  const removed = [...old].filter(([key]) => key !== '' && !now.has(key));
  return [...changed, ...removed.map(([, row]) => told('removed', row, row, productsSince))];
}

/** A reading and the copy before it. */
export interface Comparison {
  readonly enterprise: string;
  /** The time of the enterprise's previous reading; null: this is the first one. */
  readonly since: number | null;
  /** The time of the previous lists. They are kept also where the products of an asset do not come. */
  readonly listedAt: number;
  readonly startedAt: number;
  /** What the copy had. Undefined stands for an asset that no key of the gateway opens. */
  readonly before: ReadonlyMap<string, HeldAsset | undefined>;
  /** A user was shown what the copy had. */
  readonly wasShown: boolean;
}

/**
 * Returns whether events tell what has changed of the asset. The first reading makes none. Neither does an asset that could not be opened, nor
 * one that only users are shown, where no user was shown anything before.
 */
export function makesEvents({ since, before, wasShown }: Comparison, { asset }: HeldAsset): boolean {
  const { assetId } = asset;
  const isComparable = before.has(assetId) ? before.get(assetId) !== undefined : wasShown || isListed(asset);
  return since !== null && isComparable;
}

/** Returns {@link changesOf} the asset if events tell them, without those that a write may have made whose note is forgotten. */
export function changesIn(
  comparison: Comparison,
  old: HeldAsset | undefined,
  now: HeldAsset | undefined,
): EstateChange[] {
  const held = now ?? old;
  if (!held || !makesEvents(comparison, held)) return [];
  const { enterprise, since, listedAt, startedAt, before } = comparison;
  const isKnown = old !== undefined && !old.isNew;
  // When the products are read, the lists have taken the asset from a member whom a write has deleted.
  const holder = formerHolder(before, held);
  return changesOf(enterprise, old, now, since ?? 0)
    .filter((change) => (isKnown ? change.since : listedAt) >= startedAt - NOTES_KEPT_MS)
    .map((change) => ({ ...change, ids: change.ids.concat(holder) }));
}

/** Returns the member who had the asset before, if the copy shows one: a write may have named that member alone. */
export function formerHolder(before: Comparison['before'], { asset }: HeldAsset): string[] {
  return [before.get(asset.assetId)?.asset.memberGlobalId ?? []].flat();
}

/** Returns the ids by which a write may have named the asset, or one of its products. */
export function idsOfHeld(enterprise: string, held: HeldAsset): string[] {
  return [...new Set(estateRows(enterprise, held).flatMap(idsOf))];
}

function knownRows(enterprise: string, held: HeldAsset | undefined): ReadonlyMap<string, EstateRow> {
  if (!held || held.isNew) return new Map();
  return new Map(estateRows(enterprise, held).map((row) => [row.rowKey, row]));
}

/**
 * Compares assets. The member who has the asset counts only if both rows know the member, because the platform does not show it to every
 * user. Whether the asset is in use never counts.
 */
function isSameAsset({ asset: one }: EstateRow, { asset: other }: EstateRow): boolean {
  const isShown = one.lent !== null && other.lent !== null;
  const compared = ({ memberGlobalId, lent, isListed: _, ...asset }: EstateRow['asset']) => ({
    ...asset,
    ...(isShown && { memberGlobalId, lent }),
    updatedAt: null,
    online: null,
    lastOnlineAt: null,
    isUnassigned: null,
    customerId: null,
  });
  return isDeepStrictEqual(compared(one), compared(other));
}

/**
 * Stands for all assets of a customer in a deletion from all orders, which may change assets that it does not name; with an enterprise, for those
 * whose customer the platform does not show.
 */
export function allAssetsOf(owner: string): string {
  return `all assets of ${owner}`;
}

/** Stands for an order of an enterprise or customer by its number; without a number, for any purchase. */
export function orderIn(owner: string, channelOrderId = ''): string {
  return `order ${channelOrderId} of ${owner}`;
}

function idsOf({ enterpriseGlobalId, asset, product }: EstateRow): string[] {
  const { assetId, assetNum, memberGlobalId, customerId } = asset;
  const { licenseOrderId = null, channelOrderId = null } = product ?? {};
  const ofOwner = allAssetsOf(customerId ?? enterpriseGlobalId);
  const order = channelOrderId === null ? null : orderIn(enterpriseGlobalId, channelOrderId);
  const all = [assetId, assetNum, memberGlobalId, licenseOrderId, channelOrderId, order, ofOwner];
  return all.filter((id) => id !== null);
}
