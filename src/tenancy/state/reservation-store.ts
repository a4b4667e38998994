import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.ts';
import { rowsAs } from '../../database/engine.ts';
import { among, type Columns, fields, columnNames, NOW, type Query, rows, sql } from '../../database/sql.ts';
import { locked, type Step } from '../../database/step.ts';

export const RESERVATION_MS = 30 * 24 * 3_600_000;
/** The limit for one caller. The numbers that end first are forgotten first. */
export const MAX_RESERVATIONS = 100_000;
/** The most rows that one transaction deletes. */
const MAX_DELETED = 1_000;

/** Marks a number that several orders used, so that none of them alone may free it. */
const SEVERAL = '*';

const NUMBERS = rows('numbers', { assetNum: 'text' });
const IN_NUMBERS = among(sql`asset_num`, sql`SELECT asset_num FROM ${NUMBERS}`);
const OF_CALLER = sql`reservations.platform = :platform AND reservations.caller = :caller`;

const RESERVE = sql`
  INSERT INTO reservations (platform, caller, asset_num, reserved_until, bound_until)
  SELECT CAST(:platform AS text), CAST(:caller AS text), asset_num, CAST(:until AS bigint), 0
  FROM ${NUMBERS} WHERE true ORDER BY asset_num
  ON CONFLICT (platform, caller, asset_num) DO UPDATE SET reserved_until = excluded.reserved_until`;
const FORGET = sql`
  DELETE FROM reservations WHERE ${OF_CALLER} AND ${among(
    sql`asset_num`,
    sql`SELECT asset_num FROM reservations AS old WHERE old.platform = :platform AND old.caller = :caller
      AND old.reserved_until < :now AND old.bound_until < :now LIMIT :most`,
  )}`;
const COUNT = sql`SELECT count(*) AS count FROM reservations WHERE ${OF_CALLER}`;
const CUT = sql`
  DELETE FROM reservations WHERE ${OF_CALLER} AND ${among(
    sql`asset_num`,
    sql`SELECT asset_num FROM reservations AS old WHERE old.platform = :platform AND old.caller = :caller
      ORDER BY reserved_until DESC, asset_num LIMIT :most OFFSET :kept`,
  )}`;
const BOUND: Columns = { assetNum: 'text', enterprise: 'text', orderName: 'text' };
const KNOWN = sql`
  SELECT ${fields(BOUND)}, CASE WHEN bound_until > ${NOW} THEN 1 ELSE 0 END AS bound,
    CASE WHEN reserved_until > ${NOW} THEN 1 ELSE 0 END AS reserved
  FROM reservations WHERE ${OF_CALLER} AND ${IN_NUMBERS}`;
const BIND = sql`
  INSERT INTO reservations (platform, caller, reserved_until, bound_until, ${columnNames(BOUND)})
  SELECT CAST(:platform AS text), CAST(:caller AS text), 0, CAST(:until AS bigint), ${columnNames(BOUND)}
  FROM ${rows('bound', BOUND)} WHERE true ORDER BY asset_num
  ON CONFLICT (platform, caller, asset_num) DO UPDATE SET enterprise = excluded.enterprise, order_name = excluded.order_name,
    bound_until = excluded.bound_until`;
const FREED: Columns = { caller: 'text', orderName: 'text' };
/** The caller stands in an expression, so that no plan reads all numbers of the caller: the index of the order finds those to free. */
const FREE = sql`
  UPDATE reservations SET enterprise = NULL, order_name = NULL, bound_until = 0
  WHERE platform = :platform AND ${among(sql`caller || ''`, sql`SELECT freed.caller FROM ${rows('freed', FREED)}`)}
    AND ${among(sql`order_name`, sql`SELECT freed.order_name FROM ${rows('freed', FREED)}`)} AND order_name IS NOT NULL`;

/** A number that an order puts on an asset, and the enterprise that gets it. */
export interface NumberUse {
  readonly assetNum: string;
  readonly enterprise: string;
}

interface Uses {
  readonly caller: string;
  readonly order: string;
  readonly uses: readonly NumberUse[];
}

const reserve: Step<{ readonly caller: string; readonly assetNums: readonly string[] }, undefined> = {
  name: 'reserve numbers',
  repeatable: true,
  look: ([{ caller }]) => [lockNumbers(caller), COUNT.with({ caller })],
  decide: ([{ caller, assetNums }], [, counted], now) => {
    const numbers = numbersOf(assetNums);
    const mayBeFull = Number(counted?.[0]?.['count']) + numbers.length > MAX_RESERVATIONS;
    return {
      writes: [
        RESERVE.with({ caller, numbers, until: now + RESERVATION_MS }),
        FORGET.with({ caller, now, most: MAX_DELETED }),
        ...(mayBeFull ? [CUT.with({ caller, most: MAX_DELETED, kept: MAX_RESERVATIONS })] : []),
      ],
    };
  },
};

/** Locks the numbers of a caller until the commit, including a number that has no row yet. No other step binds or frees them before. */
export function lockNumbers(caller: string): Query {
  return locked(`numbers of ${caller}`, 'alone');
}

const bind: Step<Uses, boolean> = {
  name: 'bind numbers',
  repeatable: true,
  look: ([{ caller, uses }]) => [lockNumbers(caller), knownNumbers(caller, named(uses))],
  decide: ([{ caller, order, uses }], [, found], now) => {
    const known = boundIn(rowsAs(found));
    const bound = new Map<string, Bound>();
    for (const { assetNum, enterprise } of uses) {
      const before = bound.get(assetNum) ?? known.get(assetNum);
      if (before && before.enterprise !== enterprise) return { results: () => [false] };
      const orderName = before && before.orderName !== order ? SEVERAL : order;
      bound.set(assetNum, { assetNum, enterprise, orderName });
    }
    return {
      writes: [BIND.with({ caller, bound: [...bound.values()], until: now + RESERVATION_MS })],
      results: () => [true],
    };
  },
};

/** An order that was not carried out. */
export interface FreedOrder {
  readonly caller: string;
  readonly orderName: string;
}

/** Returns the writes with which a step frees the numbers that only these orders have used. The step must use {@link lockNumbers} first. */
export function freeNumbers(freed: readonly FreedOrder[]): Query[] {
  return freed.length === 0 ? [] : [FREE.with({ freed })];
}

interface Bound {
  readonly assetNum: string;
  readonly enterprise: string;
  readonly orderName: string;
}

interface NumberRow extends Bound {
  /** 1 or 0, as in `reserved`. */
  readonly bound: number;
  readonly reserved: number;
}

function boundIn(found: readonly NumberRow[]): ReadonlyMap<string, Bound> {
  return new Map(found.filter(({ bound }) => bound === 1).map((row) => [row.assetNum, row]));
}

function named(uses: readonly NumberUse[]): string[] {
  return uses.map(({ assetNum }) => assetNum);
}

function numbersOf(assetNums: readonly string[]) {
  return [...new Set(assetNums)].map((assetNum) => ({ assetNum }));
}

function knownNumbers(caller: string, assetNums: readonly string[]): Query {
  return KNOWN.with({ caller, numbers: numbersOf(assetNums) });
}

/**
 * Reserved asset numbers in the database, and the enterprises to which orders have bound them. Every call rejects with
 * `DatabaseUnavailable` while the database is away.
 */
@Injectable()
export class ReservationStore {
  constructor(private readonly database: Database) {}

  add(caller: string, assetNums: readonly string[]): Promise<undefined> {
    return this.database.step(reserve, { caller, assetNums });
  }

  /** Returns the numbers that the caller has reserved, and the enterprise of each that an order has used. */
  async known(
    caller: string,
    assetNums: readonly string[],
  ): Promise<{ readonly reserved: ReadonlySet<string>; readonly boundTo: ReadonlyMap<string, string> }> {
    const found = await this.database.read<NumberRow>(knownNumbers(caller, assetNums));
    const reserved = found.filter((row) => row.reserved === 1).map(({ assetNum }) => assetNum);
    const bound = [...boundIn(found)].map(([assetNum, { enterprise }]) => [assetNum, enterprise] as const);
    return { reserved: new Set(reserved), boundTo: new Map(bound) };
  }

  /** Binds all numbers or none. Resolves to false if one of them was used for another enterprise before. */
  bind(caller: string, order: string, uses: readonly NumberUse[]): Promise<boolean> {
    return this.database.step(bind, { caller, order, uses });
  }
}
