import { ApiSchema } from '@nestjs/swagger';
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

/** Returns the limited budgets, by their names. */
export function toBudgets(budgets: Budgets, { month, used }: MonthlyUse): Record<string, BudgetDto> {
  const resetsAt = new Date(endOfMonth(month)).toISOString();
  return Object.fromEntries(
    limitsOf(budgets).map(([budget, limit]) => [budget, { limit, used: used[budget], resetsAt }]),
  );
}
