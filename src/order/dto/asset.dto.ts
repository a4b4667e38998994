import { ApiProperty } from '@nestjs/swagger';
import { Names } from '../../tenancy/names.ts';
import { Identifier, Optional } from '../../validation/rules.ts';

export class ListAssetsQuery {
  /** Only assets that carry this extension property, such as `site`. */
  @Optional()
  @Identifier()
  @Names('filter')
  extendCode?: string;
}

export class AssetAssignmentDto {
  id?: string | null;
  /** Allocation status, in the platform's words. */
  assignStatus?: string | null;
  /** The member it is assigned to. */
  memberGlobalId?: string | null;
  /** When it was assigned. */
  createTime?: string | null;
  updateTime?: string | null;
}

export class ExtensionDto {
  code?: string | null;
  value?: string | null;
}

/** An asset behind an enterprise's cloud account authorization (interface section 2.8). */
export class AssetDto {
  id!: string;
  licenseType?: string | null;
  assetNum?: string | null;
  /** Whether it is an authorization object. */
  grantable?: boolean | null;
  customerId?: string | null;
  /** The numeric part of the asset number. */
  keyShellNumber?: string | null;

  @ApiProperty({
    type: 'integer',
    enum: [4, 5],
    nullable: true,
    required: false,
    description: 'Generation of the lock',
  })
  keyGeneration?: 4 | 5 | null;

  locked?: boolean | null;
  /** Meaningful for certificates only. */
  frozen?: boolean | null;

  @ApiProperty({ format: 'date-time' })
  createTime?: string | null;

  @ApiProperty({ format: 'date-time' })
  updateTime?: string | null;

  @ApiProperty({ format: 'date-time' })
  limitStartTime?: string | null;

  @ApiProperty({ format: 'date-time' })
  limitEndTime?: string | null;

  assignStatus?: AssetAssignmentDto | null;

  @ApiProperty({
    oneOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
    required: false,
    description: 'Handed through as it comes: the platform does not document its shape',
  })
  assetLimits?: unknown;

  extensions?: ExtensionDto[] | null;
  /** Whether it is a lent lock. */
  lent?: boolean | null;
}

export class AssetListDto {
  items!: AssetDto[];
}
