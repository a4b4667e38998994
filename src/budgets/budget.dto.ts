import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Count, Time } from '../operation/response-fields.ts';
import { type Budgets, endOfMonth, limitsOf, type MonthlyUse } from './state/budgets.ts';

@ApiSchema({ description: 'What a caller may have in a calendar month (UTC), and has had of it' })
export class BudgetDto {
  @Count('What it may have')
  limit!: number;

  @Count('What it has had. What is provably not placed is given back')
  used!: number;

  @Time(undefined, 'When the next month begins')
  resetsAt!: string;
}

@ApiSchema({ description: 'What a caller has had in a calendar month (UTC) of what is limited now' })
export class MonthlyUseDto {
  @ApiProperty({ description: 'Year and month', example: '2026-11', pattern: '^\\d{4}-\\d{2}$' })
  month!: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 0 },
    description: 'By `orders`, `licences` or `deletions`. It counts from when the callers file has the limit',
    example: { orders: 12 },
  })
  used!: Record<string, number>;
}

@ApiSchema({ description: 'What a caller has had of its budgets' })
export class BudgetMonthsDto {
  /** The present month and the twelve before it, the present one first; empty where nothing is limited. */
  months!: MonthlyUseDto[];
}

/** Returns the use of the limited budgets. */
export function toMonthlyUse(budgets: Budgets, { month, used }: MonthlyUse): MonthlyUseDto {
  return { month, used: Object.fromEntries(limitsOf(budgets).map(([budget]) => [budget, used[budget]])) };
}

/** Returns the limited budgets, by their names. */
export function toBudgets(budgets: Budgets, { month, used }: MonthlyUse): Record<string, BudgetDto> {
  const resetsAt = new Date(endOfMonth(month)).toISOString();
  return Object.fromEntries(
    limitsOf(budgets).map(([budget, limit]) => [budget, { limit, used: used[budget], resetsAt }]),
  );
}
