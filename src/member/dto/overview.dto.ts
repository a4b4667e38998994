import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Count, OpenWord } from '../../operation/response-fields.ts';
import { problemCodes } from '../../problem/catalogue.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';

@ApiSchema({ description: 'Counts of members' })
export class MemberCountsDto {
  @Count('Number of members')
  total!: number;
}

@ApiSchema({ description: 'Counts of asset numbers' })
export class AssetNumCountsDto {
  @Count('Number of asset numbers')
  total!: number;

  @Count('Numbers of a member; for lent locks, those that are lent to a member')
  assigned!: number;

  @Count('Neither assigned nor lent')
  free!: number;

  @Count('Lent to a member now')
  lent!: number;

  @Count('In use online now')
  online!: number;
}

@ApiSchema({ description: 'Counts of lent locks' })
export class LentLockCountsDto {
  @Count('Number of lent locks')
  total!: number;
}

@ApiSchema({ description: 'Counts of assets' })
export class AssetCountsDto {
  @Count('Number of assets')
  total!: number;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 0 },
    description: 'Count by licence type; `unknown` where the platform names none',
    example: { softkey: 1, cloud_account: 3 },
  })
  byLicenseType!: Record<string, number>;

  @Count('Disabled locks')
  locked!: number;

  @Count('Frozen assets')
  frozen!: number;

  @Count('Assets after their `endsAt`')
  expired!: number;

  @Count('Assets whose `endsAt` is within the next 30 days')
  expiringSoon!: number;
}

export const overviewSections = enumeration(
  'OverviewSection',
  ['members', 'assetNums', 'lentLocks', 'assets'],
  'A section of the overview',
);

@ApiSchema({ description: 'A section of the overview whose read failed' })
export class UnreachableSectionDto {
  @OpenWord(overviewSections, 'The section that is null')
  section!: WordOf<typeof overviewSections>;

  @OpenWord(problemCodes, 'The code of the problem of the failed read')
  code!: string;
}

@ApiSchema({
  description: 'Counts of an enterprise. A section that could not be read is null and named in `unreachable`',
})
export class OverviewDto {
  enterpriseGlobalId!: string;
  /** The counts of members; null where they could not be read. */
  members!: MemberCountsDto | null;
  /** The counts of asset numbers; null where they could not be read. */
  assetNums!: AssetNumCountsDto | null;
  /** The counts of lent locks; null where they could not be read. */
  lentLocks!: LentLockCountsDto | null;
  /** The counts of assets; null where they could not be read. */
  assets!: AssetCountsDto | null;
  /** The sections that could not be read. */
  unreachable!: UnreachableSectionDto[];
}
