import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { DryRunEffect, ImportPlan, WouldSend } from '../request/dry-run.ts';
import { effectKinds } from '../request/dry-run.ts';
import { Count, OpenWord } from './response-fields.ts';

@ApiSchema({ description: 'A call of the platform that a write would make' })
class WouldSendDto {
  @ApiProperty({ description: "The platform's operation, as in `x-upstream`", example: 'deleteMember' })
  operation!: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description:
      'The body, with its secrets masked, and whole numbers beyond 2^53 as text; null where it has none, and for an import, whose `plan` has ' +
      'what would be done',
  })
  body!: unknown;
}

@ApiSchema({
  description:
    'What a write would take away or change, as it is now. A field is null where it does not apply, or is not known',
})
class EffectDto implements DryRunEffect {
  @OpenWord(effectKinds, 'What would happen')
  kind!: DryRunEffect['kind'];

  enterpriseGlobalId!: string | null;

  assetId!: string | null;

  assetNum!: string | null;

  productUri!: string | null;

  memberGlobalId!: string | null;

  /** The account of a member who would be removed, without the enterprise's code; null where it cannot be told from the code. */
  account!: string | null;

  /** false: the platform does not show the effect here, so there may be more. */
  readable!: boolean;
}

@ApiSchema({ description: 'A row of a file that cannot be done' })
class ImpossibleRowDto {
  @ApiProperty({ type: 'integer', description: '1 for the first row below the header' })
  row!: number;

  account!: string;

  /** Why the row cannot be done. */
  reason!: string;
}

@ApiSchema({ description: 'What an import would do with its rows' })
class ImportPlanDto implements ImportPlan {
  @Count('Members to add')
  add!: number;

  @Count('Members to update')
  update!: number;

  @Count('Rows without a difference')
  unchanged!: number;

  /** Accounts of the members to delete. */
  delete!: string[];

  @ApiProperty({ type: () => [ImpossibleRowDto], description: 'Rows that would fail' })
  impossible!: ImpossibleRowDto[];
}

@ApiSchema({ description: 'What a write would do. Nothing was sent, and nothing recorded' })
export class DryRunDto {
  @ApiProperty({
    type: () => [WouldSendDto],
    description: 'Calls of the platform; none where it would not be called',
  })
  wouldSend!: readonly WouldSend[];

  @ApiProperty({ type: () => [EffectDto], description: 'As far as the platform shows it' })
  effects!: readonly DryRunEffect[];

  @ApiProperty({
    type: () => ImportPlanDto,
    nullable: true,
    description: 'Of an import; null for other writes',
  })
  plan!: ImportPlan | null;
}
