import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { newEncryptionKey } from '../support/canary.ts';
import { databaseInit } from '../support/database.ts';
import { Fleet } from '../support/fleet.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { playRounds } from '../support/maintenance-rounds.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { askDatabase, postgresUrl } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { useSandbox, useStack } from '../support/stack.ts';

/** An operator stops orders, writes or all calls of the platform for a while. */

const MAINTENANCE = '/v1/maintenance';
const ORDERS = '/v1/license-orders';
const HARBOUR = '/v1/enterprises/ent-harbour';
const NOTHING = { active: false, stops: null, from: null, until: null, reason: null, by: null };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const postgres = await postgresUrl();

let numbers = 0;
const newOrder = () => orderOf(`SO-${++numbers}`);
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const callers = [
  { name: 'reader', scopes: ['orders:read'], enterprises: ['*'], channels: ['*'], users: ['*'] },
];

describe('maintenance', () => {
  const { sandbox, gateway } = useStack({ callers, environment: { CACHE_TTL_MS: '60000' } });

  const set = (terms: object) => gateway.request('PUT', MAINTENANCE, { body: terms });
  const stop = async (stops: string, over: object = {}) => {
    const { status, body } = await set({
      stops,
      until: inMs(HOUR),
      reason: 'the platform is updated',
      ...over,
    });
    expect([status, body]).toEqual([200, expect.objectContaining({ stops, by: 'tester' })]);
    return body;
  };
  const end = async () => expect((await gateway.request('DELETE', MAINTENANCE)).status).toBe(204);
  afterEach(end);

  const codeOf = async (answer: ReturnType<typeof gateway.get>) => {
    const { status, body } = await answer;
    return [status, body['code'] ?? 'served'];
  };
  const STOPPED = [503, 'maintenance'];
  const write = () =>
    gateway.request('PATCH', `${HARBOUR}/members/mem-harbour-anna`, {
      body: { account: 'anna', name: 'Anna' },
    });
  const login = () =>
    gateway.post('/v1/sessions', { username: 'admin@harbour', password: sandbox.seedPassword });

  it('is none, is set with what callers are told, is shown to every caller, and ends', async () => {
    const shown = async () =>
      (await gateway.get(MAINTENANCE, { key: gateway.keys['reader'] as string })).body;
    expect(await shown()).toEqual(NOTHING);
    const body = await stop('orders');
    expect(body).toEqual({
      ...{ active: true, stops: 'orders', reason: 'the platform is updated', by: 'tester' },
      ...{ from: expect.any(String), until: expect.any(String) },
    });
    expect(await shown()).toEqual(body);
    expect((await gateway.get('/v1/callers/me')).body['maintenance']).toEqual(body);
    await end();
    expect(await shown()).toEqual(NOTHING);
    expect(await codeOf(gateway.post(ORDERS, newOrder()))).toEqual([201, 'served']);
  });

  it.each([
    ['orders', { order: STOPPED, write: [204, 'served'], read: [200, 'served'], login: [201, 'served'] }],
    ['writes', { order: STOPPED, write: STOPPED, read: [200, 'served'], login: [201, 'served'] }],
    ['all', { order: STOPPED, write: STOPPED, read: STOPPED, login: STOPPED }],
  ])('that stops %s stops just that, and nothing reaches the platform', async (stops, expected) => {
    const assets = `${HARBOUR}/assets`;
    await gateway.get(assets);
    await stop(stops);
    const before = (await sandbox.calls()).length;
    const preview = newOrder();
    expect({
      order: await codeOf(gateway.post(ORDERS, newOrder())),
      write: await codeOf(write()),
      read: await codeOf(gateway.get(`${HARBOUR}/lent-locks`, { headers: { 'cache-control': 'no-cache' } })),
      login: await codeOf(login()),
    }).toEqual(expected);
    expect(await codeOf(gateway.post(`${ORDERS}/dry-run`, preview))).toEqual(STOPPED);
    // What is cached, own records and what the caller may do go on.
    for (const path of [assets, ORDERS, '/v1/events', '/v1/jobs', '/v1/callers/me', '/health/ready'])
      expect([path, (await gateway.get(path)).status]).toEqual([path, 200]);
    if (stops === 'all') expect(await sandbox.calls()).toHaveLength(before);
  });

  it('says until when, as time and as Retry-After, and leaves no record: the same order is placed afterwards', async () => {
    await stop('orders', { until: inMs(10 * 60_000) });
    const order = newOrder();
    const { status, body, headers } = await gateway.post(ORDERS, order);
    expect([status, body['outcome'], body['retryable']]).toEqual([503, 'not_processed', true]);
    expect(body['detail']).toContain('the platform is updated');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(590);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(600);
    expect((await gateway.get(`${ORDERS}/crm/${order.channelOrderId}`)).status).toBe(404);
    await end();
    expect((await gateway.post(ORDERS, order)).status).toBe(201);
  });

  it('a repeated order gets its record, and a repeated write with a key its response', async () => {
    const order = newOrder();
    expect((await gateway.post(ORDERS, order)).status).toBe(201);
    const reserve = () =>
      gateway.post(
        '/v1/asset-num-reservations',
        { size: 1 },
        { headers: { 'idempotency-key': 'maintenance-0001' } },
      );
    const first = await reserve();
    await stop('all');
    const repeated = await gateway.post(ORDERS, order);
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    const again = await reserve();
    expect([again.status, again.body]).toEqual([201, first.body]);
  });

  it('that is to come stops nothing yet, is shown, and begins by itself', async () => {
    const from = inMs(1_500);
    expect(await stop('orders', { from })).toMatchObject({ active: false, from });
    expect((await gateway.post(ORDERS, newOrder())).status).toBe(201);
    await until('it has begun', async () => (await gateway.get(MAINTENANCE)).body['active'] === true);
    expect(await codeOf(gateway.post(ORDERS, newOrder()))).toEqual(STOPPED);
    await stop('orders', { until: inMs(1_000) });
    await until('it is over', async () => (await gateway.post(ORDERS, newOrder())).status === 201);
    expect((await gateway.get(MAINTENANCE)).body).toEqual(NOTHING);
  });

  it('an import is accepted and waits, and goes on by itself', async () => {
    await stop('writes');
    const csv = `account,password,name\nm${Date.now()},Passw0rd-long,Wait\n`;
    const made = await gateway.request('POST', `${HARBOUR}/member-imports`, {
      body: csv,
      headers: { 'content-type': 'text/csv' },
    });
    expect(made.status).toBe(202);
    const job = async () => (await gateway.get(`/v1/jobs/${String(made.body['jobId'])}`)).body;
    const writes = async () =>
      (await sandbox.calls()).filter(({ operation }) => operation === 'addMembers').length;
    const before = await writes();
    await until('a look has passed', async () =>
      /gateway_jobs\{state="queued"\} 1/.test(await gateway.metrics()),
    );
    expect([(await job())['state'], await writes()]).toEqual(['queued', before]);
    await end();
    await until('it is done', async () => (await job())['state'] === 'succeeded');
  });

  it('a running import pauses within a second, and goes on by itself', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 150 } });
    const names = [...Array(1_500).keys()].map((index) => `p${Date.now()}x${index}`);
    const made = await gateway.request('POST', `${HARBOUR}/member-imports`, {
      body: ['account,password,name', ...names.map((name) => `${name},Passw0rd-long,Pause`), ''].join('\n'),
      headers: { 'content-type': 'text/csv' },
    });
    const job = async () => (await gateway.get(`/v1/jobs/${String(made.body['jobId'])}`)).body;
    const calls = () => sandbox.journal('addMembers');
    await until('it runs', async () => (await calls()).length >= 2);
    const window = await stop('writes', { until: inMs(3_000) });
    await until('it is done', async () => (await job())['state'] === 'succeeded');
    const [from, ends] = [window['from'], window['until']].map((time) => Date.parse(String(time)));
    const times = (await calls()).map(({ at }) => Date.parse(at));
    expect(times.filter((at) => at > Number(from) + 1_000 && at < Number(ends))).toEqual([]);
    expect(times.filter((at) => at >= Number(ends)).length).toBeGreaterThan(0);
    expect((await job())['done']).toBe(1_500);
  });

  it('a running import that is cancelled meanwhile ends at once, with true rows', async () => {
    const hangs = await sandbox.fault({ operation: 'addMembers', skip: 2, action: { hang: true } });
    const names = [...Array(600).keys()].map((index) => `c${Date.now()}x${index}`);
    const made = await gateway.request('POST', `${HARBOUR}/member-imports`, {
      body: ['account,password,name', ...names.map((name) => `${name},Passw0rd-long,Cancel`), ''].join('\n'),
      headers: { 'content-type': 'text/csv' },
    });
    const path = `/v1/jobs/${String(made.body['jobId'])}`;
    const calls = () => sandbox.journal('addMembers');
    await until('it runs', async () => (await calls()).length === 4);
    await stop('writes');
    await until('the gateway knows it', async () => (await write()).status === 503);
    expect((await gateway.request('DELETE', path)).status).toBe(202);
    // The calls under way are cut off.
    await sandbox.heal(hangs);
    await sandbox.control('PUT', '/state', await sandbox.control<object>('GET', '/state'));
    const job = async () => (await gateway.get(path)).body;
    await until('it has ended', async () => (await job())['state'] === 'cancelled');
    expect(await job()).toMatchObject({ succeeded: 200, failed: 0, unknown: 0 });
    expect(await calls()).toHaveLength(4);
    expect((await gateway.get(MAINTENANCE)).body).toMatchObject({ active: true, stops: 'writes' });
  });

  it.each([
    [{ until: inMs(-1_000) }, '/until', 'must be in the future'],
    [{ until: inMs(8 * DAY) }, '/until', 'must be at most 7 days from now'],
    [{ from: inMs(2 * HOUR), until: inMs(HOUR) }, '/from', 'must be before `until`'],
    [{ stops: 'reads' }, '/stops', expect.stringContaining('orders')],
    [{ reason: '' }, '/reason', expect.anything()],
    [{ until: undefined }, '/until', expect.anything()],
  ])('refuses %j, and changes nothing', async (over, pointer, detail) => {
    const { status, body } = await set({ stops: 'orders', until: inMs(HOUR), reason: 'x', ...over });
    expect([status, body['errors']]).toEqual([400, [{ pointer, detail }]]);
    expect((await gateway.get(MAINTENANCE)).body).toEqual(NOTHING);
  });

  it('needs the scope operate', async () => {
    const key = { key: gateway.keys['reader'] as string };
    expect((await gateway.request('DELETE', MAINTENANCE, key)).status).toBe(403);
  });
});

describe('an order and an operator at the same moment', () => {
  const { gateway } = useStack({
    environment: { DATABASE_URL: postgres, ENCRYPTION_KEYS: newEncryptionKey() },
  });
  const SET = `INSERT INTO maintenance (platform, stops, starts_at, ends_at, reason, set_by)
    SELECT platform, 'orders', now, now + 3600000, 'the platform is updated', 'operator'
    FROM (SELECT platform, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now FROM numbers LIMIT 1) AS one`;
  const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended(platform || ' maintenance', 0)) FROM numbers LIMIT 1`;
  const WAITS = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;

  /** The response to an order that begins while the operator sets the maintenance, and waits for it. */
  async function orderMeanwhile(operator: Client): Promise<TestAnswer> {
    await operator.query('BEGIN');
    await operator.query(LOCK);
    const answer = gateway.post(ORDERS, newOrder());
    await until('the order waits', async () => (await askDatabase(postgres, WAITS)).length > 0);
    await operator.query(SET);
    await operator.query('COMMIT');
    return answer;
  }

  it('D44 an order that waits for the lock of the operator decides by the time at which it has it, and does not begin', async () => {
    expect((await onceServed(() => gateway.post(ORDERS, newOrder()))).status).toBe(201);
    const operator = new Client(postgres);
    await operator.connect();
    let answer = await orderMeanwhile(operator);
    // An order waits for 250 ms at most, and a slow machine needs longer.
    while (answer.body['code'] === 'dependency-unavailable') {
      await operator.query('DELETE FROM maintenance');
      answer = await orderMeanwhile(operator);
    }
    expect([answer.status, answer.body['code']]).toEqual([503, 'maintenance']);
    await operator.end();
  });
});

describe('a database that is slow to show the window', () => {
  const { gateway } = useStack({
    environment: { DATABASE_URL: postgres, ENCRYPTION_KEYS: newEncryptionKey() },
  });
  const WAIT = `SELECT 1 FROM pg_locks WHERE relation = 'maintenance'::regclass AND NOT granted`;

  it('D58 holds up the callers who ask for the window, and no writes', async () => {
    const csv = { 'content-type': 'text/csv' };
    const other = new Client(postgres);
    await other.connect();
    await onceServed(() => gateway.get(MAINTENANCE));
    await other.query('BEGIN; LOCK TABLE maintenance IN ACCESS EXCLUSIVE MODE');
    const asked = Array.from({ length: 50 }, () => gateway.get(MAINTENANCE));
    await until('some of them wait', async () => (await askDatabase(postgres, WAIT)).length > 1);
    const rows = 'account,name,password\nnew1,New,Secret-1\n';
    const imported = await gateway.post(`${HARBOUR}/member-imports`, rows, { headers: csv });
    expect([imported.status, imported.body['code']]).toEqual([202, undefined]);
    await other.end();
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200);
  });
});

describe('a database that was never made ready', () => {
  const stack = useStack({ database: 'file', environment: { DATABASE_INIT: 'manual' } });
  const { gateway } = stack;

  it('D58 does not tell whether something is stopped: no caller is told that nothing is, but what the operator has to do', async () => {
    const write = () => gateway.request('PATCH', '/v1/crm-customers/CRM-1001', { body: { address: 'x' } });
    for (const answer of [gateway.get(MAINTENANCE), gateway.get('/v1/callers/me'), write()]) {
      const { status, body } = await answer;
      expect([status, body]).toMatchObject([
        503,
        { code: 'dependency-unavailable', detail: expect.stringContaining('`npm run database-init`') },
      ]);
    }
    const stateOfConsole = async () =>
      (await (await fetch(`${gateway.managementUrl}/console/state`)).json()) as Record<string, unknown>;
    expect(await stateOfConsole()).toMatchObject({
      isMaintenanceKnown: false,
      attention: expect.arrayContaining([
        expect.objectContaining({ title: expect.stringMatching(/^Not known: .*the maintenance/) }),
      ]),
    });
    expect((await databaseInit(stack.databaseUrl(), '--yes')).code).toBe(0);
    await until('the gateway has read it', async () => (await gateway.get(MAINTENANCE)).status === 200);
    expect((await gateway.get('/v1/callers/me')).body['maintenance']).toEqual(NOTHING);
  });
});

describe('three gateways', () => {
  const sandbox = useSandbox();
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await Fleet.start(sandbox, 3);
  });
  afterAll(() => fleet.stop());

  it('begin no order after setMaintenance has answered, also when one is killed', async () => {
    const { placed, stopped, begunInside } = await playRounds(fleet, 20);
    expect(begunInside).toEqual([]);
    expect(placed).toBeGreaterThan(0);
    expect(stopped).toBeGreaterThan(0);
  });

  it('stop writes and reads soon, and keep what was set over restarts', async () => {
    const terms = { stops: 'all', until: inMs(HOUR), reason: 'restarts' };
    expect((await fleet.request('PUT', 0, MAINTENANCE, terms)).status).toBe(200);
    const read = (gateway: number) => fleet.get(gateway, `${HARBOUR}/lent-locks`);
    const setAt = performance.now();
    for (const gateway of [1, 2])
      await until('it is stopped', async () => (await read(gateway)).status === 503);
    // Within a second where the machine has time; this bound leaves room for one that is ten times slower.
    expect(performance.now() - setAt).toBeLessThan(10_000);
    await fleet.gateways[2]?.stop();
    await fleet.launch({}, undefined, 2);
    expect((await read(2)).body['code']).toBe('maintenance');
    expect((await fleet.request('DELETE', 2, MAINTENANCE)).status).toBe(204);
    await until('it is served', async () => (await read(0)).status === 200);
  });
});
