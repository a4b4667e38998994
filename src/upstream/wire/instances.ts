import type { ContractNotes } from '../gaps.ts';
import { UnreadableTree } from '../upstream-failure.ts';
import {
  assetProductsShape,
  type MerchandiseField,
  merchandiseShape,
  type ProductField,
  productShape,
} from './member.ts';
import { type Reader, readObject } from './reader.ts';
import type { TimestampUnit } from './scalars.ts';

/** The most nested levels of packages. The platform's packages have two or three levels. */
export const MAX_PACKAGE_LEVELS = 16;

const FLAGS: ReadonlyMap<number, boolean> = new Map([
  [0, false],
  [1, true],
]);

/** A product or package on an asset, with the fields by which orders are recognised. */
export type Instance = Readonly<ReturnType<typeof toInstance>>;
export type InstalledProduct = Readonly<ReturnType<typeof toInstalledProduct>>;

/** An order by the number that its channel gave it. */
export interface ChannelOrder {
  readonly channelCode: string;
  readonly channelOrderId: string;
  /** Whether an order of another channel has this number too. Then a note that lacks the channel may be of either. */
  readonly isShared?: boolean;
}

export interface AssetContent {
  readonly instances: readonly Instance[];
  /** True if the platform showed the content as a caller may see it: no list means that nothing is there, and everything could be read. */
  readonly isShown: boolean;
  /** True if both lists arrived and everything in them could be read. Anything that is missing here is then not on the asset. */
  readonly isWhole: boolean;
}

/**
 * Reads every product and package on an asset (member #7), from the outermost package to the innermost. Any field may be null, so that no
 * fault in a field hides an instance. Throws at a package that is too deep, with the instances before it in `instances`. `nullIsEmpty`
 * means that the platform sends an empty list as null (reading `emptyLists`); inside a package the interface allows null for it.
 */
export function toAssetContent(
  data: unknown,
  unit: TimestampUnit,
  nullIsEmpty: boolean,
  { instances = [], notes }: { instances?: Instance[]; notes?: ContractNotes } = {},
): AssetContent {
  if (data === null) {
    notes?.add('data', 'null');
    return { instances, isShown: true, isWhole: nullIsEmpty };
  }
  let isShown = true;
  let isWhole = true;
  const visit = (
    wire: Reader<'productInstanceList' | 'children'>,
    outer: Instance['merchandiseNums'],
    level: number,
  ) => {
    if (level > MAX_PACKAGE_LEVELS)
      throw new UnreadableTree(wire.location, `within ${MAX_PACKAGE_LEVELS} levels`);
    const nullable = level > 0 || nullIsEmpty;
    const products = wire.list('productInstanceList', productShape, (product) => {
      instances.push(toInstance(product, unit, outer, toInstalledProduct(product, unit)));
    });
    const packages = wire.list('children', merchandiseShape, (merchandise) => {
      const merchandiseNums = [...outer, merchandise.id('merchandiseNum')];
      instances.push(toInstance(merchandise, unit, merchandiseNums, null));
      visit(merchandise, merchandiseNums, level + 1);
    });
    for (const [name, read] of [
      ['productInstanceList', products.length],
      ['children', packages.length],
    ] as const) {
      isWhole &&= wire.isWhole(name, read, nullable);
      isShown &&= !wire.isUnreadable(name) && wire.lengthOf(name) === read;
    }
  };
  readObject(assetProductsShape, data, notes, (wire) => {
    isShown = wire.isGiven('productInstanceList') || wire.isGiven('children');
    visit(wire, [], 0);
  });
  return { instances, isShown, isWhole };
}

/** The terms that name the instance to delete. Every term that is present must match. */
export interface NamedInstance {
  readonly productUri?: string;
  /** Validity and nodes, for a strict match (interface section 4.1, rule 4). */
  readonly terms?: Pick<InstalledProduct, 'startsAt' | 'endsAt' | 'limitConcurrent'>;
  /** The packages around the product, or the package itself if no product is named. */
  readonly merchandiseNums: readonly string[];
}

/** What a deletion names. A field that is absent does not limit the deletion. */
export interface Meant {
  readonly licenseOrderId?: string;
  readonly named?: readonly NamedInstance[];
}

/** Returns whether the deletion means the instance. Undefined where the platform does not show a field that decides. */
export function isMeant(instance: Instance, { licenseOrderId, named }: Meant): boolean | undefined {
  const isOfOrder = licenseOrderId === undefined || isSameId(instance.licenseOrderId, licenseOrderId);
  if (named === undefined) return isOfOrder;
  const answers = named.map((name) => isMeantBy(instance, name));
  const isNamed = answers.includes(true) || (answers.includes(undefined) ? undefined : false);
  return all(isOfOrder, isNamed);
}

function isMeantBy(
  { product, merchandiseNums }: Instance,
  { productUri, terms, merchandiseNums: wanted }: NamedInstance,
): boolean | undefined {
  const isUnnumbered = merchandiseNums.includes(null);
  const isInside = wanted.every((num) => merchandiseNums.includes(num)) || (isUnnumbered ? undefined : false);
  if (productUri === undefined) return isInside;
  if (!product) return false;
  const isOther = product.gmsPid !== productUri && product.appKey !== productUri;
  const isProduct = !isOther || isSameId(product.productUri, productUri);
  return all(isInside, isProduct, terms ? hasTerms(product, terms) : true);
}

function hasTerms(product: InstalledProduct, terms: NonNullable<NamedInstance['terms']>) {
  return all(
    isSameTime(product.startsAt, terms.startsAt),
    isSameTime(product.endsAt, terms.endsAt),
    isSameLimit(product.limitConcurrent, terms.limitConcurrent),
  );
}

/** Returns false if one of the answers is false, and undefined if one is open. */
function all(...answers: readonly (boolean | undefined)[]): boolean | undefined {
  return !answers.includes(false) && (answers.includes(undefined) ? undefined : true);
}

function isSameId(installed: string | null, named: string): boolean | undefined {
  return installed === null ? undefined : installed === named;
}

/** A lent asset may show the nodes that are left on it, and the deletion may name all of them. */
function isSameLimit(installed: number | null, named: number | null): boolean | undefined {
  if (installed === named) return true;
  return installed === null || (named !== null && installed >= 0 && installed < named) ? undefined : false;
}

/** True for the same time. A platform whose times are in seconds has lost the fraction of the ordered time. */
function isSameTime(installed: string | null, named: string | null): boolean | undefined {
  if (installed === named) return true;
  if (installed === null || named === null) return installed === null ? undefined : false;
  const [there, wanted] = [Date.parse(installed), Date.parse(named)];
  return there === wanted || there === wanted - (wanted % 1_000);
}

/** True if the platform noted the channel's order at the instance. Undefined if the note lacks the channel, and another has this number too. */
export function isFrom({ channelCode, channelOrderId }: Instance, order: ChannelOrder): boolean | undefined {
  if (channelOrderId !== order.channelOrderId) return false;
  if (channelCode === null) return order.isShared ? undefined : true;
  return channelCode === order.channelCode;
}

function toInstance(
  wire: Reader<Extract<ProductField, MerchandiseField>>,
  unit: TimestampUnit,
  merchandiseNums: readonly (string | null)[],
  product: InstalledProduct | null,
) {
  return {
    licenseOrderId: wire.id('licenseOrderId'),
    channelCode: wire.id('channelCode'),
    channelOrderId: wire.id('channelOrderId'),
    customerId: wire.id('customerId'),
    createdAt: wire.time('createTime', unit),
    /** The packages around the instance, from the outermost to the innermost. A package includes itself. Null for a number that is not shown. */
    merchandiseNums,
    /** The product; null for a package. */
    product,
  };
}

function toInstalledProduct(wire: Reader<ProductField>, unit: TimestampUnit) {
  return {
    productId: wire.id('id'),
    productName: wire.text('productName'),
    crmProductId: wire.id('crmProductId'),
    trial: wire.code('trial', FLAGS),
    productUri: wire.id('productUri'),
    gmsPid: wire.id('gmsPid'),
    appKey: wire.id('appKey'),
    startsAt: wire.time('limitStartTime', unit),
    endsAt: wire.time('limitEndTime', unit),
    limitConcurrent: wire.integer('limitConcurrent'),
  };
}
