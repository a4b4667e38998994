import { ApiProperty } from '@nestjs/swagger';
import { PathId } from '../../validation/rules.ts';

export class AssetPath {
  @PathId({ example: 'ast-1002' })
  assetId!: string;
}

/** A product on an asset (interface section 2.12). */
export class ProductInstanceDto {
  id!: string;
  licenseType?: string | null;
  customerId?: string | null;
  assetId?: string | null;
  assetInsId?: string | null;
  merchandiseInsId?: string | null;
  assetNum?: string | null;
  /** Globally unique product id. */
  productUri?: string | null;
  gmsPid?: string | null;
  appKey?: string | null;
  productName?: string | null;
  channelCode?: string | null;
  licenseOrderId?: string | null;
  channelOrderId?: string | null;

  @ApiProperty({ format: 'date-time' })
  limitStartTime?: string | null;

  @ApiProperty({ format: 'date-time' })
  limitEndTime?: string | null;

  /** Consumption amount. */
  limitAmount?: number | null;
  /** Number of concurrent nodes. */
  limitConcurrent?: number | null;
  /** Accumulated usage duration, in the platform's unit. */
  limitTimeDuration?: string | null;
  trial?: boolean | null;

  @ApiProperty({ format: 'date-time' })
  trialEndDate?: string | null;

  /** `basic`, or `feature` for an extended limit of feature points. */
  limitType?: string | null;
  /** Whether the product has an extension definition. */
  prodDefExtend?: boolean | null;
  timeDurationExpression?: string | null;
  srcLicenseOrderId?: string | null;

  @ApiProperty({ format: 'date-time' })
  createTime?: string | null;

  @ApiProperty({ format: 'date-time' })
  updateTime?: string | null;

  active?: boolean | null;
  crmProductId?: string | null;

  @ApiProperty({
    oneOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
    required: false,
    description: 'Handed through as it comes: the platform does not document its shape',
  })
  productExtendInstanceList?: unknown;
}

/** A package on an asset (interface section 2.12, merchandise instance). */
export class MerchandiseInstanceDto {
  id!: string;
  licenseType?: string | null;
  merchandiseNum?: string | null;
  merchandiseName?: string | null;
  parentId?: string | null;
  parentMerchandiseNum?: string | null;
  customerId?: string | null;
  licenseOrderId?: string | null;
  channelOrderId?: string | null;

  @ApiProperty({ format: 'date-time' })
  createTime?: string | null;

  @ApiProperty({ format: 'date-time' })
  updateTime?: string | null;

  channelCode?: string | null;
  timeDurationExpression?: string | null;
  srcLicenseOrderId?: string | null;
  /** Lower-level packages. */
  children?: MerchandiseInstanceDto[] | null;
  products?: ProductInstanceDto[] | null;
}

export class AssetProductsDto {
  /** Products that stand on the asset itself. */
  products!: ProductInstanceDto[];
  merchandises!: MerchandiseInstanceDto[];
}
