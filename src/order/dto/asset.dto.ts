import { ApiProperty } from '@nestjs/swagger';
import { Opaque, OpenWord, Time, UpstreamName } from '../../operation/answer-fields.ts';
import { licenseTypes } from '../../upstream/wire/words.ts';
import { Names } from '../../tenancy/names.ts';
import { Identifier, Optional } from '../../validation/rules.ts';

export class ListAssetsQuery {
  /** Only assets that carry this extension property, such as `site`. */
  @Optional()
  @Identifier()
  @Names('filter')
  extendCode?: string;
}

/** To whom an asset is assigned; meaningful for large-customer locks. */
export class AssetAssignmentDto {
  /** Allocation status, in the platform's words: its interface does not list them. */
  @UpstreamName('assignStatus')
  status!: string | null;

  /** The member it is assigned to. */
  @UpstreamName('assignMemberId')
  memberGlobalId!: string | null;

  @Time('createTime', 'When it was assigned')
  createdAt!: string | null;

  @Time('updateTime')
  updatedAt!: string | null;
}

export class ExtensionDto {
  @UpstreamName('extendCode')
  code!: string | null;

  @UpstreamName('extendValue')
  value!: string | null;
}

/** An asset behind an enterprise's cloud account authorization (interface section 2.8). */
export class AssetDto {
  @UpstreamName('id')
  assetId!: string;

  @OpenWord(licenseTypes)
  licenseType!: string | null;

  assetNum!: string | null;
  /** Whether it is an authorization object. */
  grantable!: boolean | null;
  customerId!: string | null;
  /** The numeric part of the asset number. */
  keyShellNumber!: string | null;

  @UpstreamName('keyChipType')
  @ApiProperty({ type: 'integer', enum: [4, 5], nullable: true, description: 'Generation of the lock' })
  keyGeneration!: 4 | 5 | null;

  locked!: boolean | null;

  /** Meaningful for certificates only. */
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

  /** Whether it is a lent lock: a lock made for lending. Whether it is lent out now is `lent` of an asset number. */
  @UpstreamName('borrowedUsbKey')
  lentLock!: boolean | null;
}

export class AssetListDto {
  items!: AssetDto[];
}
