import { ApiSchema } from '@nestjs/swagger';
import { Label, Names } from '../../tenancy/names.ts';
import { Digits, Int32, LaterThan, TimeDuration, Timestamp } from '../../validation/scalar-rules.ts';
import {
  ExactText,
  Flag,
  Identifier,
  IdentifierList,
  ListOf,
  ObjectRule,
  Optional,
  SecretList,
  Text,
} from '../../validation/rules.ts';

export const MAX_ASSETS = 1_000;

/** False also for what is no list, because a rule of an object runs beside those of its fields. */
function isFilled(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

@ApiSchema({ description: 'A feature of a product' })
export class ProductFeatureDto {
  /** Code of the feature. */
  @Optional()
  @Label({ example: 'export', 'x-upstream': 'featureCode' })
  code?: string;

  /** Name of the feature. */
  @Optional()
  @Text({ example: 'Export', 'x-upstream': 'featureName' })
  name?: string;

  /** Value of the feature. */
  @Optional()
  @ExactText({ example: 'on', 'x-upstream': 'featureValue' })
  value?: string;

  /** Type of the value; the platform does not document the words. */
  @Optional()
  @Text({ example: 'string', 'x-upstream': 'featureValueType' })
  valueType?: string;

  @Optional()
  @Flag({ example: false })
  trial?: boolean;

  @Optional()
  @Timestamp({
    'x-upstream': 'trialEndDate',
    description:
      'End of the trial. Where the platform takes a date (`featureTrialEnd` of its profile), it gets the day of this time in UTC, without the time of day',
  })
  trialEndsAt?: string;
}

abstract class Validity {
  @Optional()
  @Timestamp({ example: '2026-01-01T00:00:00.000Z', 'x-upstream': 'limitStartDate' })
  startsAt?: string;

  @Optional()
  @Timestamp({
    example: '2027-01-01T00:00:00.000Z',
    'x-upstream': 'limitEndDate',
    description: 'Later than `startsAt`, where both are there',
  })
  @LaterThan('startsAt')
  endsAt?: string;
}

/** Fields of a product in an order (interface section 2.4), without its identity. */
abstract class ProductTerms extends Validity {
  @Optional()
  @Label({ example: 'CRM-P-1' })
  crmProductId?: string;

  @Optional()
  @Label()
  parentCrmProductId?: string;

  @Optional()
  @Text({ example: 'Draft Pro' })
  productName?: string;

  @Optional()
  @Label()
  gmsPid?: string;

  @Optional()
  @Label()
  appKey?: string;

  @Optional()
  @Text()
  productType?: string;

  @Optional()
  @Int32({ example: 5 })
  limitConcurrent?: number;

  @Optional()
  @Digits({ example: '86400' })
  limitTimeDuration?: string;

  @Optional()
  @Flag({ example: false })
  strictMatchWhenDelete?: boolean;

  @Optional()
  @Flag({ example: false })
  trial?: boolean;

  @Optional()
  @Timestamp({
    'x-upstream': 'trialEndDate',
    description: 'End of the trial, later than `startsAt` where both are there',
  })
  @LaterThan('startsAt')
  trialEndsAt?: string;

  @Optional()
  @SecretList()
  passwords?: string[];

  @Optional()
  @Text()
  timeUnit?: string;

  @Optional()
  @Int32()
  timeUnitQuantity?: number;

  @Optional()
  @TimeDuration()
  timeDurationExpression?: string;

  /** On a purchase: the order from which this product is transferred. */
  @Optional()
  @Identifier()
  @Names('order')
  srcLicenseOrderId?: string;

  @Optional()
  @ListOf(() => ProductFeatureDto, {}, { 'x-upstream': 'productFeatures' })
  features?: ProductFeatureDto[];
}

@ApiSchema({ description: 'A product of an order' })
export class OrderProductDto extends ProductTerms {
  @Optional()
  @Label({ example: 'draft.pro' })
  productUri?: string;
}

@ObjectRule<RevokedProductDto>(
  ({ strictMatchWhenDelete, startsAt, endsAt, limitConcurrent }) =>
    strictMatchWhenDelete !== true || [startsAt, endsAt, limitConcurrent].every((term) => term !== undefined),
  'must have startsAt, endsAt and limitConcurrent with strictMatchWhenDelete: true, since these are matched',
)
@ApiSchema({ description: 'A product to be revoked' })
export class RevokedProductDto extends ProductTerms {
  @Label({ example: 'draft.pro' })
  productUri!: string;
}

/** Fields of a package in an order (interface section 2.4, merchandise), without its content. */
abstract class MerchandiseTerms {
  @Optional()
  @Label({ example: 'CRM-M-1' })
  crmProductId?: string;

  @Optional()
  @Label()
  parentCrmProductId?: string;

  @Optional()
  @Label({ example: 'PKG-1' })
  merchandiseNum?: string;

  @Optional()
  @Text({ example: 'Draft package' })
  merchandiseName?: string;

  @Optional()
  @Label()
  parentMerchandiseNum?: string;

  @Optional()
  @TimeDuration()
  timeDurationExpression?: string;
}

/** Ends the example that a generator makes of a package in a package. */
const NO_CHILDREN = { example: [] };

@ApiSchema({ description: 'A package of products' })
export class MerchandiseDto extends MerchandiseTerms {
  /** Lower-level packages. */
  @Optional()
  @ListOf(() => MerchandiseDto, {}, NO_CHILDREN)
  children?: MerchandiseDto[];

  @Optional()
  @ListOf(() => OrderProductDto, {}, { 'x-upstream': 'licenseOrderProductList' })
  products?: OrderProductDto[];
}

@ObjectRule<RevokedMerchandiseDto>(
  ({ merchandiseNum, products, children }) =>
    merchandiseNum !== undefined || isFilled(products) || isFilled(children),
  'must have merchandiseNum, or at least one product or child',
)
@ApiSchema({
  description:
    'A package whose products are to be revoked. A deletion with packages is 400 unless the operator knows that the platform takes them',
})
export class RevokedMerchandiseDto extends MerchandiseTerms {
  /** Lower-level packages. */
  @Optional()
  @ListOf(() => RevokedMerchandiseDto, {}, NO_CHILDREN)
  children?: RevokedMerchandiseDto[];

  @Optional()
  @ListOf(() => RevokedProductDto, {}, { 'x-upstream': 'licenseOrderProductList' })
  products?: RevokedProductDto[];
}

@ApiSchema({ description: 'An extension property of an asset' })
class OrderExtensionDto {
  /** Code of the property. */
  @Label({ example: 'site', 'x-upstream': 'extendCode' })
  code!: string;

  /** Value of the property. */
  @ExactText({ example: 'pier-1', 'x-upstream': 'extendValue' })
  value!: string;
}

/** Fields of an asset in an order, without its numbers, products and packages. */
abstract class AssetTerms extends Validity {
  @Optional()
  @ListOf(() => OrderExtensionDto, {}, { 'x-upstream': 'assetExtendList' })
  extensions?: OrderExtensionDto[];

  @Optional()
  @Flag({ 'x-upstream': 'borrowedUsbKey' })
  lentLock?: boolean;

  @Optional()
  @Flag({ 'x-upstream': 'transferedAssetNum' })
  transferred?: boolean;
}

const HasContent = ObjectRule<{ products?: unknown[]; merchandises?: unknown[] }>(
  ({ products, merchandises }) => isFilled(products) || isFilled(merchandises),
  'must have at least one product or merchandise',
);

abstract class AssetWithProducts extends AssetTerms {
  @Optional()
  @ListOf(() => OrderProductDto)
  products?: OrderProductDto[];

  @Optional()
  @ListOf(() => MerchandiseDto)
  merchandises?: MerchandiseDto[];
}

@HasContent
@ApiSchema({ description: 'What is bought for one asset' })
export class BoughtAssetDto extends AssetWithProducts {
  /** Existing assets that get the products. Without this field the platform creates a new asset. */
  @Optional()
  @IdentifierList({ max: MAX_ASSETS }, { 'x-upstream': 'assetNos' })
  @Names('newAssetNum')
  assetNums?: string[];
}

@ApiSchema({
  description:
    'Assets that are revoked. With `srcLicenseOrderId` a platform may end only the products of that order, and the asset if nothing else is on it; ' +
    'its interface does not say. Other fields do not matter. To revoke products of an asset, use `delete_product`',
})
export class RevokedAssetDto extends AssetWithProducts {
  @IdentifierList({ min: 1, max: MAX_ASSETS }, { example: ['8000001009'], 'x-upstream': 'assetNos' })
  @Names('assetNum')
  assetNums!: string[];
}

@HasContent
@ApiSchema({ description: 'Assets whose products are revoked' })
export class ReducedAssetDto extends AssetTerms {
  @IdentifierList({ min: 1, max: MAX_ASSETS }, { example: ['8000001009'], 'x-upstream': 'assetNos' })
  @Names('assetNum')
  assetNums!: string[];

  @Optional()
  @ListOf(() => RevokedProductDto)
  products?: RevokedProductDto[];

  @Optional()
  @ListOf(() => RevokedMerchandiseDto)
  merchandises?: RevokedMerchandiseDto[];
}
