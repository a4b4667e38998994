import { enumeration, type WordOf } from '../shared/enumeration.ts';
import type { InstalledProduct, Instance } from '../upstream/wire/instances.ts';

export const estateStates = enumeration(
  'EstateState',
  ['whole', 'assets-only', 'stale', 'unread'],
  '`whole`: everything was read; `assets-only`: the platform shows products to users only, and none of the users file serves the enterprise; `stale`: the last reading failed, and what is shown is of `seenAt`; `unread`: it was not read to its end yet',
);
export type EstateState = WordOf<typeof estateStates>;

const DAY_MS = 86_400_000;

/** An enterprise of the copy, and how its last reading ended. Times are in ms since the epoch. */
export interface EstateEnterprise {
  readonly enterpriseGlobalId: string;
  readonly state: EstateState;
  /** Why the enterprise is not whole; null where it is, or was not read yet. */
  readonly reason: string | null;
  readonly seenAt: number | null;
}

/** An asset as the lists of the platform have it. Times are RFC 3339. */
export interface EstateAsset {
  readonly assetId: string;
  readonly assetNum: string | null;
  readonly licenseType: string | null;
  readonly customerId: string | null;
  readonly startsAt: string | null;
  readonly endsAt: string | null;
  readonly updatedAt: string | null;
  readonly locked: boolean | null;
  readonly frozen: boolean | null;
  readonly memberGlobalId: string | null;
  readonly lent: boolean | null;
  readonly online: boolean | null;
  readonly lastOnlineAt: string | null;
  /** The asset can be given to a member and has none. False where the platform does not show who has the asset. */
  readonly isUnassigned: boolean;
  /** The list of assets has it, and not only the lists of members. Absent in what earlier versions kept. */
  readonly isListed?: boolean;
}

/** Returns whether the list of assets had the asset. */
export function isListed({ isListed: is, updatedAt }: EstateAsset): boolean {
  return is ?? updatedAt !== null;
}

/** A product on an asset, with its order. With a further field every product of an earlier copy would be a changed one. */
export type EstateProduct = Omit<InstalledProduct, 'gmsPid' | 'appKey'> &
  Pick<Instance, 'licenseOrderId' | 'channelOrderId'> & {
    /** The innermost package around the product. */
    readonly packageNum: string | null;
  };

/** What the copy has of one asset. */
export interface HeldAsset {
  readonly asset: EstateAsset;
  readonly products: readonly EstateProduct[];
  /** When the products were read, and what the asset's `updatedAt` was then; null: they never were. */
  readonly read: { readonly at: number; readonly updatedAt: string | null } | null;
  /** The time of the last reading in which the platform did not show the products. */
  readonly failedAt?: number | undefined;
  /** When the platform last showed the asset itself, in ms since the epoch. */
  readonly seenAt: number;
  /** Keyed hashes of the accounts of the member who has the asset. */
  readonly accounts: readonly string[];
  /** True if the asset is newer than the first reading of its enterprise and has no event yet. */
  readonly isNew: boolean;
}

/**
 * Returns the asset with what the list of assets said of it before, and the age of that, if only the lists of its members show it now: such a
 * list was cut.
 */
export function withListed(now: HeldAsset, old: HeldAsset | undefined): HeldAsset {
  if (!old || !isListed(old.asset) || isListed(now.asset)) return now;
  const { memberGlobalId, lent, online, lastOnlineAt } = now.asset;
  const isUnassigned = old.asset.isUnassigned && memberGlobalId === null && lent !== true;
  const asset = { ...old.asset, memberGlobalId, lent, online, lastOnlineAt, isUnassigned };
  return { ...now, asset, seenAt: old.seenAt };
}

/**
 * Products are read again when the `updatedAt` of their asset has changed or is not shown, once a day, and after `askedAt`: when a caller
 * asked for it, or a write through the gateway named the asset. A product may change without a change of its asset. Once a day: by the reading
 * that is nearest to a day after the last time.
 */
export function needsProducts(
  { asset, read }: HeldAsset,
  now: number,
  askedAt: number,
  refreshMs: number,
): boolean {
  if (!read || asset.updatedAt === null || asset.updatedAt !== read.updatedAt) return true;
  return now - read.at >= DAY_MS - Math.min(refreshMs, DAY_MS) / 2 || read.at < askedAt;
}

/** One row of the copy: a product on an asset, or an asset without products. */
export interface EstateRow extends Pick<HeldAsset, 'asset'> {
  readonly enterpriseGlobalId: string;
  /** Names the row among those of its asset. */
  readonly rowKey: string;
  readonly product: EstateProduct | null;
  /** When the platform showed the oldest part of the row, in ms since the epoch. Products may be read less often than their asset. */
  readonly seenAt: number;
}

export function estateRows(enterpriseGlobalId: string, held: HeldAsset): EstateRow[] {
  const { asset, products, read } = held;
  const seenAt = Math.min(held.seenAt, read?.at ?? Infinity);
  if (products.length === 0) return [{ enterpriseGlobalId, rowKey: '', asset, product: null, seenAt }];
  const times = new Map<string, number>();
  return products.map((product) => {
    const id = product.productId ?? '';
    const before = times.get(id) ?? 0;
    times.set(id, before + 1);
    const rowKey = storable(id !== '' && before === 0 ? id : `${id}\n${before + 1}`);
    return { enterpriseGlobalId, rowKey, asset, product, seenAt };
  });
}

/** Replaces what a text of PostgreSQL cannot contain: NUL, and halves of surrogate pairs. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Stands for no end. It is later than any time that a `Date` can have, so that rows without an end are the last. */
export const NO_END = 8_640_000_000_000_001;
/** Some platforms have -1 or this number for "no limit". */
const NO_LIMIT = 2 ** 31 - 1;

/** The earlier end of the product and its asset, in ms since the epoch. */
export function earliestEnd({ asset, product }: Pick<EstateRow, 'asset' | 'product'>): number {
  const ends = [asset.endsAt, product?.endsAt ?? null].map((end) =>
    end === null ? NO_END : Date.parse(end),
  );
  return Math.min(...ends);
}

/** Returns the number of licences. A product without a number or a limit of nodes is one licence; an asset without products is none. */
export function licencesOf(product: EstateProduct | null): number {
  if (!product) return 0;
  const { limitConcurrent: nodes } = product;
  return nodes === null || nodes < 0 || nodes >= NO_LIMIT ? 1 : nodes;
}

/**
 * The asset whose products were asked for the longest time ago, or never, comes first. So a reading that gave way goes on where it was, and
 * assets that fail again and again come last.
 */
export function byAge(one: HeldAsset, other: HeldAsset): number {
  return askedAtOf(one) - askedAtOf(other);
}

function askedAtOf({ read, failedAt = 0 }: HeldAsset): number {
  return Math.max(read?.at ?? 0, failedAt);
}
