import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from '@jest/globals';
import { MAX_RECORD_BYTES } from '../../src/budgets/state/use-store.ts';
import { scopes } from '../../src/request/scopes.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { whenClosed } from '../support/socket.ts';
import { useStack } from '../support/stack.ts';

/** What the large orders of one caller cost the others. */

const rights = { scopes: [...scopes], enterprises: ['*'], channels: ['*'], users: ['*'] };
const stack = useStack({
  database: 'file',
  environment: { ESTATE_REFRESH: '6h' },
  callers: [
    { name: 'greedy', ...rights },
    { name: 'modest', ...rights },
  ],
});
const { sandbox, gateway } = stack;

let numbers = 0;
const newNumber = () => `SO-large-${++numbers}`;
const as = (name: string) => ({ key: gateway.keys[name] as string });
const order = (caller: string, number = newNumber(), over = {}) =>
  onceServed(() => gateway.post('/v1/license-orders', orderOf(number, over), as(caller)));
const large = () => ({ items: Array.from({ length: 1_000 }, () => orderOf('').items[0]) });

/** Reads the file as another process sees it. */
function inDatabase<T>(ask: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(stack.databaseUrl().slice('sqlite:'.length), { timeout: 10_000 });
  try {
    return ask(database);
  } finally {
    database.close();
  }
}

it('S31 A caller reads pages of large orders, many at once: a page has what fits, and the orders of another caller go on', async () => {
  for (let each = 0; each < 20; each++)
    expect((await order('greedy', newNumber(), large())).status).toBe(201);
  const { body, text } = await gateway.get('/v1/events?limit=500', as('greedy'));
  expect((body['items'] as object[]).length).toBeGreaterThan(1);
  // A page has the bytes of one read, and goes on with the event after its last.
  const seen: string[] = [];
  for (let after = ''; ; after = `&after=${seen.at(-1)}`) {
    const part = await gateway.get(`/v1/events?limit=1000${after}`, as('greedy'));
    expect(Buffer.byteLength(part.text)).toBeLessThan(1.5 * 1024 * 1024);
    const ids = (part.body['items'] as { id: string }[]).map(({ id }) => id);
    if (ids.length === 0) break;
    expect(part.body['next']).toBe(ids.at(-1));
    seen.push(...ids);
  }
  // Each event of the database, which none of another caller is in so far.
  expect(seen.map(Number)).toEqual(Array.from(seen, (_, at) => at + 1));
  expect(seen.length).toBeGreaterThanOrEqual(20);
  const pages = Array.from({ length: 20 }, () => gateway.get('/v1/events?limit=500', as('greedy')));
  const statuses: number[] = [];
  for (let each = 0; each < 5; each++) statuses.push((await order('modest')).status);
  expect(new Set(statuses)).toEqual(new Set([201]));
  for (const page of await Promise.all(pages)) expect(page.status).toBe(200);
  expect(gateway.logLines.filter((line) => /"event":"database-(away|stopped)"/.test(line))).toEqual([]);
  expect(Buffer.byteLength(text)).toBeLessThan(4 * 1024 * 1024);
});

it('S36 A caller does not read a large page of orders: its other lists go on, and an export before the page on its connection ends', async () => {
  for (let each = 0; each < 12; each++)
    expect((await order('greedy', newNumber(), large())).status).toBe(201);
  const page = '/v1/license-orders?pageSize=100';
  const { text } = await gateway.get(page, as('greedy'));
  expect(Buffer.byteLength(text)).toBeGreaterThan(1024 * 1024);
  const { hostname, port } = new URL(gateway.url);
  const sockets: Socket[] = [];
  /** Asks for all of these on one connection, without waiting for a response. */
  const ask = (...requests: readonly string[]) => {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    let got = '';
    socket.on('data', (chunk: Buffer) => (got += chunk.toString('latin1')));
    const head = `HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${as('greedy').key}`;
    socket.write(requests.map((request) => request.replace('\n', ` ${head}\r\n`) + '\r\n\r\n').join(''));
    return { got: () => got, closed: whenClosed(socket) };
  };
  try {
    const exported = ask('GET /v1/estate\naccept: text/csv', `GET ${page}\nconnection: close`);
    await exported.closed;
    expect(exported.got().match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    // The page is sent after the stream, which has no end.
    const watched = ask('GET /v1/events/stream\naccept: text/event-stream', `GET ${page}\naccept: */*`);
    await until('the stream is open', () => watched.got().includes(': open'));
    for (let each = 0; each < 20; each++)
      expect((await gateway.get('/v1/events?limit=500', as('greedy'))).status).toBe(200);
    expect(watched.got().match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

it('S32 An order that the platform refuses keeps no items, and a caller that fills its bytes is refused alone', async () => {
  await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
  const refused = newNumber();
  expect((await order('greedy', refused, large())).status).toBe(422);
  const record = await gateway.get(`/v1/license-orders/crm/${refused}`, as('greedy'));
  expect(record.body).toMatchObject({ state: 'rejected', items: [] });
  const size = inDatabase((database) =>
    database.prepare('SELECT size FROM writes WHERE name = ?').get(`order/crm/${refused}`),
  );
  expect(Number(size?.['size'])).toBeLessThan(1_000);

  inDatabase((database) =>
    database
      .prepare("UPDATE uses SET used = ? WHERE caller = 'greedy' AND kind = 'bytes'")
      .run(MAX_RECORD_BYTES),
  );
  const sent = (await sandbox.journal('batchOrder')).length;
  const full = await order('greedy');
  expect([full.status, full.body]).toMatchObject([
    429,
    { code: 'too-many-requests', outcome: 'not_processed', detail: expect.stringContaining('256 MiB') },
  ]);
  expect(full.headers.has('retry-after')).toBe(true);
  expect((await sandbox.journal('batchOrder')).length).toBe(sent);
  expect((await order('modest')).status).toBe(201);
});

it('K41 A caller whose writes with a key have too many bytes is told how long they stay, and its writes without a key are served', async () => {
  const reserve = (headers: Record<string, string>) =>
    gateway.post('/v1/asset-num-reservations', { size: 1 }, { ...as('greedy'), headers });
  const keyed = () => reserve({ 'idempotency-key': `key-of-${randomUUID()}` });
  expect((await keyed()).status).toBe(201);
  inDatabase((database) =>
    database
      .prepare("UPDATE uses SET used = ? WHERE caller = 'greedy' AND kind = 'keyed-bytes'")
      .run(MAX_RECORD_BYTES),
  );
  const full = await keyed();
  expect([full.status, full.body]).toMatchObject([
    429,
    { code: 'too-many-requests', detail: expect.stringContaining('Idempotency-Key') },
  ]);
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(5 * 86_400);
  expect((await reserve({})).status).toBe(201);
});
