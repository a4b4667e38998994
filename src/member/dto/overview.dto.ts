import { ApiProperty } from '@nestjs/swagger';
import { OpenWord } from '../../operation/answer-fields.ts';
import { enumeration } from '../../shared/enumeration.ts';

const count = { type: 'integer', minimum: 0 } as const;

export class MemberCountsDto {
  @ApiProperty(count)
  total!: number;
}

export class AssetNumCountsDto {
  @ApiProperty(count)
  total!: number;

  @ApiProperty({
    ...count,
    description: 'Numbers of a member; for lent locks, those that are lent to a member',
  })
  assigned!: number;

  @ApiProperty({ ...count, description: 'Neither assigned nor lent' })
  free!: number;

  @ApiProperty(count)
  lent!: number;

  @ApiProperty({ ...count, description: 'In use online now' })
  online!: number;
}

export class LentLockCountsDto {
  @ApiProperty(count)
  total!: number;
}

export class AssetCountsDto {
  @ApiProperty(count)
  total!: number;

  @ApiProperty({
    type: 'object',
    additionalProperties: count,
    description: 'Count by licence type; `unknown` where the platform names none',
    example: { softkey: 1, cloud_account: 3 },
  })
  byLicenseType!: Record<string, number>;

  @ApiProperty(count)
  locked!: number;

  @ApiProperty(count)
  frozen!: number;

  @ApiProperty({ ...count, description: 'Assets after their `endsAt`' })
  expired!: number;

  @ApiProperty({ ...count, description: 'Assets whose `endsAt` is within the next 30 days' })
  expiringSoon!: number;
}

export const overviewSections = ['members', 'assetNums', 'lentLocks', 'assets'] as const;
export type OverviewSection = (typeof overviewSections)[number];

export class UnreachableSectionDto {
  @OpenWord(enumeration('OverviewSection', overviewSections))
  section!: OverviewSection;

  /** The code of the problem of the failed read. */
  code!: string;
}

/** Counts of an enterprise. A section that could not be read is null and named in `unreachable`. */
export class OverviewDto {
  enterpriseGlobalId!: string;
  members!: MemberCountsDto | null;
  assetNums!: AssetNumCountsDto | null;
  lentLocks!: LentLockCountsDto | null;
  assets!: AssetCountsDto | null;
  unreachable!: UnreachableSectionDto[];
}
