/**
 * Fills the database of its first argument with this many orders and events, and prints the median time of each read and step of the real
 * stores in ms, as JSON. It is a part of database.ts.
 */
import { SealedTexts } from '../src/database/sealed-texts.ts';
import { either, type Query, sql } from '../src/database/sql.ts';
import type { Step } from '../src/database/step.ts';
import { createLog } from '../src/observability/log.ts';
import { EventStore } from '../src/events/log/event-store.ts';
import type { OrderQuery } from '../src/order-ledger/write-steps.ts';
import { WriteRecords } from '../src/order-ledger/write-rows.ts';
import { WriteStore } from '../src/order-ledger/write-store.ts';
import { ledgerBegin, ledgerOrder } from '../test/support/ledger-order.ts';
import { openOwnDatabase } from '../test/support/own-database.ts';

/** The rows of one statement, because PostgreSQL ends a statement that takes longer than 4 s. */
const ROWS_AT_ONCE = 10_000;
const ROUNDS = 200;
/** The size of a page. With 1,000 orders every page is full too, with each filter. */
const PAGE = 20;
const ENTERPRISES = 10;
const PLATFORM = 'bench';

const [url = '', orderCount = '0', eventCount = '0'] = process.argv.slice(2);
const [orders, events] = [Number(orderCount), Number(eventCount)];
const database = await openOwnDatabase(url, PLATFORM);
const store = new WriteStore(database, new WriteRecords(new SealedTexts([], PLATFORM), createLog('warn')));
const feed = new EventStore(database);

const fill: Step<readonly Query[], undefined> = {
  name: 'fill',
  withinMs: 60_000,
  decide: ([writes]) => ({ writes }),
};
const write = (...writes: readonly Query[]) => database.step(fill, writes);

/** A column `n` with the numbers from `:first` to `:last`. */
const NUMBERS = either(
  sql`(SELECT n FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n) AS numbers`,
  sql`(WITH RECURSIVE counted(n) AS (SELECT CAST(:first AS bigint) UNION ALL SELECT n + 1 FROM counted WHERE n < :last) SELECT n FROM counted) AS numbers`,
);
/** The state of an order. One in 40 is in doubt, and one was accepted for later. */
const STATE = sql`CASE n % 40 WHEN 0 THEN 'in_doubt' WHEN 20 THEN 'accepted' ELSE 'succeeded' END`;
/** The time of an order, a second after the one before. */
const AT = sql`CAST(:now AS bigint) - (CAST(:count AS bigint) - n) * 1000`;
const ORDERS = sql`
  INSERT INTO writes (platform, name, state, owner, fingerprint, caller, channel, enterprise_group, submitted_at, settled_at,
    lease_until, counted_on, size, details)
  SELECT CAST(:platform AS text), 'order/crm/old-' || n, ${STATE}, 'bench', 'bench', 'billing', 'channel-' || (n % 4),
    '=ent-' || (n % CAST(:enterprises AS bigint)), ${AT}, ${AT}, 0, '2026-11-27', length(CAST(:details AS text)), :details
  FROM ${NUMBERS}`;
const EVENTS = sql`
  INSERT INTO events (platform, number, kind, name, state, at, size, record)
  SELECT CAST(:platform AS text), n, 'order', 'order/crm/old-' || n, ${STATE}, ${AT}, length(CAST(:record AS text)), :record
  FROM ${NUMBERS}`;
const COUNTED = sql`FROM writes WHERE platform = :platform GROUP BY platform, state`;
const FILLED = [
  sql`INSERT INTO order_counts (platform, enterprise_group, channel, state, orders) SELECT platform, '', '', state, count(*) ${COUNTED}`,
  sql`INSERT INTO order_counts (platform, enterprise_group, channel, state, orders)
    SELECT platform, '', channel, state, count(*) ${COUNTED}, channel`,
  sql`INSERT INTO order_counts (platform, enterprise_group, channel, state, orders)
    SELECT platform, enterprise_group, channel, state, count(*) ${COUNTED}, channel, enterprise_group`,
  sql`INSERT INTO order_groups (platform, enterprise, enterprise_group, members)
    SELECT DISTINCT platform, substr(enterprise_group, 2), enterprise_group, 1 FROM writes WHERE platform = :platform`,
  sql`UPDATE numbers SET value = :count WHERE platform = :platform AND name = 'feed'`,
];
// PostgreSQL's own autovacuum would analyze the tables some time later.
const ANALYZE = either(sql`ANALYZE`, sql`SELECT 1`);

async function fillTables(): Promise<void> {
  const search = { purchases: { '1': [{ names: ['x'.repeat(900)], count: 1 }] } };
  const details = JSON.stringify({ caller: 'billing', order: ledgerOrder('old', { search }) });
  const now = Date.now();
  const given = { now, details, enterprises: ENTERPRISES, record: JSON.stringify([now, now, details]) };
  for (const [statement, count] of [
    [ORDERS, orders],
    [EVENTS, events],
  ] as const)
    for (let first = 1; first <= count; first += ROWS_AT_ONCE)
      await write(
        statement.with({ ...given, count, first, last: Math.min(count, first + ROWS_AT_ONCE - 1) }),
      );
  await write(...FILLED.map((statement) => statement.with({ count: events })), ANALYZE.with());
}

const medians: Record<string, number> = {};

async function measure(name: string, work: (round: number) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const from = performance.now();
    await work(round);
    times.push(performance.now() - from);
  }
  medians[name] = times.toSorted((one, other) => one - other)[ROUNDS / 2] ?? 0;
}

/** Measures a list. Fails if a page has no orders, because an empty page would be fast. */
async function measureList(name: string, query: OrderQuery, offset = 0): Promise<void> {
  await measure(`listOrders, ${name}`, async () => {
    const { records } = await store.list(query, offset, PAGE);
    if (records.length === 0) throw new Error(`no orders: ${name}`);
  });
}

async function measureFeed(name: string, after: number | undefined, ...wanted: 'order:in_doubt'[]) {
  const cursor = after === undefined ? undefined : String(after).padStart(15, '0');
  await measure(`listEvents, ${name}`, async () => {
    const { found } = await feed.read(cursor, wanted.length > 0 ? 20 * PAGE : PAGE, wanted);
    if (found.length === 0) throw new Error(`no events: ${name}`);
  });
}

await fillTables();
const begins = Array.from({ length: ROUNDS }, (_, at) => ledgerBegin(`new-${at}`));
await measure('begin', (round) => store.begin(begins[round] as (typeof begins)[number]));
await measure('move', (round) => {
  const { name, owner, details } = begins[round] as (typeof begins)[number];
  return store.move({ name, owner, by: 'owner', to: 'succeeded', details });
});
const within = new Set(Array.from({ length: 5 }, (_, at) => `ent-${at}`));
const day = 24 * 3_600_000;
await measureList('all', {});
await measureList('page 10', {}, 9 * PAGE);
await measureList('a state', { states: ['in_doubt'] });
await measureList('a channel', { channels: new Set(['channel-0']) });
await measureList('an enterprise', { enterprise: 'ent-4' });
await measureList('granted enterprises', { within });
await measureList('all filters', {
  ...{ states: ['succeeded', 'in_doubt'], channels: new Set(['channel-0']), within, enterprise: 'ent-4' },
  ...{ from: Date.now() - day, until: Date.now() + day },
});
await measureFeed('the oldest', undefined);
await measureFeed('the newest', events - PAGE);
await measureFeed('a type', Math.floor(events / 2), 'order:in_doubt');
process.stdout.write(JSON.stringify(medians));
await database.close();
process.exit(0);
