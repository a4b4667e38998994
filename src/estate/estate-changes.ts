import { type EstateRow, type HeldAsset, estateRows } from './estate-row.ts';

/** What the platform changed between two readings, unless a write through the gateway did. */
export interface EstateChange {
  readonly what: 'added' | 'removed' | 'changed';
  readonly row: EstateRow;
  /** The ids that such a write has named. */
  readonly ids: readonly string[];
  /** When it was last seen as it was, in ms since the epoch. */
  readonly since: number;
}

/**
 * What an event tells of an asset: `before` is what the copy had, and `after` what it has from now on; undefined: nothing. Where the products
 * were never read, the rows are not known, so they are told when they are. `since`: when the enterprise was read before.
 */
export function changesOf(
  enterprise: string,
  before: HeldAsset | undefined,
  after: HeldAsset | undefined,
  since: number,
): EstateChange[] {
  const [old, now] = [knownRows(enterprise, before), knownRows(enterprise, after)];
  const told = (what: EstateChange['what'], row: EstateRow, was = row): EstateChange => ({
    what,
    row,
    ids: [...new Set([...idsOf(was), ...idsOf(row)])],
    since: before && !before.isNew ? before.seenAt : since,
  });
  if (!before) return after?.isNew === true ? [] : [...now.values()].map((row) => told('added', row));
  if (!after) return [...old.values()].map((row) => told('removed', row));
  if (before.isNew && !after.isNew) return [...now.values()].map((row) => told('added', row));
  if (!before.read && after.read) return [];
  const changed = [...now].flatMap(([key, row]) => {
    const was = old.get(key);
    // An asset without products has a row of its own, which is no product.
    if (!was) return key === '' ? [] : [told('added', row)];
    return isSame(was, row) ? [] : [told('changed', row, was)];
  });
  const removed = [...old].filter(([key]) => key !== '' && !now.has(key));
  return [...changed, ...removed.map(([, row]) => told('removed', row))];
}

function knownRows(enterprise: string, held: HeldAsset | undefined): ReadonlyMap<string, EstateRow> {
  if (!held || held.isNew) return new Map();
  return new Map(estateRows(enterprise, held).map((row) => [row.rowKey, row]));
}

/** Who has an asset is not shown to every user, and when it is in use is no change. */
function isSame({ asset: one, ...was }: EstateRow, { asset: other, ...now }: EstateRow): boolean {
  const isShown = one.lent !== null && other.lent !== null;
  const compared = ({ memberGlobalId, lent, ...asset }: EstateRow['asset']) => ({
    ...asset,
    ...(isShown && { memberGlobalId, lent }),
    updatedAt: null,
    online: null,
    lastOnlineAt: null,
    isUnassigned: null,
    customerId: null,
  });
  const text = (asset: EstateRow['asset'], { product }: typeof was) =>
    JSON.stringify([compared(asset), product]);
  return text(one, was) === text(other, now);
}

function idsOf({ asset, product }: EstateRow): string[] {
  const { assetId, assetNum, memberGlobalId } = asset;
  const { licenseOrderId = null, channelOrderId = null } = product ?? {};
  return [assetId, assetNum, memberGlobalId, licenseOrderId, channelOrderId].filter((id) => id !== null);
}
