import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.ts';
import { type BudgetUse, keptMonths, type MonthlyUse } from './budgets.ts';
import { amongTexts, type Columns, columnNames, type Query, rows, sql } from '../../database/sql.ts';
import { locked } from '../../database/step.ts';
import { summed } from '../../shared/summed.ts';

/*
 * Counters of a caller, in the table `uses`: of each budget in a calendar month (`2026-11`), of the bytes of its orders and of its keyed writes
 * on a day (`2026-11-27`), and of its scheduled orders ('' for all time).
 */

const DAY_MS = 24 * 3_600_000;
/** The orders that a caller began within this number of days may take {@link MAX_RECORD_BYTES} together, and its keyed writes as many again. */
const DAYS = 7;
export const MAX_RECORD_BYTES = 256 * 1024 * 1024;

/** The counters of bytes: of orders, and of other writes with an `Idempotency-Key`. */
export type CounterOfBytes = 'bytes' | 'keyed-bytes';

/** The row of a keyed write takes about this much besides its sealed details, which may be short. */
const KEYED_ROW_BYTES = 1_024;

/** Returns what a keyed write counts whose sealed details have this length. */
export function keyedBytes(size: number): number {
  return KEYED_ROW_BYTES + size;
}

/** What an order took from its caller's budgets, and in which month. Its record keeps this until the use is returned. */
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
export function firstDay(now: number): string {
  return dayOf(now - (DAYS - 1) * DAY_MS);
}

/** Returns the seconds until the bytes of that day no longer count. */
export function countsForS(day: string, now: number): number {
  return Math.ceil((Date.parse(day) + DAYS * DAY_MS - now) / 1_000);
}

export function usesOf(caller: string, { month, uses }: Taken, sign: 1 | -1): Use[] {
  return uses.map(({ budget, amount }) => ({ caller, period: month, kind: budget, amount: sign * amount }));
}

const COUNTERS = sql`
  SELECT caller, period, kind, used FROM uses
  WHERE platform = :platform AND ${amongTexts(sql`caller`, sql`:callers`)}`;

/**
 * Returns statements of which the last one reads all counters of the callers, at most about fifty rows for each caller. It reads all of them
 * because only the database knows the current month and day. The statements before it lock the budgets of `limited` until the commit. The
 * other limits need no lock, because they need not be exact.
 */
export function countersOf(callers: ReadonlySet<string>, limited: ReadonlySet<string>): Query[] {
  return [
    ...[...limited].toSorted().map((caller) => locked(`budgets of ${caller}`, 'alone')),
    COUNTERS.with({ callers: [...callers] }),
  ];
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
  SELECT caller, period, kind, used FROM uses
  WHERE platform = :platform AND ${amongTexts(sql`caller`, sql`:callers`)}
    AND ${amongTexts(sql`period`, sql`:months`)}`;
const FORGET = sql`
  DELETE FROM uses WHERE platform = :platform
    AND (length(period) = 7 AND period < :month OR length(period) = 10 AND period < :day)`;

/** Deletes months and days that no longer count. */
export function forgottenUses(now: number): Query {
  return FORGET.with({ month: keptMonths(now).at(-1) ?? '', day: firstDay(now) });
}

/** Reads the use that callers have made of their budgets. Orders change it in their own steps. */
@Injectable()
export class UseStore {
  constructor(private readonly database: Database) {}

  /** Returns the use of the caller in these months. */
  async used(caller: string, months: readonly string[]): Promise<readonly MonthlyUse[]> {
    const [used = []] = await this.usedBy([caller], months);
    return used;
  }

  /** Returns the use of each of the callers in these months. */
  async usedBy(
    callers: readonly string[],
    months: readonly string[],
  ): Promise<readonly (readonly MonthlyUse[])[]> {
    if (callers.length === 0) return [];
    const read = await this.database.read<UseRow>(USED.with({ callers, months }));
    const found = Map.groupBy(read, ({ caller }) => caller);
    return callers.map((caller) => {
      const own = found.get(caller) ?? [];
      return months.map((month) => {
        const usedOf = (kind: string) =>
          own.find((row) => row.period === month && row.kind === kind)?.used ?? 0;
        const used = {
          orders: usedOf('orders'),
          licences: usedOf('licences'),
          deletions: usedOf('deletions'),
        };
        return { month, used };
      });
    });
  }
}
