import { beforeAll, describe, expect, it } from '@jest/globals';
import { SealedTexts } from '../../src/database/sealed-texts.ts';
import { EventStore } from '../../src/events/log/event-store.ts';
import { orderName } from '../../src/order-ledger/ledger-record.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { askDatabase } from '../support/postgres.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { ledgerOrder } from '../support/ledger-order.ts';
import { until } from '../support/redis.ts';
import { settings } from '../support/settings.ts';
import { useStack } from '../support/stack.ts';
import { openDatabase } from '../support/use-database.ts';

/** Pages of orders from a store with many of them, and of a large feed: the cost of a page, and which orders it has. */

const ORDERS = 6_000;
/** Each of this many enterprises has the same number of orders. */
const ENTERPRISES = 50;
/** Rows that the database may read for one page, and for what the gateway reads by itself meanwhile. */
const MAX_ROWS = 1_000;
const PAGE = 20;

const ENCRYPTION_KEYS = newEncryptionKey();
const stack = useStack({
  database: 'postgres',
  environment: { ENCRYPTION_KEYS },
  callers: [
    { name: 'bound', scopes: ['orders:read'], enterprises: ['ent-1', 'ent-2'], channels: ['crm'] },
    { name: 'of-channel', scopes: ['orders:read'], enterprises: ['*'], channels: ['web'] },
  ],
});
const { sandbox, gateway } = stack;
const inDatabase = (statement: string, ...values: unknown[]) =>
  askDatabase(stack.databaseUrl(), statement, ...values);

beforeAll(() => fill(ORDERS));

const START = 1_700_000_000;

/** Writes orders as the gateway does, one a second, of one enterprise after the other. */
async function fill(count: number): Promise<void> {
  const { database } = settings({ ENCRYPTION_KEYS, UPSTREAM_BASE_URL: sandbox.url });
  const texts = new SealedTexts(database.encryptionKeys, database.platform);
  const details = Array.from({ length: count }, (_, index) => {
    const enterpriseGlobalId = `ent-${index % ENTERPRISES}`;
    const ordered = [{ sequence: 1, orderType: 'new_buy' as const, enterpriseGlobalId }];
    const order = ledgerOrder(`SO-${index}`, { ordered });
    return texts.seal(JSON.stringify({ caller: 'tester', order }), orderName('crm', `SO-${index}`));
  });
  await inDatabase(
    `INSERT INTO writes (platform, name, state, owner, fingerprint, caller, channel, enterprise_group, submitted_at,
      settled_at, lease_until, counted_on, size, details)
    SELECT $1, 'order/crm/SO-' || at - 1, 'succeeded', 'me', 'k:1', 'tester', 'crm', '=ent-' || (at - 1) % $2::bigint,
      ($3 + at - 1) * 1000, ($3 + at - 1) * 1000, ($3 + at - 1) * 1000, '2023-11-14', octet_length(sealed), sealed
    FROM unnest($4::text[]) WITH ORDINALITY AS given (sealed, at)`,
    ...[database.platform, ENTERPRISES, START, details],
  );
  await inDatabase(`
    INSERT INTO order_groups (platform, enterprise, enterprise_group, members)
    SELECT DISTINCT platform, substr(enterprise_group, 2), enterprise_group, 1 FROM writes`);
  await inDatabase(`
    INSERT INTO order_counts (platform, enterprise_group, channel, state, orders)
    SELECT platform, coalesce(enterprise_group, ''), coalesce(channel, ''), state, count(*) FROM writes
    GROUP BY GROUPING SETS ((platform, state), (platform, channel, state), (platform, enterprise_group, channel, state))`);
  // PostgreSQL does this by itself within a minute.
  await inDatabase('ANALYZE');
  // The two statements before read every order. They must not count for a page.
  await until(
    'the rows that these statements read are reported',
    async () => (await rowsRead()) >= 2 * count,
  );
}

/** How many rows of orders and entries of their indexes PostgreSQL has read. Connections report it a second later, or a little more. */
async function rowsRead(): Promise<number> {
  const [read] = await inDatabase(`
    SELECT sum(idx_tup_read) + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = 'writes'::regclass) AS rows
    FROM pg_stat_user_indexes WHERE relid = 'writes'::regclass`);
  return Number(read?.['rows']);
}

const at = (index: number) => new Date((START + index) * 1_000).toISOString();
const numbersOf = ({ body }: TestAnswer) =>
  (body['items'] as { channelOrderId: string }[]).map(({ channelOrderId }) =>
    Number(channelOrderId.slice(3)),
  );

describe('K37 a page of orders', () => {
  it.each(['first', 'middle', 'last'])(
    'of a bound caller costs as little in a large store: the %s',
    async (which) => {
      // The orders of two enterprises of fifty, the newest first.
      const own = Array.from({ length: ORDERS }, (_, index) => index)
        .filter((index) => [1, 2].includes(index % ENTERPRISES))
        .reverse();
      const pages = Math.ceil(own.length / PAGE);
      const page = { first: 1, middle: Math.ceil(pages / 2), last: pages }[which] as number;
      const before = await rowsRead();
      const key = gateway.keys['bound'] as string;
      const answer = await gateway.get(`/v1/license-orders?page=${page}&pageSize=${PAGE}`, { key });
      expect(answer.body).toMatchObject({ total: own.length, totalPages: pages });
      expect(numbersOf(answer)).toEqual(own.slice(PAGE * (page - 1), PAGE * page));
      let read = 0;
      await until('the rows are reported', async () => (read = (await rowsRead()) - before) >= 2 * PAGE);
      expect(read).toBeLessThan(MAX_ROWS);
    },
  );

  it('has the filters of the query, alone and together, names the next one, and is 304 where it is known', async () => {
    const query = `submittedAfter=${at(102)}&submittedBefore=${at(202)}`;
    expect((await gateway.get(`/v1/license-orders?${query}`)).body['total']).toBe(100);
    const own = `${query}&enterpriseGlobalId=ent-2&channelCode=crm&state=succeeded`;
    expect(numbersOf(await gateway.get(`/v1/license-orders?${own}`))).toEqual([152, 102]);
    expect((await gateway.get(`/v1/license-orders?${own}&page=9`)).body).toMatchObject({
      items: [],
      total: 2,
    });
    expect((await gateway.get(`/v1/license-orders?${query}&state=in_doubt`)).body['total']).toBe(0);
    expect((await gateway.get('/v1/license-orders?submittedAfter=yesterday')).status).toBe(400);
    const { body } = await gateway.get('/v1/license-orders', { key: gateway.keys['of-channel'] ?? '' });
    expect(body['total']).toBe(0);

    const path = '/v1/license-orders?pageSize=2';
    const { headers } = await gateway.get(path);
    expect(headers.get('link')).toContain(`<${path}&page=2>; rel="next"`);
    const known = { 'if-none-match': headers.get('etag') ?? '', 'cache-control': 'max-age=0' };
    expect((await gateway.get(path, { headers: known })).status).toBe(304);
    expect((await gateway.get(`${path}&page=2`, { headers: known })).status).toBe(200);
  });
});

it('K37 a page of the feed reads its own events only, however many there are', async () => {
  const pages = 8;
  const newest = 5_000;
  const { database } = await openDatabase(stack.databaseUrl(), {
    ...{ ENCRYPTION_KEYS, UPSTREAM_BASE_URL: sandbox.url },
  });
  const { platform } = settings({ ENCRYPTION_KEYS, UPSTREAM_BASE_URL: sandbox.url }).database;
  const feed = new EventStore(database);
  // PostgreSQL keeps the plans that it makes now.
  for (let page = 0; page < pages; page++) await feed.read(undefined, PAGE);
  await inDatabase(
    `INSERT INTO events (platform, number, kind, name, state, at, size, record)
     SELECT $1, n, 'order', 'order/crm/SO-' || n, 'succeeded', $3, 9, 'a record' FROM generate_series(1, $2::bigint) AS n`,
    ...[platform, newest, Date.now()],
  );
  await inDatabase(`UPDATE numbers SET value = $1 WHERE name = 'feed'`, newest);
  for (let page = 0; page < pages; page++)
    expect((await feed.read(String(newest - PAGE).padStart(15, '0'), PAGE)).found).toHaveLength(PAGE);
  // A connection reports what it has read when it ends.
  await database.close();
  let read = 0;
  await until('the rows are reported', async () => {
    const [found] = await inDatabase(`
      SELECT idx_tup_read AS rows FROM pg_stat_user_indexes WHERE relid = 'events'::regclass`);
    read = Number(found?.['rows']);
    return read >= pages * PAGE;
  });
  // The gateway looks for old events, too.
  expect(read).toBeLessThan((pages * newest) / 2);
});
