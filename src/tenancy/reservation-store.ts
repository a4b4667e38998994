import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.ts';
import type { Rows } from '../database/engine.ts';
import { among, FOR_UPDATE, NOW, rows, sql } from '../database/sql.ts';
import type { Step } from '../database/step.ts';

export const RESERVATION_MS = 30 * 24 * 3_600_000;
/** The limit for one caller; the numbers that end first are forgotten first. */
export const MAX_RESERVATIONS = 100_000;
/** One transaction deletes this number of rows at most. */
const MAX_DELETED = 1_000;

/** Says that several orders used a number, so that none of them alone may free it. */
const SEVERAL = '*';

const NUMBERS = rows('numbers', { asset_num: 'text' });
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
const CUT = sql`
  DELETE FROM reservations WHERE ${OF_CALLER} AND ${among(
    sql`asset_num`,
    sql`SELECT asset_num FROM reservations AS old WHERE old.platform = :platform AND old.caller = :caller
      ORDER BY reserved_until DESC, asset_num LIMIT :most OFFSET :kept`,
  )}`;
const KNOWN = sql`
  SELECT asset_num, enterprise, order_name, CASE WHEN bound_until > ${NOW} THEN 1 ELSE 0 END AS bound,
    CASE WHEN reserved_until > ${NOW} THEN 1 ELSE 0 END AS reserved
  FROM reservations WHERE ${OF_CALLER} AND ${IN_NUMBERS}`;
const LOCKED = sql`
  SELECT asset_num, enterprise, order_name, CASE WHEN bound_until > ${NOW} THEN 1 ELSE 0 END AS bound
  FROM reservations WHERE ${OF_CALLER} AND ${IN_NUMBERS} ORDER BY asset_num ${FOR_UPDATE}`;
const BOUND = rows('bound', { asset_num: 'text', enterprise: 'text', order_name: 'text' });
const INSERT = sql`
  INSERT INTO reservations (platform, caller, asset_num, reserved_until, bound_until, enterprise, order_name)
  SELECT CAST(:platform AS text), CAST(:caller AS text), asset_num, 0, CAST(:until AS bigint), enterprise, order_name FROM ${BOUND}`;
const BIND = sql`
  UPDATE reservations SET enterprise = bound.enterprise, order_name = bound.order_name, bound_until = :until
  FROM ${BOUND} WHERE ${OF_CALLER} AND reservations.asset_num = bound.asset_num
    AND ${among(sql`reservations.asset_num`, sql`SELECT asset_num FROM ${BOUND}`)}`;
const RELEASE = sql`
  UPDATE reservations SET enterprise = NULL, order_name = NULL, bound_until = 0
  WHERE ${OF_CALLER} AND order_name = :order AND ${IN_NUMBERS}`;

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

/** A caller's numbers are changed by one transaction after another, so each step has one of its inputs. */
const ONE_AT_A_TIME = () => '';

const reserve: Step<{ readonly caller: string; readonly assetNums: readonly string[] }, undefined> = {
  name: 'reserve numbers',
  key: ONE_AT_A_TIME,
  repeatable: true,
  look: () => [sql`SELECT 1`.with()],
  decide: ([input], _, now) => {
    if (!input) return { results: () => [] };
    const { caller, assetNums } = input;
    const numbers = [...new Set(assetNums)].map((assetNum) => ({ asset_num: assetNum }));
    return {
      writes: [
        RESERVE.with({ caller, numbers, until: now + RESERVATION_MS }),
        FORGET.with({ caller, now, most: MAX_DELETED }),
        CUT.with({ caller, most: MAX_DELETED, kept: MAX_RESERVATIONS }),
      ],
    };
  },
};

const bind: Step<Uses, boolean> = {
  name: 'bind numbers',
  key: ONE_AT_A_TIME,
  repeatable: true,
  look: ([input]) => [
    LOCKED.with({
      caller: input?.caller ?? '',
      numbers: (input?.uses ?? []).map(({ assetNum }) => ({ asset_num: assetNum })),
    }),
  ],
  decide: ([input], [found], now) => {
    if (!input) return { results: () => [] };
    const { caller, order, uses } = input;
    const known = boundIn(found);
    const bound = new Map<string, { enterprise: string; order: string }>();
    for (const { assetNum, enterprise } of uses) {
      const before = bound.get(assetNum) ?? known.get(assetNum);
      if (before && before.enterprise !== enterprise) return { results: () => [false] };
      bound.set(assetNum, { enterprise, order: before && before.order !== order ? SEVERAL : order });
    }
    const there = new Set(found?.map((row) => row['asset_num']));
    const all = [...bound].map(([assetNum, { enterprise, order: by }]) => ({
      ...{ asset_num: assetNum, enterprise, order_name: by },
    }));
    const [old, fresh] = [true, false].map((isThere) =>
      all.filter((row) => there.has(row.asset_num) === isThere),
    );
    const until = now + RESERVATION_MS;
    return {
      writes: [
        ...(old?.length ? [BIND.with({ caller, bound: old, until })] : []),
        ...(fresh?.length ? [INSERT.with({ caller, bound: fresh, until })] : []),
      ],
      results: () => [true],
    };
  },
};

const release: Step<Uses, undefined> = {
  name: 'release numbers',
  key: ONE_AT_A_TIME,
  repeatable: true,
  decide: ([input]) => {
    if (!input) return { results: () => [] };
    const { caller, order, uses } = input;
    const numbers = uses.map(({ assetNum }) => ({ asset_num: assetNum }));
    return { writes: [RELEASE.with({ caller, order, numbers })] };
  },
};

function boundIn(found: Rows = []): Map<string, { enterprise: string; order: string }> {
  return new Map(
    found
      .filter((row) => row['bound'] === 1)
      .map((row) => [
        String(row['asset_num']),
        { enterprise: String(row['enterprise']), order: String(row['order_name']) },
      ]),
  );
}

/** Reserved asset numbers in the database, and the enterprises to which orders have bound them. Every call rejects with `DatabaseUnavailable` while the database is away. */
@Injectable()
export class ReservationStore {
  constructor(private readonly database: Database) {}

  add(caller: string, assetNums: readonly string[]): Promise<undefined> {
    return this.database.step(reserve, { caller, assetNums });
  }

  /** Which of these numbers the caller has reserved, and the enterprise of each that an order has used. */
  async known(
    caller: string,
    assetNums: readonly string[],
  ): Promise<{ readonly reserved: ReadonlySet<string>; readonly boundTo: ReadonlyMap<string, string> }> {
    const numbers = assetNums.map((assetNum) => ({ asset_num: assetNum }));
    const found = await this.database.read<Rows[number]>(KNOWN.with({ caller, numbers }));
    const reserved = found.filter((row) => row['reserved'] === 1).map((row) => String(row['asset_num']));
    const bound = [...boundIn(found)].map(([assetNum, { enterprise }]) => [assetNum, enterprise] as const);
    return { reserved: new Set(reserved), boundTo: new Map(bound) };
  }

  /** Binds all numbers or none: false where one of them was used for another enterprise before. */
  bind(caller: string, order: string, uses: readonly NumberUse[]): Promise<boolean> {
    return this.database.step(bind, { caller, order, uses });
  }

  /** Frees the numbers that this order alone has used. */
  release(caller: string, order: string, uses: readonly NumberUse[]): Promise<undefined> {
    return this.database.step(release, { caller, order, uses });
  }
}
