import { among, FOR_UPDATE, rows, sql } from '../../src/database/sql.ts';
import { NUMBER, locked, raise, type Step } from '../../src/database/step.ts';

/**
 * A small store of orders, for the tests of the database: a window of maintenance that stops what begins, a budget that several orders share,
 * states that move, and an event for each move.
 */

const TABLES = [
  sql`CREATE TABLE sample_windows (platform text PRIMARY KEY, stops bigint NOT NULL)`,
  sql`CREATE TABLE sample_budgets (platform text, caller text, used bigint NOT NULL, PRIMARY KEY (platform, caller))`,
  sql`CREATE TABLE sample_orders (platform text, name text, caller text, state text NOT NULL, owner text NOT NULL,
    record text NOT NULL, PRIMARY KEY (platform, name))`,
  sql`CREATE TABLE sample_events (platform text, number bigint, name text NOT NULL, state text NOT NULL,
    record text NOT NULL, PRIMARY KEY (platform, number))`,
  sql`INSERT INTO sample_windows (platform, stops) VALUES (:platform, 0)`,
];

/** Makes the tables. */
export const install: Step<undefined, undefined> = {
  name: 'install',
  decide: () => ({ writes: TABLES.map((statement) => statement.with()) }),
};

const IN_ORDERS = rows('orders', { name: 'text', caller: 'text', owner: 'text', record: 'text' });
const WINDOW = sql`SELECT stops FROM sample_windows WHERE platform = :platform `;
const BUDGETS = sql`
  SELECT caller, used FROM sample_budgets
  WHERE platform = :platform AND ${among(sql`caller`, sql`SELECT caller FROM ${IN_ORDERS}`)} ORDER BY caller ${FOR_UPDATE}`;
const KNOWN = sql`
  SELECT name, state, owner, caller FROM sample_orders
  WHERE platform = :platform AND ${among(sql`name`, sql`SELECT name FROM ${IN_ORDERS}`)} ORDER BY name ${FOR_UPDATE}`;
const INSERT = sql`
  INSERT INTO sample_orders (platform, name, caller, state, owner, record)
  SELECT CAST(:platform AS text), name, caller, 'sending', owner, record FROM ${IN_ORDERS}`;
const SPEND = sql`
  UPDATE sample_budgets SET used = spent.used
  FROM ${rows('spent', { caller: 'text', used: 'bigint' })}
  WHERE platform = :platform AND sample_budgets.caller = spent.caller`;

export interface SampleOrder {
  readonly name: string;
  readonly caller: string;
  readonly owner: string;
  readonly record: string;
}
export type SampleBegun = 'begun' | 'there' | 'stopped' | 'exhausted';
export const BUDGET = 10;

/** A caller that has a row of budgets may begin so many. */
export const begin: Step<SampleOrder, SampleBegun> = {
  name: 'begin',
  key: ({ name }) => name,
  bytes: ({ record }) => record.length,
  guarded: true,
  repeatable: true,
  look: (orders) => [
    locked('window', 'shared'),
    WINDOW.with(),
    BUDGETS.with({ orders }),
    KNOWN.with({ orders }),
  ],
  decide: (orders, [, windows, budgets, known]) => {
    const isStopped = windows?.[0]?.['stops'] === 1;
    const used = new Map(budgets?.map((row) => [row['caller'], Number(row['used'])]));
    const there = new Map(known?.map((row) => [row['name'], row]));
    const spent = new Set<string>();
    const results = orders.map(({ name, caller, owner }): SampleBegun => {
      const row = there.get(name);
      if (row) return row['owner'] === owner && row['state'] === 'sending' ? 'begun' : 'there';
      if (isStopped) return 'stopped';
      const before = used.get(caller);
      if (before !== undefined && before >= BUDGET) return 'exhausted';
      if (before !== undefined) {
        used.set(caller, before + 1);
        spent.add(caller);
      }
      return 'begun';
    });
    const fresh = orders.filter(({ name }, at) => results[at] === 'begun' && !there.has(name));
    const after = [...spent].map((caller) => ({ caller, used: used.get(caller) ?? 0 }));
    return {
      writes: [
        ...(fresh.length > 0 ? [INSERT.with({ orders: fresh }), raise('begun', fresh.length)] : []),
        ...(after.length > 0 ? [SPEND.with({ spent: after })] : []),
      ],
      results: () => results,
    };
  },
};

const IN_MOVES = rows('moves', {
  name: 'text',
  owner: 'text',
  state: 'text',
  record: 'text',
  place: 'bigint',
});
const MOVING = sql`
  SELECT name, state, owner FROM sample_orders
  WHERE platform = :platform AND ${among(sql`name`, sql`SELECT name FROM ${IN_MOVES}`)} ORDER BY name ${FOR_UPDATE}`;
const UPDATE = sql`
  UPDATE sample_orders SET state = moves.state, record = moves.record FROM ${IN_MOVES}
  WHERE platform = :platform AND sample_orders.name = moves.name
    AND ${among(sql`sample_orders.name`, sql`SELECT name FROM ${IN_MOVES}`)}`;
const EVENTS = sql`
  INSERT INTO sample_events (platform, number, name, state, record)
  SELECT CAST(:platform AS text), ${NUMBER} - place, name, state, record FROM ${IN_MOVES}`;

export interface SampleMove {
  readonly name: string;
  readonly owner: string;
  readonly state: string;
  readonly record: string;
}

/** Moves an order of its owner out of `sending`. Resolves to the number of the event; 0: it was not moved. */
export const move: Step<SampleMove, number> = {
  name: 'move',
  key: ({ name }) => name,
  pastLoss: true,
  look: (moves) => [MOVING.with({ moves })],
  decide: (moves, [moving]) => {
    const there = new Map(moving?.map((row) => [row['name'], row]));
    const made = moves.filter(({ name, owner }) => {
      const row = there.get(name);
      return row?.['state'] === 'sending' && row['owner'] === owner;
    });
    const placed = made.map((each, at) => ({ ...each, place: made.length - 1 - at }));
    if (placed.length === 0) return { results: () => moves.map(() => 0) };
    return {
      writes: [
        UPDATE.with({ moves: placed }),
        raise('feed', placed.length),
        EVENTS.with({ moves: placed, number: 'feed' }),
      ],
      results: (written) => {
        const last = Number(written[1]?.[0]?.['value']);
        return moves.map((each) => (made.includes(each) ? last - made.length + 1 + made.indexOf(each) : 0));
      },
    };
  },
};

const SET_WINDOW = sql`UPDATE sample_windows SET stops = :stops WHERE platform = :platform`;
const SET_BUDGET = sql`INSERT INTO sample_budgets (platform, caller, used) VALUES (:platform, :caller, 0)`;

export const setWindow: Step<number, undefined> = {
  name: 'set window',
  look: () => [locked('window', 'alone')],
  decide: ([stops]) => ({ writes: [SET_WINDOW.with({ stops })] }),
};

export const giveBudget: Step<string, undefined> = {
  name: 'give budget',
  key: (caller) => caller,
  decide: (callers) => ({
    writes: callers.map((caller) => SET_BUDGET.with({ caller })),
  }),
};

export const EVENTS_AFTER = sql`
  SELECT number, name, state FROM sample_events WHERE platform = :platform AND number > :after ORDER BY number LIMIT 1000`;
