import { ProblemException } from '../../problem/problem.exception.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';

export const budgetWords = enumeration(
  'Budget',
  ['orders', 'licences', 'deletions'],
  '`orders`: orders placed; `licences`: licences bought; `deletions`: assets and products deleted',
);
export type Budget = WordOf<typeof budgetWords>;

/** The numbers that a caller may use in a calendar month (UTC). Only limited budgets have one. */
export type Budgets = Readonly<Partial<Record<Budget, number>>>;

/** Returns the limited budgets. */
export function limitsOf(budgets: Budgets): readonly (readonly [Budget, limit: number])[] {
  return (Object.entries(budgets) as [Budget, number | undefined][]).flatMap(([budget, limit]) =>
    limit === undefined ? [] : [[budget, limit] as const],
  );
}

/** The amount that an order uses of one budget of its caller. */
export interface BudgetUse {
  readonly budget: Budget;
  readonly amount: number;
  readonly limit: number;
}

/** The use of a caller in one month, such as `2026-11`. */
export interface MonthlyUse {
  readonly month: string;
  readonly used: Readonly<Record<Budget, number>>;
}

/** The number of months whose counters are kept. */
const MONTHS_KEPT = 13;

/** Returns the calendar month of this time, in UTC. */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

/** Returns the beginning of the next month, in ms since the epoch. */
export function endOfMonth(month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return Date.UTC(year, number);
}

/** Returns the months that are kept, the newest first. */
export function keptMonths(now: number): readonly string[] {
  const date = new Date(now);
  return Array.from({ length: MONTHS_KEPT }, (_, back) =>
    monthOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back)),
  );
}

/** Returns the problem for an order that does not fit into the rest of the budget of its month. `at`: when it is to be placed. */
export function exhaustedProblem(budget: Budget, at: number): ProblemException {
  const month = monthOf(at);
  return new ProblemException('budget-exhausted', {
    detail: `The order does not fit into what is left of the caller's budget of ${budget} for ${month} (UTC).`,
    resetsAt: new Date(endOfMonth(month)).toISOString(),
  });
}

/** Returns the first budget into which the order does not fit, after the earlier use. */
export function exhausted(uses: readonly BudgetUse[], used: MonthlyUse['used']): Budget | undefined {
  return uses.find(({ budget, amount, limit }) => amount > 0 && used[budget] + amount > limit)?.budget;
}
