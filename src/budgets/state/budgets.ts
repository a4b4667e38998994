import { ProblemException } from '../../problem/problem.exception.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';

export const budgetWords = enumeration(
  'Budget',
  ['orders', 'licences', 'deletions'],
  '`orders`: orders placed; `licences`: licences bought; `deletions`: assets and products deleted',
);
export type Budget = WordOf<typeof budgetWords>;

/** How many a caller may have in a calendar month (UTC), of each that is limited. */
export type Budgets = Readonly<Partial<Record<Budget, number>>>;

/** Those that are limited. */
export function limitsOf(budgets: Budgets): readonly (readonly [Budget, limit: number])[] {
  return (Object.entries(budgets) as [Budget, number | undefined][]).flatMap(([budget, limit]) =>
    limit === undefined ? [] : [[budget, limit] as const],
  );
}

/** What an order takes of one budget of its caller. */
export interface BudgetUse {
  readonly budget: Budget;
  readonly amount: number;
  readonly limit: number;
}

/** What a caller has used in one month, `2026-11`. */
export interface MonthlyUse {
  readonly month: string;
  readonly used: Readonly<Record<Budget, number>>;
}

/** Counters of so many months are kept. */
const MONTHS_KEPT = 13;

/** The calendar month of this time, in UTC. */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

/** The beginning of the month after it, in ms since the epoch. */
export function endOfMonth(month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return Date.UTC(year, number);
}

/** The months that are kept, the newest first. */
export function keptMonths(now: number): readonly string[] {
  const date = new Date(now);
  return Array.from({ length: MONTHS_KEPT }, (_, back) =>
    monthOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back)),
  );
}

/** For an order that does not fit into what is left of this month. */
export function exhaustedProblem(budget: Budget, now: number): ProblemException {
  const resetsAt = new Date(endOfMonth(monthOf(now))).toISOString();
  return new ProblemException('budget-exhausted', {
    detail: `The order does not fit into what is left of the caller's budget of ${budget} for this month (UTC).`,
    resetsAt,
  });
}

/** The first of these that the order does not fit into, after what was used. */
export function exhausted(uses: readonly BudgetUse[], used: MonthlyUse['used']): Budget | undefined {
  return uses.find(({ budget, amount, limit }) => amount > 0 && used[budget] + amount > limit)?.budget;
}
