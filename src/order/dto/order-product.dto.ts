import { Names } from '../../tenancy/names.ts';
import { Flag, Identifier, ListOf, Optional, SecretList, Text, WholeNumber } from '../../validation/rules.ts';
import { TimeDuration, Timestamp } from '../../validation/time-rules.ts';

const MAX_NODES = 1_000_000;

export class ProductFeatureDto {
  @Optional()
  @Identifier({ example: 'export' })
  @Names('label')
  code?: string;

  @Optional()
  @Text(200, { example: 'Export' })
  name?: string;

  @Optional()
  @Text(500, { example: 'on' })
  value?: string;

  @Optional()
  @Text(64, { example: 'string' })
  valueType?: string;

  @Optional()
  @Flag({ example: false })
  trial?: boolean;

  @Optional()
  @Timestamp()
  trialEndDate?: string;
}

/** What an order says of a product (interface section 2.4), but for which one it is. */
abstract class ProductTerms {
  /** CRM product instance identifier. */
  @Optional()
  @Identifier({ example: 'CRM-P-1' })
  @Names('label')
  crmProductId?: string;

  /** CRM identifier of the asset instance it belongs to. */
  @Optional()
  @Identifier()
  @Names('label')
  parentCrmProductId?: string;

  @Optional()
  @Text(200, { example: 'Draft Pro' })
  productName?: string;

  @Optional()
  @Identifier()
  @Names('label')
  gmsPid?: string;

  @Optional()
  @Identifier()
  @Names('label')
  appKey?: string;

  @Optional()
  @Text(64)
  productType?: string;

  @Optional()
  @Timestamp({ example: '2026-01-01T00:00:00.000Z' })
  limitStartTime?: string;

  @Optional()
  @Timestamp({ example: '2027-01-01T00:00:00.000Z' })
  limitEndTime?: string;

  /** Number of concurrent nodes. */
  @Optional()
  @WholeNumber(0, MAX_NODES, { example: 5 })
  limitConcurrent?: number;

  /** Accumulated usage duration, in the platform's unit. */
  @Optional()
  @WholeNumber(0, Number.MAX_SAFE_INTEGER)
  limitTimeDuration?: number;

  /** On a deletion: `true` matches times and node count exactly, `false` by the product alone. */
  @Optional()
  @Flag({ example: false })
  strictMatchWhenDelete?: boolean;

  @Optional()
  @Flag({ example: false })
  trial?: boolean;

  @Optional()
  @Timestamp()
  trialEndDate?: string;

  /** Licence passwords held in the lock. */
  @Optional()
  @SecretList({ max: 100 })
  passwords?: string[];

  @Optional()
  @Text(32)
  timeUnit?: string;

  @Optional()
  @WholeNumber(0, MAX_NODES)
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
  @ListOf(() => ProductFeatureDto, { max: 200 })
  features?: ProductFeatureDto[];
}

/** A product of an order. */
export class OrderProductDto extends ProductTerms {
  /** Product id: a gmsPid or an appKey. */
  @Optional()
  @Identifier({ example: 'draft.pro' })
  @Names('label')
  productUri?: string;
}

/** A product to be revoked: its `productUri` has to be there. */
export class RevokedProductDto extends ProductTerms {
  /** Product id: a gmsPid or an appKey. */
  @Identifier({ example: 'draft.pro' })
  @Names('label')
  productUri!: string;
}

/** A package of products (interface section 2.4, merchandise). */
export class MerchandiseDto {
  /** CRM package instance id. */
  @Optional()
  @Identifier({ example: 'CRM-M-1' })
  @Names('label')
  crmProductId?: string;

  @Optional()
  @Identifier()
  @Names('label')
  parentCrmProductId?: string;

  @Optional()
  @Identifier({ example: 'PKG-1' })
  @Names('label')
  merchandiseNum?: string;

  @Optional()
  @Text(200, { example: 'Draft package' })
  merchandiseName?: string;

  @Optional()
  @Identifier()
  @Names('label')
  parentMerchandiseNum?: string;

  @Optional()
  @TimeDuration()
  timeDurationExpression?: string;

  /** Lower-level packages. */
  @Optional()
  @ListOf(() => MerchandiseDto, { max: 500 })
  children?: MerchandiseDto[];

  @Optional()
  @ListOf(() => OrderProductDto, { max: 1_000 })
  products?: OrderProductDto[];
}
