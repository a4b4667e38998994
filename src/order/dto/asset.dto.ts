import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Opaque, OpenWord, Time, UpstreamName } from '../../operation/response-fields.ts';
import { EnterprisePath } from '../../operation/enterprise-path.dto.ts';
import { PageDto, PageQuery } from '../../operation/page.dto.ts';
import { type LicenseType, licenseTypes } from '../../upstream/wire/words.ts';
import { FlagParameter, TimestampParameter } from '../../validation/scalar-rules.ts';
import { Identifier, OneOf, Optional, PathId } from '../../validation/rules.ts';
import { Names } from '../../tenancy/names.ts';

/** The operation itself looks for the asset in the list of the enterprise. */
export class SoughtAssetPath extends EnterprisePath {
  @PathId({ example: 'ast-1002' })
  @Names('filter')
  assetId!: string;
}

export class ListAssetsQuery extends PageQuery {
  /** Only assets that carry this extension property, such as `site`. */
  @Optional()
  @Identifier({ example: 'site' })
  @Names('filter')
  extendCode?: string;

  @Optional()
  @OneOf(licenseTypes, { description: 'Only assets of this licence type', example: 'cloud_account' })
  licenseType?: LicenseType;

  /** Only the asset of this number. */
  @Optional()
  @Identifier({ example: '8000001002' })
  @Names('filter')
  assetNum?: string;

  /** Only assets that are assigned to this member. */
  @Optional()
  @Identifier({ example: 'mem-harbour-anna' })
  @Names('filter')
  memberGlobalId?: string;

  @Optional()
  @TimestampParameter({
    description: 'Only assets that end before this time; those without an end are left out',
    example: '2030-01-01T00:00:00.000Z',
  })
  endsBefore?: string;

  @Optional()
  @FlagParameter({ description: '`true`: only lent locks; `false`: all others', example: false })
  lentLock?: boolean;
}

@ApiSchema({
  description: 'The assignment of an asset; meaningful for large-customer locks',
})
export class AssetAssignmentDto {
  /** Allocation status as the platform sends it: its interface does not list the values. */
  @UpstreamName('assignStatus')
  status!: string | null;

  /** The member that it is assigned to. */
  @UpstreamName('assignMemberId')
  memberGlobalId!: string | null;

  @Time('createTime', 'When it was assigned')
  createdAt!: string | null;

  @Time('updateTime', 'When the assignment was last changed')
  updatedAt!: string | null;
}

@ApiSchema({ description: 'An extension property of an asset' })
export class ExtensionDto {
  /** Code of the property. */
  @UpstreamName('extendCode')
  code!: string | null;

  /** Value of the property. */
  @UpstreamName('extendValue')
  value!: string | null;
}

@ApiSchema({
  description:
    'An asset behind the cloud account authorization of an enterprise: a lock, a certificate or a cloud account',
})
export class AssetDto {
  @UpstreamName('id')
  assetId!: string;

  @OpenWord(licenseTypes)
  licenseType!: string | null;

  assetNum!: string | null;
  grantable!: boolean | null;
  customerId!: string | null;
  keyShellNumber!: string | null;

  @UpstreamName('keyChipType')
  @ApiProperty({ type: 'integer', enum: [4, 5], nullable: true })
  keyGeneration!: 4 | 5 | null;

  locked!: boolean | null;

  @UpstreamName('freezing')
  frozen!: boolean | null;

  @Time('createTime')
  createdAt!: string | null;

  @Time('updateTime')
  updatedAt!: string | null;

  @Time('limitStartTime')
  startsAt!: string | null;

  @Time('limitEndTime')
  endsAt!: string | null;

  @UpstreamName('assignStatus')
  assignment!: AssetAssignmentDto | null;

  @Opaque()
  assetLimits!: unknown;

  @UpstreamName('assetExtends')
  extensions!: ExtensionDto[];

  @UpstreamName('borrowedUsbKey')
  lentLock!: boolean | null;
}

@ApiSchema({ description: 'One page of assets' })
export class AssetPageDto extends PageDto {
  items!: AssetDto[];
}
