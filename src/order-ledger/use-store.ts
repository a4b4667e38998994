import type { BudgetUse } from '../control/budgets.ts';
import type { Rows } from '../database/engine.ts';
import { among, either, FOR_UPDATE, type Query, rows, sql } from '../database/sql.ts';

/*
 * Counters of a caller, in the table `uses`: of each budget in a calendar month (`2026-11`), of the bytes of its orders on a day
 * (`2026-11-27`), and of its keyed writes ('' for all time).
 */

const DAY_MS = 24 * 3_600_000;
/** The orders of a caller that begin within so many days may have {@link MAX_ORDER_BYTES} together. */
const DAYS = 7;
export const MAX_ORDER_BYTES = 256 * 1024 * 1024;

/** What an order has taken of its caller's budgets, and of which month: its record has it until it is given back. */
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

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The day from which on a caller's bytes count. */
function firstDay(now: number): string {
  return dayOf(now - (DAYS - 1) * DAY_MS);
}

export function usesOf(caller: string, { month, uses }: Taken, sign: 1 | -1): Use[] {
  return uses.map(({ budget, amount }) => ({ caller, period: month, kind: budget, amount: sign * amount }));
}

const CALLERS = rows('callers', { caller: 'text', period: 'text' });
/** Whoever takes of a budget has its row alone until the commit. A row that is not there yet is inserted, which fails for the second one. */
const BUDGETS = sql`
  SELECT caller, period, kind, used FROM uses
  WHERE platform = :platform AND ${among(sql`caller`, sql`SELECT caller FROM ${CALLERS}`)}
    AND ${among(sql`period`, sql`SELECT period FROM ${CALLERS}`)}
  ORDER BY caller, period, kind ${FOR_UPDATE}`;
/** Not locked: the bound of a caller need not be exact. */
const BOUNDED = sql`
  SELECT caller, CAST(sum(CASE WHEN kind = 'bytes' THEN used ELSE 0 END) AS bigint) AS bytes,
    CAST(sum(CASE WHEN kind = 'writes' THEN used ELSE 0 END) AS bigint) AS writes
  FROM uses WHERE platform = :platform AND ${among(sql`caller`, sql`SELECT caller FROM ${CALLERS}`)}
    AND (kind = 'writes' OR kind = 'bytes' AND period >= :since)
  GROUP BY caller`;

export function budgetsOf(callers: readonly string[], months: readonly string[]): Query {
  return BUDGETS.with({
    callers: callers.flatMap((caller) => months.map((period) => ({ caller, period }))),
  });
}

export function boundedUses(callers: readonly string[], now: number): Query {
  return BOUNDED.with({ callers: callers.map((caller) => ({ caller })), since: firstDay(now) });
}

const IN_USES = rows('changes', { caller: 'text', period: 'text', kind: 'text', amount: 'bigint' });
const NEW = sql`
  INSERT INTO uses (platform, caller, period, kind, used)
  SELECT CAST(:platform AS text), caller, period, kind, amount FROM ${IN_USES}`;
const LEFT = either(sql`greatest(0, uses.used + excluded.used)`, sql`max(0, uses.used + excluded.used)`);
const ADD = sql`
  INSERT INTO uses (platform, caller, period, kind, used)
  SELECT CAST(:platform AS text), caller, period, kind, amount FROM ${IN_USES} WHERE true
  ORDER BY caller, period, kind
  ON CONFLICT (platform, caller, period, kind) DO UPDATE SET used = ${LEFT}`;
const TAKE_AWAY = sql`
  UPDATE uses SET used = ${either(sql`greatest(0, uses.used + changes.amount)`, sql`max(0, uses.used + changes.amount)`)}
  FROM ${IN_USES}
  WHERE uses.platform = :platform AND uses.caller = changes.caller AND uses.period = changes.period AND uses.kind = changes.kind
    AND ${among(sql`uses.caller`, sql`SELECT caller FROM ${IN_USES}`)}`;

/** The writes for these changes, in an order in which no two transactions wait for each other: budgets first, then what only bounds. */
export function useWrites(changes: readonly Use[], known: Rows = []): Query[] {
  const summed = new Map<string, Use>();
  for (const change of changes) {
    const key = JSON.stringify([change.caller, change.period, change.kind]);
    summed.set(key, { ...change, amount: change.amount + (summed.get(key)?.amount ?? 0) });
  }
  const all = [...summed.values()].filter(({ amount }) => amount !== 0);
  const isThere = (use: Use) =>
    known.some(
      (row) => row['caller'] === use.caller && row['period'] === use.period && row['kind'] === use.kind,
    );
  const budgets = all.filter(({ period }) => period.length === 7);
  const bounds = all.filter(({ period }) => period.length !== 7);
  const written = (statement: typeof ADD, list: readonly Use[]) =>
    list.length === 0 ? [] : [statement.with({ changes: list })];
  return [
    ...written(
      NEW,
      budgets.filter((use) => use.amount > 0 && !isThere(use)),
    ),
    ...written(
      ADD,
      budgets.filter((use) => use.amount > 0 && isThere(use)),
    ),
    ...written(
      TAKE_AWAY,
      budgets.filter(({ amount }) => amount < 0),
    ),
    ...written(
      ADD,
      bounds.filter(({ amount }) => amount > 0),
    ),
    ...written(
      TAKE_AWAY,
      bounds.filter(({ amount }) => amount < 0),
    ),
  ];
}

export const USED = sql`
  SELECT period, kind, used FROM uses WHERE platform = :platform AND caller = :caller
    AND ${among(sql`period`, sql`SELECT period FROM ${rows('months', { period: 'text' })}`)}`;
const FORGET = sql`
  DELETE FROM uses WHERE platform = :platform
    AND (length(period) = 7 AND period < :month OR length(period) = 10 AND period < :day)`;

/** Months and days that count no more. */
export function forgottenUses(now: number, oldestMonth: string): Query {
  return FORGET.with({ month: oldestMonth, day: firstDay(now) });
}
