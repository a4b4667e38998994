import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { enumeration, enumerationSchema, type WordOf } from '../shared/enumeration.ts';

const effectKinds = enumeration(
  'EffectKind',
  [
    'asset-removed',
    'product-removed',
    'number-assigned',
    'number-withdrawn',
    'number-kept',
    'lock-disabled',
    'lock-enabled',
    'loan-made',
    'member-removed',
    'budget-used',
  ],
  'What a write would take away or change',
);
const Count = (description: string) => ApiProperty({ type: 'integer', minimum: 0, description });

@ApiSchema({ description: 'A call of the platform that a write would make' })
export class WouldSendDto {
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
export class EffectDto {
  @ApiProperty({ ...enumerationSchema(effectKinds), description: 'What would happen' })
  kind!: WordOf<typeof effectKinds>;

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

@ApiSchema({ description: 'A row of a file that would fail, or whose outcome cannot be told' })
class ImpossibleRowDto {
  @ApiProperty({ type: 'integer', description: '1 for the first row below the header' })
  row!: number;

  account!: string;

  /** Why the row would fail, or why its outcome cannot be told. */
  reason!: string;
}

@ApiSchema({ description: 'What an import would do with its rows' })
export class ImportPlanDto {
  @Count('Members to add')
  add!: number;

  @Count('Members to update')
  update!: number;

  @Count('Rows without a difference')
  unchanged!: number;

  /** Accounts of the members to delete. */
  delete!: string[];

  @ApiProperty({
    type: () => [ImpossibleRowDto],
    description: 'Rows that would fail, or whose outcome cannot be told',
  })
  impossible!: ImpossibleRowDto[];
}

@ApiSchema({ description: 'What a write would do. Nothing was sent, and nothing recorded' })
export class DryRunDto {
  @ApiProperty({
    type: () => [WouldSendDto],
    description: 'Calls of the platform; none where it would not be called',
  })
  wouldSend!: readonly WouldSendDto[];

  @ApiProperty({ type: () => [EffectDto], description: 'As far as the platform shows it' })
  effects!: readonly EffectDto[];

  @ApiProperty({
    type: () => ImportPlanDto,
    nullable: true,
    description: 'Of an import; null for other writes',
  })
  plan!: ImportPlanDto | null;
}
