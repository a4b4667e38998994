import type { ContractNotes } from '../upstream/gaps.ts';
import { ContractViolation, UnreadableTree } from '../upstream/upstream-failure.ts';
import { type Reader, readObject } from '../upstream/wire/reader.ts';
import { MAX_PACKAGE_LEVELS } from '../upstream/wire/instances.ts';
import { licenseTypes, limitTypes } from '../upstream/wire/words.ts';
import type { TimestampUnit } from '../upstream/wire/scalars.ts';
import {
  assetProductsShape,
  type MerchandiseField,
  merchandiseShape,
  type ProductField,
  productShape,
} from '../upstream/wire/member.ts';
import type {
  AssetProductsDto,
  MerchandiseInstanceDto,
  ProductInstanceDto,
} from './dto/asset-products.dto.ts';

const FLAGS: ReadonlyMap<number, boolean> = new Map([
  [0, false],
  [1, true],
]);
/** The maximum of products and packages together. */
const MAX_NODES = 10_000;

/**
 * Reads the products and packages on an asset (interface sections 2.12 and 4.2). Throws `ContractViolation`, also if the trees are too
 * large.
 */
export function toAssetProducts(data: unknown, unit: TimestampUnit, notes?: ContractNotes): AssetProductsDto {
  const trees = new TreeReader(unit);
  if (data === null) {
    notes?.add('data', 'null');
    return { products: [], merchandises: [] };
  }
  return readObject(assetProductsShape, data, notes, (wire) => {
    if (!wire.isGiven('productInstanceList') && !wire.isGiven('children'))
      throw new ContractViolation(wire.location, 'an object with one of its lists');
    return {
      products: wire.list('productInstanceList', productShape, trees.product),
      merchandises: wire.list('children', merchandiseShape, trees.merchandise(0)),
    };
  });
}

class TreeReader {
  #nodes = 0;

  constructor(private readonly unit: TimestampUnit) {}

  readonly product = (wire: Reader<ProductField>): ProductInstanceDto => {
    this.#count();
    return {
      id: wire.requiredId('id'),
      licenseType: wire.word('licenseType', licenseTypes),
      customerId: wire.id('customerId'),
      assetId: wire.id('assetId'),
      assetInsId: wire.id('assetInsId'),
      merchandiseInsId: wire.id('merchandiseInsId'),
      assetNum: wire.id('assetNum'),
      productUri: wire.id('productUri'),
      gmsPid: wire.id('gmsPid'),
      appKey: wire.id('appKey'),
      productName: wire.text('productName'),
      channelCode: wire.id('channelCode'),
      licenseOrderId: wire.id('licenseOrderId'),
      channelOrderId: wire.id('channelOrderId'),
      startsAt: wire.time('limitStartTime', this.unit),
      endsAt: wire.time('limitEndTime', this.unit),
      limitAmount: wire.int32('limitAmount'),
      limitConcurrent: wire.int32('limitConcurrent'),
      limitTimeDuration: wire.long('limitTimeDuration'),
      trial: wire.code('trial', FLAGS),
      trialEndsAt: wire.time('trialEndDate', this.unit),
      limitType: wire.word('limitType', limitTypes),
      prodDefExtend: wire.boolean('prodDefExtend'),
      timeDurationExpression: wire.text('timeDurationExpression'),
      srcLicenseOrderId: wire.id('srcLicenseOrderId'),
      createdAt: wire.time('createTime', this.unit),
      updatedAt: wire.time('updateTime', this.unit),
      active: wire.boolean('activateFlag'),
      crmProductId: wire.id('crmProductId'),
      productExtendInstanceList: wire.opaque('productExtendInstanceList'),
    };
  };

  /** `level` is the number of packages around the package. */
  merchandise(level: number): (wire: Reader<MerchandiseField>) => MerchandiseInstanceDto {
    return (wire) => {
      this.#count();
      if (level === MAX_PACKAGE_LEVELS)
        throw new UnreadableTree('data.children', `a tree of ${MAX_PACKAGE_LEVELS} levels`);
      return {
        id: wire.requiredId('id'),
        licenseType: wire.word('licenseType', licenseTypes),
        merchandiseNum: wire.id('merchandiseNum'),
        merchandiseName: wire.text('merchandiseName'),
        parentId: wire.id('parentId'),
        parentMerchandiseNum: wire.id('parentMerchandiseNum'),
        customerId: wire.id('customerId'),
        licenseOrderId: wire.id('licenseOrderId'),
        channelOrderId: wire.id('channelOrderId'),
        createdAt: wire.time('createTime', this.unit),
        updatedAt: wire.time('updateTime', this.unit),
        channelCode: wire.id('channelCode'),
        timeDurationExpression: wire.text('timeDurationExpression'),
        srcLicenseOrderId: wire.id('srcLicenseOrderId'),
        children: wire.list('children', merchandiseShape, this.merchandise(level + 1)),
        products: wire.list('productInstanceList', productShape, this.product),
      };
    };
  }

  #count(): void {
    if (++this.#nodes > MAX_NODES) throw new UnreadableTree('data', `a tree of ${MAX_NODES} nodes`);
  }
}
