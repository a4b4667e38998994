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

  @ApiProperty({ ...count, description: 'Of a member; a lent lock: lent to one' })
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
    description: 'How many of each licence type; `unknown` where the platform names none',
    example: { softkey: 1, cloud_account: 3 },
  })
  byLicenseType!: Record<string, number>;

  @ApiProperty(count)
  locked!: number;

  @ApiProperty(count)
  frozen!: number;

  @ApiProperty({ ...count, description: 'Past their `endsAt`' })
  expired!: number;

  @ApiProperty({ ...count, description: 'Reaching their `endsAt` within 30 days' })
  expiringSoon!: number;
}

export const overviewSections = ['members', 'assetNums', 'lentLocks', 'assets'] as const;
export type OverviewSection = (typeof overviewSections)[number];

export class UnreachableSectionDto {
  @OpenWord(enumeration('OverviewSection', overviewSections))
  section!: OverviewSection;

  /** The code of the problem that its read ended in. */
  code!: string;
}

/** An enterprise at a glance; a section that could not be read is null and named in `unreachable`. */
export class OverviewDto {
  enterpriseGlobalId!: string;
  members!: MemberCountsDto | null;
  assetNums!: AssetNumCountsDto | null;
  lentLocks!: LentLockCountsDto | null;
  assets!: AssetCountsDto | null;
  unreachable!: UnreachableSectionDto[];
}
