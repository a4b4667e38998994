import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.ts';
import type { BudgetUse, MonthlyUse } from './budgets.ts';
import { type Columns, among, columnNames, type Query, rows, sql } from '../../database/sql.ts';
import { locked } from '../../database/step.ts';
import { summed } from '../../shared/summed.ts';

/*
 * Counters of a caller, in the table `uses`: of each budget in a calendar month (`2026-11`), of the bytes of its orders on a day
 * (`2026-11-27`), and of its keyed writes and scheduled orders ('' for all time).
 */

const DAY_MS = 24 * 3_600_000;
/** The days whose orders count. The orders of a caller that begin within them may have {@link MAX_ORDER_BYTES} together. */
const DAYS = 7;
export const MAX_ORDER_BYTES = 256 * 1024 * 1024;

/** The use that an order has added to its caller's budgets, and the month of it. The order's record keeps it until it is returned. */
export interface Taken {
  readonly month: string;
  readonly uses: readonly BudgetUse[];
}

export interface Use {
  readonly caller: string;
  readonly period: string;
  readonly kind: string;
  readonly amount: number;
}

/** A row of `uses`. */
export interface UseRow extends Omit<Use, 'amount'> {
  readonly used: number;
}

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Returns the first day whose bytes count for a caller. */
function firstDay(now: number): string {
  return dayOf(now - (DAYS - 1) * DAY_MS);
}

export function usesOf(caller: string, { month, uses }: Taken, sign: 1 | -1): Use[] {
  return uses.map(({ budget, amount }) => ({ caller, period: month, kind: budget, amount: sign * amount }));
}

const CALLERS = rows('callers', { caller: 'text', period: 'text' });
const BUDGETS = sql`
  SELECT caller, period, kind, used FROM uses
  WHERE platform = :platform AND ${among(sql`caller`, sql`SELECT caller FROM ${CALLERS}`)}
    AND ${among(sql`period`, sql`SELECT period FROM ${CALLERS}`)}`;
/** Reads the counters of a caller's bounds without a lock, because a bound need not be exact. */
const BOUNDED = sql`
  SELECT caller, CAST(sum(CASE WHEN kind = 'bytes' THEN used ELSE 0 END) AS bigint) AS bytes,
    CAST(sum(CASE WHEN kind = 'writes' THEN used ELSE 0 END) AS bigint) AS writes,
    CAST(sum(CASE WHEN kind = 'scheduled' THEN used ELSE 0 END) AS bigint) AS scheduled
  FROM uses WHERE platform = :platform AND ${among(sql`caller`, sql`SELECT caller FROM ${CALLERS}`)}
    AND (kind IN ('writes', 'scheduled') OR kind = 'bytes' AND period >= :since)
  GROUP BY caller`;

/**
 * Returns statements of which the last one finds the budgets. A transaction that changes a caller's budgets locks them until the commit.
 */
export function budgetsOf(callers: readonly string[], months: readonly string[]): Query[] {
  const wanted = callers.flatMap((caller) => months.map((period) => ({ caller, period })));
  return [
    ...callers.toSorted().map((caller) => locked(`budgets of ${caller}`, 'alone')),
    BUDGETS.with({ callers: wanted }),
  ];
}

export function boundedUses(callers: readonly string[], now: number): Query {
  return BOUNDED.with({ callers: callers.map((caller) => ({ caller })), since: firstDay(now) });
}

const CHANGE: Columns = { caller: 'text', period: 'text', kind: 'text', amount: 'bigint' };
/** The rows have the same order in every transaction, so that no two of them wait for each other. */
const ADD = sql`
  INSERT INTO uses (platform, caller, period, kind, used)
  SELECT CAST(:platform AS text), ${columnNames(CHANGE)} FROM ${rows('changes', CHANGE)} WHERE true ORDER BY caller, period, kind
  ON CONFLICT (platform, caller, period, kind) DO UPDATE SET used = uses.used + excluded.used`;

export function useWrites(uses: readonly Use[]): Query[] {
  const changes = summed(uses, ({ caller, period, kind }) => [caller, period, kind]);
  return changes.length === 0 ? [] : [ADD.with({ changes })];
}

const USED = sql`
  SELECT period, kind, used FROM uses WHERE platform = :platform AND caller = :caller
    AND ${among(sql`period`, sql`SELECT period FROM ${rows('months', { period: 'text' })}`)}`;
const FORGET = sql`
  DELETE FROM uses WHERE platform = :platform
    AND (length(period) = 7 AND period < :month OR length(period) = 10 AND period < :day)`;

/** Deletes months and days that no longer count. */
export function forgottenUses(now: number, oldestMonth: string): Query {
  return FORGET.with({ month: oldestMonth, day: firstDay(now) });
}

/** Reads the use that callers have made of their budgets. Orders change it in their own steps. */
@Injectable()
export class UseStore {
  constructor(private readonly database: Database) {}

  /** Returns the use of the caller in these months. */
  async used(caller: string, months: readonly string[]): Promise<readonly MonthlyUse[]> {
    const query = USED.with({ caller, months: months.map((period) => ({ period })) });
    const found = await this.database.read<UseRow>(query);
    return months.map((month) => {
      const usedOf = (kind: string) =>
        found.find((row) => row.period === month && row.kind === kind)?.used ?? 0;
      const used = { orders: usedOf('orders'), licences: usedOf('licences'), deletions: usedOf('deletions') };
      return { month, used };
    });
  }
}
