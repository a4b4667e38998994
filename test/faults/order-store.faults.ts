import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OrderLedgerKeeper } from '../../src/order-ledger/order-ledger-keeper.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { endings } from '../support/endings.ts';
import { caseOf } from '../support/expected.ts';
import { type CallerEntry, type TestAnswer, TestGateway } from '../support/gateway.ts';
import { send } from '../support/operations.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { credential } from '../support/settings.ts';

/** What happens to orders where the order store itself cannot be trusted: its clock, its memory, its replicas, its keys. */

const ENCRYPTION_KEYS = newEncryptionKey();
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let sandbox: TestSandbox;
const { ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset({ tokens: true }));
afterAll(() => sandbox.close());

const newRedis = async (...args: string[]) => ended(await startRedis([...DURABLE, ...args]));
const gatewayOn = async (
  { url }: { url: string },
  environment: Record<string, string> = {},
  callers: readonly (Partial<CallerEntry> & { name: string })[] = [],
) =>
  ended(
    await TestGateway.start(
      sandbox,
      { UPSTREAM_ORDER_DEADLINE_MS: '10000', GUARD_REDIS_URL: url, ENCRYPTION_KEYS, ...environment },
      callers,
    ),
  );

let numbers = 0;
const newNumber = () => `SO-G${++numbers}`;
const place = (gateway: TestGateway, number: string, over: object = {}) =>
  gateway.post('/v1/license-orders', orderOf(number, over));
const recordOf = async (gateway: TestGateway, number: string) =>
  (await gateway.get(`/v1/license-orders/crm/${number}`)).body;
const commitsOf = async (number: string) =>
  (await sandbox.commits()).filter(({ channelOrderId }) => channelOrderId === number).length;
const sends = async () => (await sandbox.journal('batchOrder')).length;
const isReplay = ({ headers }: TestAnswer) => headers.get('idempotent-replayed') === 'true';

async function metric(gateway: TestGateway, name: string): Promise<number> {
  const line = (await gateway.metrics()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
const events = (gateway: TestGateway, event: string) =>
  gateway.logLines.filter((line) => line.includes(`"event":"${event}"`));

describe('R18 the clock of the order store steps', () => {
  async function steppedStore() {
    const clock = ended(SteppedClock.make());
    return { clock, redis: ended(await startRedis(DURABLE, undefined, clock.environment)) };
  }

  it.each([
    ['back by 2 s', -2_000],
    ['back by an hour', -HOUR_MS],
    ['ahead by 2 s', 2_000],
    ['ahead by an hour', HOUR_MS],
  ])('%s while orders are out: what the platform said of each is recorded', async (_, stepMs) => {
    const { clock, redis } = await steppedStore();
    const gateway = await gatewayOn(redis);
    const delayed = { phase: 'before', action: { delayMs: 1_500 } };
    await sandbox.fault({ operation: 'batchOrder', times: 5, ...delayed });
    const placed = Array.from({ length: 5 }, newNumber);
    const answers = placed.map((number) => place(gateway, number));
    await until('all are sent', async () => (await sandbox.spoiled()) === 5);
    clock.step(stepMs);
    for (const [index, answer] of answers.entries()) {
      const { status, body } = await answer;
      expect(status).toBe(201);
      const record = await recordOf(gateway, placed[index] as string);
      expect(record).toMatchObject({ state: 'succeeded', items: body['items'] });
    }
    expect(events(gateway, 'order-result-not-recorded')).toEqual([]);
  });

  it('ahead by an hour while an order is out that the platform refuses: the order is rejected, not in doubt', async () => {
    const { clock, redis } = await steppedStore();
    const gateway = await gatewayOn(redis);
    await sandbox.fault({
      operation: 'batchOrder',
      times: 1,
      phase: 'before',
      action: { code: '13004', delayMs: 1_500 },
    });
    const number = newNumber();
    const placed = place(gateway, number);
    await until('it is sent', async () => (await sandbox.spoiled()) === 1);
    clock.step(HOUR_MS);
    await until('its lease has ended', async () => (await recordOf(gateway, number))['state'] === 'in_doubt');
    expect((await placed).status).toBe(422);
    expect(await recordOf(gateway, number)).toMatchObject({ state: 'rejected' });
  });

  it.each([
    ['8 days', 8],
    ['405 days', 405],
  ])('ahead by %s: no order and no write with a key runs again', async (_, days) => {
    const { clock, redis } = await steppedStore();
    const gateway = await gatewayOn(redis);
    const number = newNumber();
    expect((await place(gateway, number)).status).toBe(201);
    const reserve = caseOf('reserveAssetNums');
    const headers = { 'idempotency-key': credential() };
    const first = await send(gateway, reserve, { headers });
    clock.step(days * DAY_MS);
    for (let each = 0; each < 3; each++) {
      await gateway.app.get(OrderLedgerKeeper).tick();
      const again = await place(gateway, number);
      expect([again.status, isReplay(again)]).toEqual([201, true]);
      const repeated = await send(gateway, reserve, { headers });
      expect([repeated.text, isReplay(repeated)]).toEqual([first.text, true]);
    }
    expect([await sends(), await commitsOf(number)]).toEqual([1, 1]);
    expect(await sandbox.journal(reserve.upstream)).toHaveLength(1);
  });
});

describe('R20 a record disappears while its order is out', () => {
  it('what the platform said of the order is in a log line and a metric', async () => {
    const redis = await newRedis();
    const gateway = await gatewayOn(redis);
    await sandbox.fault({ operation: 'batchOrder', times: 1, phase: 'before', action: { delayMs: 1_000 } });
    const number = newNumber();
    const placed = place(gateway, number);
    await until('it is sent', async () => (await sandbox.spoiled()) === 1);
    await ask(redis, async (client) => client.del(await client.keys(`*order/crm/${number}`)));
    const { status, body } = await placed;
    expect(status).toBe(201);
    const [line = '{}', ...more] = events(gateway, 'order-result-not-recorded');
    expect(more).toEqual([]);
    const [{ licenseOrderId }] = body['items'] as [{ licenseOrderId: string }];
    expect(JSON.parse(line)).toMatchObject({
      level: 'error',
      write: `order/crm/${number}`,
      found: 'succeeded',
      licenseOrderIds: licenseOrderId,
      reason: 'missing',
    });
    expect(await metric(gateway, 'gateway_order_results_not_recorded_total{reason="missing"}')).toBe(1);
  });

  it('also where the store does not come back before the gateway ends', async () => {
    const redis = await newRedis();
    const gateway = await gatewayOn(redis);
    await sandbox.fault({ operation: 'batchOrder', times: 1, phase: 'before', action: { delayMs: 1_000 } });
    const number = newNumber();
    const placed = place(gateway, number);
    await until('it is sent', async () => (await sandbox.spoiled()) === 1);
    await redis.kill9();
    expect((await placed).status).toBe(201);
    await gateway.stop();
    expect(events(gateway, 'order-result-not-recorded').map((line) => JSON.parse(line))).toMatchObject([
      { write: `order/crm/${number}`, found: 'succeeded', reason: 'shutdown' },
    ]);
  });
});

describe("O9 the application's key is replaced", () => {
  it('an order that was placed before is the same order, and is not sent again', async () => {
    const redis = await newRedis();
    const before = await gatewayOn(redis);
    const number = newNumber();
    expect((await place(before, number)).status).toBe(201);
    const after = await gatewayOn(redis, { UPSTREAM_APP_KEY: credential() });
    const again = await place(after, number);
    expect([again.status, isReplay(again)]).toEqual([201, true]);
    // What the caller asks for still counts.
    const other = await after.post('/v1/license-orders', orderOf(number, {}, { limitConcurrent: 2 }));
    expect(other.body).toMatchObject({ code: 'idempotency-key-reused' });
    expect(await commitsOf(number)).toBe(1);
  });

  it("also where it is the caller's own", async () => {
    const redis = await newRedis();
    const caller = { name: 'partner', scopes: ['orders:read', 'orders:write'], channels: ['crm'] };
    const number = newNumber();
    const placed: TestAnswer[] = [];
    for (const appKey of [sandbox.appKey, credential()]) {
      const gateway = await gatewayOn(redis, {}, [{ ...caller, appKey }]);
      placed.push(
        await gateway.post('/v1/license-orders', orderOf(number), { key: gateway.keys['partner'] as string }),
      );
    }
    expect(placed.map((answer) => [answer.status, isReplay(answer)])).toEqual([
      [201, false],
      [201, true],
    ]);
    expect(await commitsOf(number)).toBe(1);
  });
});
