import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { Blackhole, FaultProxy } from '../support/fault-proxy.ts';
import { Fleet } from '../support/fleet.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, freePort, type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { whenClosed } from '../support/socket.ts';

/**
 * What faults do to orders: the part of the catalogue's rows about the record of an order. With every fault, an order is sent at most
 * once, and its reported state is true.
 */

const ENCRYPTION_KEYS = newEncryptionKey();
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const DAY_MS = 24 * 3_600 * 1_000;
const RECORD = '{*:guard}:order/crm/';

let sandbox: TestSandbox;
const { atEnd, ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset({ tokens: true }));
afterAll(() => sandbox.close());

const gatewayWith = async (environment: Record<string, string> = {}) =>
  ended(await startInProcess(sandbox, { UPSTREAM_ORDER_DEADLINE_MS: '10000', ...environment }));
const newRedis = async (...args: string[]) => ended(await startRedis(args));
const withStore = ({ url }: { url: string }, environment: Record<string, string> = {}) =>
  gatewayWith({ GUARD_REDIS_URL: url, ENCRYPTION_KEYS, ...environment });
const comesBack = async ({ port, folder }: RunningRedis) =>
  ended(await startRedis([...DURABLE, '--port', String(port), '--dir', folder]));

async function proxyTo(port: number): Promise<FaultProxy> {
  const proxy = await FaultProxy.start(port);
  atEnd(() => proxy.close());
  return proxy;
}

let numbers = 0;
const newNumber = () => `SO-F${++numbers}`;

interface Asked {
  post(path: string, body: unknown): Promise<TestAnswer>;
  get(path: string): Promise<TestAnswer>;
}
const place = (gateway: Asked, number: string) => gateway.post('/v1/license-orders', orderOf(number));
/** With a store that is there. */
const placed = (gateway: Asked, number: string) => onceServed(() => place(gateway, number));
const stateOf = async (gateway: Asked, number: string) =>
  (await onceServed(() => gateway.get(`/v1/license-orders/crm/${number}`))).body['state'];
const becomes = (gateway: Asked, number: string, state: string) =>
  until(`${number} is ${state}`, async () => (await stateOf(gateway, number)) === state);
const commitsOf = async (number: string) =>
  (await sandbox.commits()).filter(({ channelOrderId }) => channelOrderId === number).length;
const sends = async () => (await sandbox.journal('batchOrder')).length;

const DOWN = { code: 'dependency-unavailable', outcome: 'not_processed', retryable: true };

function expectRefused(answer: TestAnswer): void {
  expect(answer.status).toBe(503);
  expect(answer.body).toMatchObject(DOWN);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
}

/** One process of a fleet, with the interface of a gateway in this process. */
const at = (fleet: Fleet, index: number): Asked => ({
  get: (path) => fleet.get(index, path) as Promise<TestAnswer>,
  post: (path, body) => fleet.post(index, path, body) as Promise<TestAnswer>,
});

describe('on the way to the platform', () => {
  it('U1 a refused connection leaves the number free', async () => {
    const proxy = await proxyTo(Number(new URL(sandbox.url).port));
    const gateway = await gatewayWith({ UPSTREAM_BASE_URL: proxy.url });
    await proxy.add({ toxic: 'down' });
    const number = newNumber();
    const refused = await place(gateway, number);
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({
      code: 'upstream-unavailable',
      outcome: 'not_processed',
      retryable: true,
    });
    expect(await stateOf(gateway, number)).toBe('not_sent');
    await proxy.clear();
    expect((await placed(gateway, number)).status).toBe(201);
    expect(await commitsOf(number)).toBe(1);
  });

  it.each<[string, object]>([
    ['U6 a reset after it was carried out', { reset: 'before-headers' }],
    ['U7 an end of the connection after it was carried out', { close: 'before-headers' }],
    ['U9 a reset in the answer', { reset: 'mid-body' }],
    ['U10 an answer cut short', { truncate: 10, framing: 'length' }],
    ['U11 an answer in chunks without the last', { truncate: 10, framing: 'chunked' }],
    ['U12 an answer that only its JSON shows to be cut', { truncate: 10, framing: 'close' }],
    ['U17 an error page', { html: true, httpStatus: 500 }],
    ['U18 a bad gateway', { httpStatus: 502 }],
  ])('%s is in doubt, with the same response ever after, and never sent again', async (_, action) => {
    const gateway = await gatewayWith();
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action });
    const number = newNumber();
    const first = await placed(gateway, number);
    expect(first.status).toBe(502);
    expect(first.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: false });
    expect(first.headers.get('location')).toBe(`/v1/license-orders/crm/${number}`);
    expect(await stateOf(gateway, number)).toBe('in_doubt');
    const again = await place(gateway, number);
    const { requestId: _one, ...body } = first.body;
    expect(again.status).toBe(502);
    expect(again.body).toMatchObject(body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  it('U8 each order has a connection of its own, so the platform closes none during it', async () => {
    const proxy = await proxyTo(Number(new URL(sandbox.url).port));
    const gateway = await gatewayWith({ UPSTREAM_BASE_URL: proxy.url });
    for (let each = 0; each < 5; each++) expect((await placed(gateway, newNumber())).status).toBe(201);
    expect(proxy.connections).toBe(5);
  });

  it('U15 a response after the deadline settles the order', async () => {
    const gateway = await gatewayWith({ UPSTREAM_ORDER_DEADLINE_MS: '2000' });
    // The token is there before the order's time begins.
    expect((await gateway.get('/v1/enterprises/ent-harbour/assets')).status).toBe(200);
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 5_000 } });
    const number = newNumber();
    const late = await place(gateway, number);
    expect(late.status).toBe(504);
    expect(late.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown' });
    expect(await stateOf(gateway, number)).toBe('in_doubt');
    await becomes(gateway, number, 'succeeded');
    const replayed = await place(gateway, number);
    expect(replayed.status).toBe(201);
    expect(replayed.headers.get('idempotent-replayed')).toBe('true');
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  it('U29 an open breaker refuses an order before the gateway records anything', async () => {
    const gateway = await gatewayWith();
    await sandbox.fault({ operation: 'batchOrder', phase: 'before', action: { httpStatus: 503 } });
    for (let each = 0; each < 25; each++) await place(gateway, newNumber());
    // On a slow machine some are probes, which the breaker lets through.
    let number = '';
    let refused: TestAnswer | undefined;
    await until('an order is no probe', async () => {
      const before = await sends();
      refused = await place(gateway, (number = newNumber()));
      return (await sends()) === before;
    });
    expect(refused?.body).toMatchObject({ code: 'upstream-unavailable', outcome: 'not_processed' });
    expect((await gateway.get(`/v1/license-orders/crm/${number}`)).body).toMatchObject({
      code: 'order-not-found',
    });
  });
});

describe('in the response', () => {
  it.each<[string, object]>([
    ['C12 success without data', { patch: { data: null } }],
    [
      'C13 success with a sequence that the order does not have',
      { patch: { data: [{ sequence: 7, licenseOrderId: '1' }] } },
    ],
  ])('%s is incomplete: processed, reported to operators, and never sent again', async (_, action) => {
    const gateway = await gatewayWith();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action });
    const number = newNumber();
    const first = await placed(gateway, number);
    expect(first.status).toBe(502);
    expect(first.body).toMatchObject({ code: 'outcome-unknown', outcome: 'processed', retryable: false });
    const record = await gateway.get(`/v1/license-orders/crm/${number}`);
    expect(record.body).toMatchObject({ state: 'incomplete' });
    expect(record.body['items']).toMatchObject([{ sequence: 1, licenseOrderId: null }]);
    expect((await place(gateway, number)).body).toMatchObject({ outcome: 'processed' });
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
    expect((await gateway.log()).join('\n')).toContain('"event":"order-in-doubt"');
  });
});

describe('in the order store', () => {
  it('R1 down at start: orders are refused, and placed once it is up', async () => {
    const port = await freePort();
    const gateway = await withStore({ url: `redis://127.0.0.1:${port}` });
    const number = newNumber();
    expectRefused(await place(gateway, number));
    expect(await sends()).toBe(0);
    await newRedis('--port', String(port), ...DURABLE);
    await until('orders are placed', async () => (await place(gateway, number)).status === 201);
    expect(await commitsOf(number)).toBe(1);
  });

  it('R2 killed: refused in time with nothing sent, and placed when it is up again', async () => {
    const redis = await newRedis(...DURABLE);
    const gateway = await withStore(redis);
    expect((await placed(gateway, newNumber())).status).toBe(201);
    await redis.kill9();
    const number = newNumber();
    const started = performance.now();
    expectRefused(await place(gateway, number));
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await sends()).toBe(1);
    await comesBack(redis);
    await until('orders are placed', async () => (await place(gateway, number)).status === 201);
    expect(await commitsOf(number)).toBe(1);
  });

  it('R3 frozen: refused in time with nothing sent, and the number is not lost', async () => {
    const redis = await newRedis(...DURABLE);
    const gateway = await withStore(redis);
    expect((await placed(gateway, newNumber())).status).toBe(201);
    redis.freeze();
    const number = newNumber();
    const started = performance.now();
    expectRefused(await place(gateway, number));
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await sends()).toBe(1);
    redis.thaw();
    await until('orders are placed', async () => (await place(gateway, number)).status === 201);
    expect(await commitsOf(number)).toBe(1);
  });

  it('R6 reset before its reply: a process does not block its own order', async () => {
    const redis = await newRedis(...DURABLE);
    const proxy = await proxyTo(redis.port);
    const gateway = await withStore({ url: `redis://127.0.0.1:${proxy.port}` });
    expect((await placed(gateway, newNumber())).status).toBe(201);
    await proxy.add({ toxic: 'reset_peer', direction: 'downstream', ms: 0 });
    const number = newNumber();
    expectRefused(await place(gateway, number));
    await proxy.clear();
    await until('the order is placed', async () => (await place(gateway, number)).status === 201);
    expect(await commitsOf(number)).toBe(1);
  });

  it('R7 killed during the order: the response is true, and the record follows', async () => {
    const redis = await newRedis(...DURABLE);
    const gateway = await withStore(redis);
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 1_000 } });
    const number = newNumber();
    const response = placed(gateway, number);
    await until('it is sent', async () => (await sandbox.spoiled()) === 1);
    await redis.kill9();
    const answer = await response;
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ state: 'succeeded' });
    await comesBack(redis);
    await becomes(gateway, number, 'succeeded');
    expect((await placed(gateway, number)).headers.get('idempotent-replayed')).toBe('true');
    expect(await commitsOf(number)).toBe(1);
  });

  it('R9 emptied: orders stop until an operator says so', async () => {
    const redis = await newRedis(...DURABLE);
    const gateway = await withStore(redis);
    const before = newNumber();
    expect((await placed(gateway, before)).status).toBe(201);
    const canary = await ask(redis, async (client) => (await client.keys('*:guard}:epoch'))[0] ?? '');
    await ask(redis, (client) => client.flushall());
    for (const number of [before, newNumber()]) expectRefused(await place(gateway, number));
    expect(await sends()).toBe(1);
    await ask(redis, (client) => client.set(canary, 'operator:confirmed'));
    await until('orders are placed', async () => (await place(gateway, newNumber())).status === 201);
  });

  it('R10 a command denied: refused', async () => {
    const redis = await newRedis(...DURABLE);
    const password = newSecret('r');
    await ask(redis, (client) =>
      client.call('ACL', 'SETUSER', 'guard', 'on', `>${password}`, '~*', '+@all', '-eval', '-evalsha'),
    );
    const gateway = await withStore({ url: `redis://guard:${password}@127.0.0.1:${redis.port}` });
    expectRefused(await place(gateway, newNumber()));
    expect(await sends()).toBe(0);
    expect((await gateway.log()).join('\n')).not.toContain(password);
  });

  it('R11 out of memory: refused', async () => {
    const redis = await newRedis(...DURABLE);
    const gateway = await withStore(redis);
    await ask(redis, (client) => client.config('SET', 'maxmemory', '1'));
    expectRefused(await place(gateway, newNumber()));
    expect(await sends()).toBe(0);
  });

  it('R12 that evicts: the gateway refuses to start, and names the setting', async () => {
    const redis = await newRedis('--maxmemory-policy', 'allkeys-lru', ...DURABLE);
    await expect(withStore(redis)).rejects.toThrow(/GUARD_REDIS_URL.*maxmemory-policy noeviction/);
    await until('every connection of the refused start is closed', () =>
      ask(redis, async (client) => (await client.info('clients')).includes('connected_clients:1\r')),
    );
  });

  it.each<[string, (redis: RunningRedis, key: string) => Promise<unknown>]>([
    [
      'R13 a record that does not open',
      (redis, key) => ask(redis, (client) => client.hset(key, 'details', 'v1.k1.AAAA')),
    ],
    [
      'R14 another type in the place of a record',
      (redis, key) => ask(redis, (client) => client.set(key, 'text')),
    ],
    [
      'P16 a record of another version',
      (redis, key) => ask(redis, (client) => client.hset(key, 'version', '2')),
    ],
  ])('%s is 503, never a miss', async (_, spoil) => {
    const redis = await newRedis(...DURABLE);
    const gateway = await withStore(redis);
    const number = newNumber();
    expect((await placed(gateway, number)).status).toBe(201);
    const key = await ask(redis, async (client) => (await client.keys(RECORD + number))[0] ?? '');
    await spoil(redis, key);
    expectRefused(await place(gateway, number));
    expect(await sends()).toBe(1);
  });

  it('R15 made a replica: refused', async () => {
    const master = await newRedis(...DURABLE);
    const redis = await newRedis(...DURABLE);
    const gateway = await withStore(redis);
    expect((await placed(gateway, newNumber())).status).toBe(201);
    await ask(redis, (client) => client.replicaof('127.0.0.1', master.port));
    expectRefused(await place(gateway, newNumber()));
    expect(await sends()).toBe(1);
  });
});

describe('of the process', () => {
  const HASTY = { UPSTREAM_ORDER_DEADLINE_MS: '3000' };

  async function fleetOf(
    count: number,
    environment: Record<string, string> = {},
    how: { disturbed?: boolean } = {},
  ): Promise<Fleet> {
    return ended(await Fleet.start(sandbox, count, { environment, how }));
  }

  it('P1 told to stop during an order: the order finishes and gets its response', async () => {
    const fleet = await fleetOf(1);
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 2_000 } });
    const number = newNumber();
    const response = placed(at(fleet, 0), number);
    await until('it is sent', async () => (await sandbox.spoiled()) === 1);
    fleet.gateways[0]?.child.kill('SIGTERM');
    expect((await response).status).toBe(201);
    expect(await fleet.gateways[0]?.ended).toBe(0);
    expect(await commitsOf(number)).toBe(1);
  });

  it('P2 told to stop during an order that does not end: 504, and in doubt for the remaining processes', async () => {
    const fleet = await fleetOf(2, { UPSTREAM_ORDER_DEADLINE_MS: '60000' });
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { hang: true } });
    const number = newNumber();
    const response = placed(at(fleet, 0), number);
    await until('it is carried out', async () => (await commitsOf(number)) === 1);
    fleet.gateways[0]?.child.kill('SIGTERM');
    const answer = await response;
    expect(answer.status).toBe(504);
    expect(answer.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: false });
    expect(await fleet.gateways[0]?.ended).toBe(0);
    await becomes(at(fleet, 1), number, 'in_doubt');
    const repeated = await placed(at(fleet, 1), number);
    expect(repeated.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown' });
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  }, 180_000);

  it('P3 told to stop repeatedly during an order: it finishes, is recorded and gets its response', async () => {
    const fleet = await fleetOf(2);
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 1_500 } });
    const number = newNumber();
    const response = placed(at(fleet, 0), number);
    await until('it is carried out', async () => (await commitsOf(number)) === 1);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) fleet.gateways[0]?.child.kill(signal);
    expect((await response).status).toBe(201);
    expect(await fleet.gateways[0]?.ended).toBe(0);
    await becomes(at(fleet, 1), number, 'succeeded');
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  it('P15 whose clock steps by a day: no lease ends early, no order is lost or sent twice', async () => {
    const fleet = await fleetOf(2, {}, { disturbed: true });
    const [one, other] = [at(fleet, 0), at(fleet, 1)];
    const known = newNumber();
    expect((await placed(one, known)).status).toBe(201);
    for (const clock of [DAY_MS, -DAY_MS]) {
      await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 5_000 } });
      const number = newNumber();
      const response = placed(one, number);
      await until('it is carried out', async () => (await commitsOf(number)) === 1);
      // In both directions, for the process that sends and the one that ends leases.
      await fleet.gateways[0]?.disturb({ clock });
      await fleet.gateways[1]?.disturb({ clock: -clock });
      let meanwhile: TestAnswer | undefined;
      await until(
        'the store is in time',
        async () => (meanwhile = await place(other, number)).status !== 503,
      );
      expect(meanwhile?.body).toMatchObject({ code: 'request-in-progress' });
      expect((await response).status).toBe(201);
      await becomes(other, number, 'succeeded');
      for (const again of [await placed(other, number), await placed(one, known)])
        expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
      expect([await commitsOf(number), await commitsOf(known)]).toEqual([1, 1]);
    }
    expect(await sends()).toBe(3);
  });

  it('P4 killed before the order is recorded: nothing was sent, a repeat succeeds', async () => {
    const fleet = await fleetOf(2);
    const number = newNumber();
    const body = JSON.stringify(orderOf(number));
    const socket = connect(Number(new URL(fleet.gateways[0]?.url ?? '').port), '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    socket.write(
      `POST /v1/license-orders HTTP/1.1\r\nhost: x\r\nx-api-key: ${fleet.key}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
    );
    // Another response of that process shows that the first part has arrived.
    await fleet.get(0, '/health/live');
    fleet.gateways[0]?.child.kill('SIGKILL');
    await whenClosed(socket);
    expect(await sends()).toBe(0);
    expect((await placed(at(fleet, 1), number)).status).toBe(201);
    expect(await commitsOf(number)).toBe(1);
  });

  it('P5 killed between the record and the first byte: in doubt, a false alarm by design', async () => {
    const hole = await Blackhole.start();
    atEnd(() => hole.close());
    const fleet = ended(
      await Fleet.start(sandbox, 2, {
        environment: { UPSTREAM_CONNECT_TIMEOUT_MS: '20000', UPSTREAM_ORDER_DEADLINE_MS: '5000' },
        each: [
          { UPSTREAM_BASE_URL: `http://127.0.0.1:${hole.port}` },
          { UPSTREAM_BASE_URL: `http://127.0.0.1:${hole.port}` },
        ],
      }),
    );
    const number = newNumber();
    const lost = place(at(fleet, 0), number).catch(() => undefined);
    await becomes(at(fleet, 1), number, 'sending');
    fleet.gateways[0]?.child.kill('SIGKILL');
    await lost;
    await becomes(at(fleet, 1), number, 'in_doubt');
    expect(await sends()).toBe(0);
  });

  it('P6 killed after the platform accepted: in doubt without a request, in the list, never sent again', async () => {
    const fleet = await fleetOf(2, HASTY);
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { hang: true } });
    const number = newNumber();
    const lost = placed(at(fleet, 0), number).catch(() => undefined);
    await until('it is carried out', async () => (await commitsOf(number)) === 1);
    fleet.gateways[0]?.child.kill('SIGKILL');
    await lost;
    const other = at(fleet, 1);
    await until('it is in the list', async () => {
      const { body } = await other.get('/v1/license-orders?state=in_doubt');
      return (body['items'] as { channelOrderId: string }[]).some(
        ({ channelOrderId }) => channelOrderId === number,
      );
    });
    const repeated = await placed(other, number);
    expect(repeated.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown' });
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  it('P7 killed after the record and before the response: a repeat gets the recorded success', async () => {
    const fleet = await fleetOf(2);
    const number = newNumber();
    // The caller hangs up before the response, which looks the same to it.
    const hangUp = new AbortController();
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 300 } });
    const lost = fleet.post(0, '/v1/license-orders', orderOf(number), hangUp.signal).catch(() => undefined);
    await until('it is sent', async () => (await sandbox.spoiled()) === 1);
    hangUp.abort();
    await lost;
    await becomes(at(fleet, 1), number, 'succeeded');
    fleet.gateways[0]?.child.kill('SIGKILL');
    const repeated = await placed(at(fleet, 1), number);
    expect(repeated.status).toBe(201);
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  it('P9 paused past its lease: it then records the result it has, and sends nothing', async () => {
    const fleet = await fleetOf(2, HASTY);
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 2_500 } });
    const number = newNumber();
    const slow = placed(at(fleet, 0), number).catch(() => undefined);
    await until('it is carried out', async () => (await commitsOf(number)) === 1);
    fleet.gateways[0]?.child.kill('SIGSTOP');
    await becomes(at(fleet, 1), number, 'in_doubt');
    fleet.gateways[0]?.child.kill('SIGCONT');
    await becomes(at(fleet, 1), number, 'succeeded');
    await slow;
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });
});
