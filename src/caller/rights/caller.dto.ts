import { ApiExtraModels, ApiProperty, ApiSchema, getSchemaPath } from '@nestjs/swagger';
import { scopes } from '../../request/scopes.ts';
import { enumeration, enumerationSchema } from '../../shared/enumeration.ts';
import { BudgetDto } from '../../budgets/budget.dto.ts';
import { Count } from '../../operation/response-fields.ts';
import { MaintenanceDto } from '../../maintenance/maintenance.dto.ts';

const scopeWords = enumeration(
  'Scope',
  scopes,
  'What a caller may do; each operation names the scope that it needs',
);

@ApiSchema({ description: 'So many requests in a window of so many seconds' })
export class RateLimitDto {
  @Count('Number of requests in a window')
  requests!: number;

  @Count('Length of the window in seconds; it begins with its first request')
  perSeconds!: number;
}

@ApiExtraModels(BudgetDto)
@ApiSchema({ description: 'The caller of a key or token, as the callers file has it. `*` stands for all' })
export class CallerDto {
  /** Name of the caller in the callers file. */
  name!: string;

  @ApiProperty({
    type: 'array',
    items: { type: 'string', ...enumerationSchema(scopeWords) },
    description: 'The scopes that it has',
  })
  scopes!: string[];

  /** Global ids of the enterprises that the caller reaches. */
  enterprises!: string[];

  /** Codes of the channels whose orders and customers the caller reaches. */
  channels!: string[];

  /** Aliases that the caller may name in `X-Acting-User`. */
  users!: string[];

  /** The limit of the caller's requests; null where there is none. */
  rateLimit!: RateLimitDto | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(BudgetDto) },
    description: 'What is limited in a month, by `orders`, `licences` or `deletions`; empty where nothing is',
    example: {},
  })
  budgets!: Record<string, BudgetDto>;

  /** What an operator has stopped, or will stop. */
  maintenance!: MaintenanceDto;
}
