import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { Blackhole, FaultProxy } from '../support/fault-proxy.ts';
import { Fleet } from '../support/fleet.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { type RunningPostgres, startPostgres, throughPort } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';
import { whenClosed } from '../support/socket.ts';

/**
 * What faults do to orders: the part of the catalogue's rows about the record of an order. With every fault, an order is sent at most
 * once, and its reported state is true.
 */

const HOUR_MS = 3_600_000;

const sandbox = useSandbox();

beforeEach(() => sandbox.reset());

let numbers = 0;
const newNumber = () => `SO-F${++numbers}`;

interface Asked {
  post(path: string, body: unknown): Promise<TestAnswer>;
  get(path: string): Promise<TestAnswer>;
}
const place = (gateway: Asked, number: string) => gateway.post('/v1/license-orders', orderOf(number));
/** Places an order with a database that is there. */
const placed = (gateway: Asked, number: string) => onceServed(() => place(gateway, number));
const stateOf = async (gateway: Asked, number: string) =>
  (await onceServed(() => gateway.get(`/v1/license-orders/crm/${number}`))).body['state'];
const becomes = (gateway: Asked, number: string, state: string) =>
  until(`${number} is ${state}`, async () => (await stateOf(gateway, number)) === state);
const isPlaced = (gateway: Asked, number: string) =>
  until(`${number} is placed`, async () => (await place(gateway, number)).status === 201);
const commitsOf = async (number: string) =>
  (await sandbox.commits()).filter(({ channelOrderId }) => channelOrderId === number).length;
const isCarriedOut = (number: string) =>
  until(`${number} is carried out`, async () => (await commitsOf(number)) === 1);
const sends = async () => (await sandbox.journal('batchOrder')).length;
const isReplay = ({ headers }: TestAnswer) => headers.get('idempotent-replayed') === 'true';

function expectRefused(answer: TestAnswer): void {
  expect([answer.status, answer.body]).toMatchObject([
    503,
    { code: 'dependency-unavailable', outcome: 'not_processed', retryable: true },
  ]);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
}

describe('a gateway with a bad way to the platform and to its database', () => {
  let platform: FaultProxy;
  let server: RunningPostgres;
  let database: FaultProxy;
  let gateway: TestGateway;

  beforeAll(async () => {
    platform = await FaultProxy.start(Number(new URL(sandbox.url).port));
    server = await startPostgres();
    database = await FaultProxy.start(server.port);
    gateway = await TestGateway.start(sandbox, {
      UPSTREAM_BASE_URL: platform.url,
      UPSTREAM_ORDER_DEADLINE_MS: '4000',
      DATABASE_URL: throughPort(await server.newUrl(), database.port),
      ENCRYPTION_KEYS: newEncryptionKey(),
    });
    // Each test then begins with a token and a database that answers.
    await isPlaced(gateway, newNumber());
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([platform.close(), database.close(), server.stop()]);
  });

  it('U8 each order has a connection of its own, so the platform closes none during it', async () => {
    const before = platform.connections;
    for (let each = 0; each < 3; each++) expect((await placed(gateway, newNumber())).status).toBe(201);
    expect(platform.connections - before).toBe(3);
  });

  it('U1 a refused connection leaves the number free', async () => {
    await platform.add({ toxic: 'down' });
    const number = newNumber();
    const refused = await place(gateway, number);
    expect([refused.status, refused.body]).toMatchObject([
      503,
      { code: 'upstream-unavailable', outcome: 'not_processed', retryable: true },
    ]);
    expect(await stateOf(gateway, number)).toBe('not_sent');
    await platform.clear();
    expect((await placed(gateway, number)).status).toBe(201);
    expect(await commitsOf(number)).toBe(1);
  });

  it('U6 a reset after it was carried out: in doubt, with the same response ever after, and never sent again', async () => {
    const action = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action });
    const number = newNumber();
    const first = await placed(gateway, number);
    expect(first.status).toBe(502);
    expect(first.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: false });
    expect(first.headers.get('location')).toBe(`/v1/license-orders/crm/${number}`);
    expect(await stateOf(gateway, number)).toBe('in_doubt');
    const again = await placed(gateway, number);
    const { requestId: _one, ...body } = first.body;
    expect([again.status, again.body]).toMatchObject([502, body]);
    expect(isReplay(again)).toBe(true);
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  it('C13 success with a sequence that the order does not have: incomplete, reported to operators, never sent again', async () => {
    const action = { patch: { data: [{ sequence: 7, licenseOrderId: '1' }] } };
    const reported = gateway.logged('order-in-doubt');
    await sandbox.fault({ operation: 'batchOrder', times: 1, action });
    const number = newNumber();
    const first = await placed(gateway, number);
    expect(first.status).toBe(502);
    expect(first.body).toMatchObject({ code: 'outcome-unknown', outcome: 'processed', retryable: false });
    const record = await onceServed(() => gateway.get(`/v1/license-orders/crm/${number}`));
    expect(record.body).toMatchObject({
      state: 'incomplete',
      items: [{ sequence: 1, licenseOrderId: null }],
    });
    expect((await placed(gateway, number)).body).toMatchObject({ outcome: 'processed' });
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
    await reported;
  });

  it('U15 a response after the deadline settles the order', async () => {
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 5_500 } });
    const number = newNumber();
    const late = await placed(gateway, number);
    expect(late.status).toBe(504);
    expect(late.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown' });
    await becomes(gateway, number, 'succeeded');
    const replayed = await placed(gateway, number);
    expect([replayed.status, isReplay(replayed)]).toEqual([201, true]);
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  it('U15 a refusal of a scheduled order after the deadline ends it, and its record says why', async () => {
    const action = { delayMs: 5_500, code: '13004' };
    await sandbox.fault({ operation: 'batchOrder', phase: 'before', times: 1, action });
    const number = newNumber();
    const order = { ...orderOf(number), notBefore: new Date(Date.now() + 2_000).toISOString() };
    expect((await onceServed(() => gateway.post('/v1/license-orders', order))).status).toBe(202);
    await becomes(gateway, number, 'rejected');
    const record = await onceServed(() => gateway.get(`/v1/license-orders/crm/${number}`));
    expect(record.body['reason']).toEqual(expect.any(String));
    expect([await sends(), await commitsOf(number)]).toEqual([1, 0]);
  });

  it('D31 the connection to the database is reset before each reply: nothing is sent, and the number is not lost', async () => {
    await database.add({ toxic: 'reset_peer', direction: 'downstream', ms: 0 });
    const number = newNumber();
    expectRefused(await place(gateway, number));
    expect(await sends()).toBe(0);
    await database.clear();
    await isPlaced(gateway, number);
    expect(await commitsOf(number)).toBe(1);
  });

  it('D31 the database no longer answers: orders are refused in time with nothing sent, and the numbers are not lost', async () => {
    await database.add({ toxic: 'timeout', ms: 0 });
    const all = Array.from({ length: 5 }, newNumber);
    for (const number of all) {
      const started = performance.now();
      expectRefused(await place(gateway, number));
      expect(performance.now() - started).toBeLessThan(5_000);
    }
    expect(await sends()).toBe(0);
    await database.clear();
    for (const number of all) {
      await isPlaced(gateway, number);
      expect([number, await commitsOf(number)]).toEqual([number, 1]);
    }
  });

  it('D31 the database is killed during an order: the response is true, the next is refused, and the record follows', async () => {
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs: 1_000 } });
    const [number, next] = [newNumber(), newNumber()];
    const response = placed(gateway, number);
    await sandbox.untilSpoiled(1, response);
    await server.kill();
    const answer = await response;
    expect([answer.status, answer.body['state']]).toEqual([201, 'succeeded']);
    expectRefused(await place(gateway, next));
    await server.start();
    await becomes(gateway, number, 'succeeded');
    expect(isReplay(await placed(gateway, number))).toBe(true);
    await isPlaced(gateway, next);
    expect([await sends(), await commitsOf(number), await commitsOf(next)]).toEqual([2, 1, 1]);
  });
});

describe('a process', () => {
  const clock = SteppedClock.make();
  let server: RunningPostgres;
  let environment: Record<string, string>;
  let fleet: Fleet;
  const at = (index: number): Asked => ({
    get: (path) => fleet.get(index, path) as Promise<TestAnswer>,
    post: (path, body) => fleet.post(index, path, body) as Promise<TestAnswer>,
  });
  /** The one that a fault happens to; another one goes on. */
  const victim = () => fleet.gateways[0] as GatewayProcess;
  const [one, other] = [at(0), at(1)];
  const kill = async (gateway: GatewayProcess) => {
    gateway.child.kill('SIGKILL');
    await gateway.ended;
  };
  const delay = (delayMs: number) =>
    sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { delayMs } });

  beforeAll(async () => {
    server = await startPostgres([], undefined, undefined, clock.environment);
    environment = { DATABASE_URL: await server.newUrl() };
    fleet = await Fleet.start(sandbox, 2, { environment, how: { disturbed: true } });
  });
  beforeEach(async () => {
    clock.step(0);
    const { exitCode, signalCode } = victim().child;
    if (exitCode === null && signalCode === null) return;
    await fleet.launch(environment, { disturbed: true }, 0);
  });
  afterAll(async () => {
    await fleet.stop();
    await server.stop();
    clock.stop();
  });

  it('P15 whose clock steps by a day: no lease ends early, no order is lost or sent twice', async () => {
    const known = newNumber();
    expect((await placed(one, known)).status).toBe(201);
    for (const shift of [24 * HOUR_MS, -24 * HOUR_MS]) {
      await delay(2_500);
      const number = newNumber();
      const response = placed(one, number);
      await isCarriedOut(number);
      // The clock moves in both directions, for the process that sends and the one that ends leases.
      await victim().disturb({ clock: shift });
      await fleet.gateways[1]?.disturb({ clock: -shift });
      let meanwhile: TestAnswer | undefined;
      await until(
        'the database is in time',
        async () => (meanwhile = await place(other, number)).status !== 503,
      );
      expect(meanwhile?.body).toMatchObject({ code: 'request-in-progress' });
      expect((await response).status).toBe(201);
      await becomes(other, number, 'succeeded');
      for (const again of [await placed(other, number), await placed(one, known)])
        expect([again.status, isReplay(again)]).toEqual([201, true]);
      expect([await commitsOf(number), await commitsOf(known)]).toEqual([1, 1]);
    }
    expect(await sends()).toBe(3);
    for (const gateway of fleet.gateways) await gateway.disturb({ clock: 0 });
  });

  it('P15 the clocks of all are an hour behind that of the database: an order in doubt is found at its time', async () => {
    for (const gateway of fleet.gateways) await gateway.disturb({ clock: -HOUR_MS });
    const action = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action });
    const number = newNumber();
    const order = orderOf(number);
    const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
    const items = order.items.map((item) => ({ ...item, customer }));
    const sent = await onceServed(() => one.post('/v1/license-orders', { ...order, items }));
    expect(sent.status).toBe(502);
    await becomes(other, number, 'succeeded');
    expect(await commitsOf(number)).toBe(1);
    for (const gateway of fleet.gateways) await gateway.disturb({ clock: 0 });
  });

  it('P9 paused past its lease: it then records the result it has, and sends nothing', async () => {
    await delay(1_000);
    const number = newNumber();
    const slow = placed(one, number);
    await isCarriedOut(number);
    victim().child.kill('SIGSTOP');
    clock.step(HOUR_MS);
    await becomes(other, number, 'in_doubt');
    victim().child.kill('SIGCONT');
    await becomes(other, number, 'succeeded');
    await slow;
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  it('P4 killed before the order is recorded: nothing was sent, a repeat succeeds', async () => {
    const number = newNumber();
    const body = JSON.stringify(orderOf(number));
    const socket = connect(Number(new URL(victim().url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST /v1/license-orders HTTP/1.1\r\nhost: x\r\nx-api-key: ${fleet.key}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
    );
    // Another response of that process shows that the first part has arrived.
    await fleet.get(0, '/health/live');
    victim().child.kill('SIGKILL');
    await whenClosed(socket);
    expect(await sends()).toBe(0);
    expect((await placed(other, number)).status).toBe(201);
    expect(await commitsOf(number)).toBe(1);
  });

  it('P5 killed between the record and the first byte: in doubt, a false alarm by design', async () => {
    const hole = await Blackhole.start();
    const swallowed = {
      ...environment,
      UPSTREAM_BASE_URL: `http://127.0.0.1:${hole.port}`,
      UPSTREAM_CONNECT_TIMEOUT_MS: '60000',
      UPSTREAM_ORDER_DEADLINE_MS: '60000',
    };
    const killed = await fleet.launch(swallowed, {}, 2);
    await fleet.launch(swallowed, {}, 3);
    const number = newNumber();
    const lost = place(at(2), number).catch(() => undefined);
    await becomes(at(3), number, 'sending');
    await kill(killed);
    await lost;
    clock.step(HOUR_MS);
    await becomes(at(3), number, 'in_doubt');
    expect(await sends()).toBe(0);
    await hole.close();
  });

  it('P6 killed after the platform accepted: in doubt after the lease, in the list, and never sent again', async () => {
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { hang: true } });
    const number = newNumber();
    const lost = place(one, number).catch(() => undefined);
    await isCarriedOut(number);
    await kill(victim());
    await lost;
    expect(await stateOf(other, number)).toBe('sending');
    clock.step(HOUR_MS);
    // Nobody asks for it: a gateway looks for leases that ended.
    await until('the list has it', async () => {
      const { body } = await other.get('/v1/license-orders?state=in_doubt');
      return JSON.stringify(body).includes(`"${number}"`);
    });
    const again = await placed(other, number);
    expect([again.status, again.body]).toMatchObject([
      502,
      { code: 'outcome-unknown', outcome: 'unknown', retryable: false },
    ]);
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
  });

  // The caller hangs up before the response, which looks the same to the gateway.
  describe('K23 left by its caller', () => {
    it('P7 and killed after the record: the order is carried out and in the audit, and a repeat gets the recorded success', async () => {
      const number = newNumber();
      const hangUp = new AbortController();
      await delay(1_000);
      const lost = fleet.post(0, '/v1/license-orders', orderOf(number), hangUp.signal).catch(() => undefined);
      await sandbox.untilSpoiled(1);
      hangUp.abort();
      await lost;
      await becomes(other, number, 'succeeded');
      const audited = new RegExp(`"event":"audit".*"crm/${number}"`);
      await until('it is in the audit', () => audited.test(victim().output()));
      await kill(victim());
      const repeated = await placed(other, number);
      expect([repeated.status, isReplay(repeated)]).toEqual([201, true]);
      expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
    });
  });
});
