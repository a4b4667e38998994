import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Int64, Opaque, OpenWord, Time, UpstreamName } from '../../operation/response-fields.ts';
import { EnterprisePath } from '../../operation/enterprise-path.dto.ts';
import { licenseTypes, limitTypes } from '../../upstream/wire/words.ts';
import { Names } from '../../tenancy/names.ts';
import { PathId } from '../../validation/rules.ts';

export class AssetPath extends EnterprisePath {
  @PathId({ example: 'ast-1002' })
  @Names('asset')
  assetId!: string;
}

@ApiSchema({ description: 'A product on an asset' })
export class ProductInstanceDto {
  id!: string;
  @OpenWord(licenseTypes)
  licenseType!: string | null;
  customerId!: string | null;
  assetId!: string | null;
  assetInsId!: string | null;
  merchandiseInsId!: string | null;
  assetNum!: string | null;
  productUri!: string | null;
  gmsPid!: string | null;
  appKey!: string | null;
  productName!: string | null;
  channelCode!: string | null;
  licenseOrderId!: string | null;
  channelOrderId!: string | null;

  @Time('limitStartTime')
  startsAt!: string | null;

  @Time('limitEndTime')
  endsAt!: string | null;

  @ApiProperty({ type: 'integer', format: 'int32' })
  limitAmount!: number | null;
  @ApiProperty({ type: 'integer', format: 'int32' })
  limitConcurrent!: number | null;
  @Int64()
  limitTimeDuration!: string | null;
  trial!: boolean | null;

  @Time('trialEndDate')
  trialEndsAt!: string | null;

  @OpenWord(limitTypes)
  limitType!: string | null;
  prodDefExtend!: boolean | null;
  timeDurationExpression!: string | null;
  srcLicenseOrderId!: string | null;

  @Time('createTime')
  createdAt!: string | null;

  @Time('updateTime')
  updatedAt!: string | null;

  @UpstreamName('activateFlag')
  active!: boolean | null;
  crmProductId!: string | null;

  @Opaque()
  productExtendInstanceList!: unknown;
}

@ApiSchema({ description: 'A package on an asset' })
export class MerchandiseInstanceDto {
  id!: string;
  @OpenWord(licenseTypes)
  licenseType!: string | null;
  merchandiseNum!: string | null;
  merchandiseName!: string | null;
  parentId!: string | null;
  parentMerchandiseNum!: string | null;
  customerId!: string | null;
  licenseOrderId!: string | null;
  channelOrderId!: string | null;

  @Time('createTime')
  createdAt!: string | null;

  @Time('updateTime')
  updatedAt!: string | null;

  channelCode!: string | null;
  timeDurationExpression!: string | null;
  srcLicenseOrderId!: string | null;
  /** Lower-level packages. */
  @ApiProperty({ example: [] })
  children!: MerchandiseInstanceDto[];
  /** Products in the package itself, not in its lower levels. */
  @UpstreamName('productInstanceList')
  products!: ProductInstanceDto[];
}

@ApiSchema({ description: 'What is on an asset' })
export class AssetProductsDto {
  /** Products on the asset that belong to no package. */
  @UpstreamName('productInstanceList')
  products!: ProductInstanceDto[];
  /** Packages on the asset, as trees. */
  @UpstreamName('children')
  merchandises!: MerchandiseInstanceDto[];
}
