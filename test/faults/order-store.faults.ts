import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { newEncryptionKey } from '../support/canary.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { endings } from '../support/endings.ts';
import { confirmStore } from '../support/confirm-store.ts';
import { caseOf } from '../support/expected.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { NamedCaller, TestAnswer, TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { send } from '../support/operations.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, type RunningRedis, startRedis, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';
import { credential } from '../support/settings.ts';

/** What happens to orders when the order store itself fails: its clock, its memory, its replicas, its keys. */

const ENCRYPTION_KEYS = newEncryptionKey();
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const sandbox = useSandbox();
const { ended } = endings();

beforeEach(() => sandbox.reset({ tokens: true }));

const newRedis = async (...args: string[]) => ended(await startRedis([...DURABLE, ...args]));
const ofStore = ({ url }: { url: string }) => ({
  UPSTREAM_ORDER_DEADLINE_MS: '10000',
  ORDER_REDIS_URL: url,
  ENCRYPTION_KEYS,
});
const gatewayOn = async (
  redis: { url: string },
  environment: Record<string, string> = {},
  callers: readonly NamedCaller[] = [],
) => ended(await startInProcess(sandbox, { ...ofStore(redis), ...environment }, callers));

let numbers = 0;
const newNumber = () => `SO-G${++numbers}`;
const place = (gateway: TestGateway, number: string, over: object = {}) =>
  gateway.post('/v1/license-orders', orderOf(number, over));
/** With a store that is there. */
const placed = (gateway: TestGateway, number: string) => onceServed(() => place(gateway, number));
const recordOf = async (gateway: TestGateway, number: string) =>
  (await onceServed(() => gateway.get(`/v1/license-orders/crm/${number}`))).body;
const becomes = (gateway: TestGateway, number: string, state: string) =>
  until(`${number} is ${state}`, async () => (await recordOf(gateway, number))['state'] === state);
const commitsOf = async (number: string) =>
  (await sandbox.commits()).filter(({ channelOrderId }) => channelOrderId === number).length;
const sends = async () => (await sandbox.journal('batchOrder')).length;
const isReplay = ({ headers }: TestAnswer) => headers.get('idempotent-replayed') === 'true';

async function metric(gateway: TestGateway, name: string): Promise<number> {
  const line = (await gateway.metrics()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
const events = async (gateway: TestGateway, event: string) =>
  (await gateway.log()).filter((line) => line.includes(`"event":"${event}"`));

/** The gateway has looked for leases that ended, and for records that are no longer kept. */
async function isSwept(redis: RunningRedis): Promise<void> {
  const sweeps = async () => {
    const stats = await ask(redis, (client) => client.info('commandstats'));
    return Number(/cmdstat_zrangebyscore:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const before = await sweeps();
  // Some of one sweep that may be under way, and all of the next.
  await until('it is swept', async () => (await sweeps()) >= before + 4);
}

describe('R18 the clock of the order store steps', () => {
  let clock: SteppedClock;
  let redis: RunningRedis;
  let gateway: TestGateway;
  beforeAll(async () => {
    clock = SteppedClock.make();
    redis = await startRedis(DURABLE, undefined, clock.environment);
    gateway = await startInProcess(sandbox, ofStore(redis));
  });
  afterAll(async () => {
    await gateway.stop();
    await redis.stop();
    clock.stop();
  });

  it.each([
    ['back', -HOUR_MS],
    ['ahead', HOUR_MS],
  ])(
    'by an hour, %s, while orders are under way: what the platform says of each is recorded',
    async (_, stepMs) => {
      // The next orders go out with a token that the platform takes: else each is sent twice, and the clock steps between the two.
      await placed(gateway, newNumber());
      const sent = await sends();
      const [taken, refused] = [newNumber(), newNumber()];
      for (const [number, action] of [
        [taken, { delayMs: 2_000 }],
        // Their leases end meanwhile where the clock is ahead.
        [refused, { delayMs: 2_000, code: '13004' }],
      ] as const) {
        const match = { body: { channelOrderId: number } };
        await sandbox.fault({ operation: 'batchOrder', times: 1, phase: 'before', match, action });
      }
      const answers = [taken, refused].map((number) => placed(gateway, number));
      await until('both are sent', async () => (await sandbox.spoiled()) === 2);
      clock.step(stepMs);
      const [success, refusal] = await Promise.all(answers);
      expect(success).toMatchObject({ status: 201, body: { state: 'succeeded' } });
      expect(refusal).toMatchObject({ status: 422, body: { code: 'upstream-rejected' } });
      expect(await commitsOf(taken)).toBe(1);
      expect(await sends()).toBe(sent + 2);
      await becomes(gateway, taken, 'succeeded');
      await becomes(gateway, refused, 'rejected');
      expect(await recordOf(gateway, taken)).toMatchObject({ items: success?.body['items'] });
      expect(await events(gateway, 'order-result-not-recorded')).toEqual([]);
    },
  );

  it('ahead by 8 days, by 405 days, and back: no order and no write with a key runs again', async () => {
    const number = newNumber();
    expect((await placed(gateway, number)).status).toBe(201);
    const reserve = caseOf('reserveAssetNums');
    const headers = { 'idempotency-key': credential() };
    const reserved = () => onceServed(() => send(gateway, reserve, { headers }));
    const first = await reserved();
    const sent = await sandbox.calls();
    for (const days of [8, 405, 0]) {
      clock.step(days * DAY_MS);
      await isSwept(redis);
      const again = await placed(gateway, number);
      expect([days, again.status, isReplay(again)]).toEqual([days, 201, true]);
      const repeated = await reserved();
      expect([days, repeated.text, isReplay(repeated)]).toEqual([days, first.text, true]);
    }
    expect(await sandbox.calls()).toEqual(sent);
    expect(await commitsOf(number)).toBe(1);
  });
});

const expectRefused = ({ status, body }: TestAnswer) => {
  expect(status).toBe(503);
  expect(body).toMatchObject({ code: 'dependency-unavailable', outcome: 'not_processed', retryable: true });
};
const ordersAre = async (gateway: TestGateway) => (await gateway.get('/health/ready')).body['orders'];
const stoppedBy = (gateway: TestGateway, reason: string) =>
  metric(gateway, `gateway_order_store_stopped{reason="${reason}"}`);
const placedAt = async (gateway: TestGateway, count: number) => {
  const all = Array.from({ length: count }, newNumber);
  for (const number of all) expect((await placed(gateway, number)).status).toBe(201);
  return all;
};

describe('R21 the order store goes back to an older state', () => {
  /** Placed before the copy was made, and after it. */
  async function goneBack(gateway: TestGateway, redis: RunningRedis) {
    const log = join(redis.folder, 'appendonlydir');
    const before = await placedAt(gateway, 2);
    const copy = ended(folderAt(mkdtempSync(join(tmpdir(), 'older-store-'))));
    cpSync(log, copy.path, { recursive: true });
    const after = await placedAt(gateway, 2);
    return {
      before,
      after,
      goBack: async () => {
        const [{ port }, folder] = [redis, mkdtempSync(join(tmpdir(), 'restored-store-'))];
        ended(folderAt(folder));
        await redis.kill9();
        cpSync(copy.path, join(folder, 'appendonlydir'), { recursive: true });
        return newRedis('--port', String(port), '--dir', folder);
      },
    };
  }
  const folderAt = (path: string) => ({ path, stop: () => rmSync(path, { recursive: true, force: true }) });

  it('orders stop, logs and metrics say so, and order-store-init says how many are missing and lets orders go on', async () => {
    const redis = await newRedis();
    const gateway = await gatewayOn(redis);
    const idle = await gatewayOn(redis);
    const { before, after, goBack } = await goneBack(gateway, redis);
    await goBack();
    await until('it is noticed', async () => (await stoppedBy(gateway, 'count')) === 1);
    for (const each of [gateway, idle])
      for (const number of [...before, ...after, newNumber()]) expectRefused(await place(each, number));
    expect(await sends()).toBe(4);
    await until('the idle one has noticed', async () => (await ordersAre(idle)) === 'down');
    expect(await ordersAre(gateway)).toBe('down');
    // On a busy machine the store may be away in between, and is then found gone back once more.
    const reasons = (await events(gateway, 'order-store-stopped')).map(
      (line) => /"reason":"(\w+)"/.exec(line)?.[1],
    );
    expect(new Set(reasons)).toEqual(new Set(['count']));

    const said = await confirmStore({ ...gateway.environment(sandbox), ...ofStore(redis) });
    expect(said).toContain('seen 4 writes begin, orders and others, and the store knows of 2: 2 are missing');
    expect(said).toContain('Orders in the order store: 2 succeeded.');
    await until('orders are placed', async () => (await place(gateway, newNumber())).status === 201);
    await until('the idle one has noticed', async () => (await ordersAre(idle)) === 'up');
    for (const number of before) expect(isReplay(await placed(idle, number))).toBe(true);
  });

  it('R9 a gateway that starts after that, or after it was emptied, learns it from the other Redis', async () => {
    const redis = await newRedis();
    const { url } = await newRedis();
    const first = await gatewayOn(redis, { REDIS_URL: url });
    const { after, goBack } = await goneBack(first, redis);
    const kept = async (client: Redis) => client.hget((await client.keys('*:order-store'))[0] ?? '', 'count');
    await until('it is remembered', async () => (await ask({ url }, kept)) === '4');
    await first.stop();
    await goBack();
    const second = await gatewayOn(redis, { REDIS_URL: url });
    for (const number of after) expectRefused(await place(second, number));
    expect(await stoppedBy(second, 'count')).toBe(1);
    await second.stop();
    await ask(redis, (client) => client.flushall());
    const third = await gatewayOn(redis, { REDIS_URL: url, ORDER_STORE_INIT: 'auto' });
    expectRefused(await place(third, after[0] as string));
    expect(await stoppedBy(third, 'epoch')).toBe(1);
    expect(await sends()).toBe(4);
  });
});

describe('R22 the order store answers and no order can be recorded in it', () => {
  /** In `ready`, in the metric and in one line of the log; also at a gateway that no order comes to. */
  async function isSaid(gateways: readonly TestGateway[], reason: string, code = '', from = [0, 0]) {
    for (const [index, gateway] of gateways.entries()) {
      await until('ready says so', async () => (await ordersAre(gateway)) === 'down');
      await until('so does the metric', async () => (await stoppedBy(gateway, reason)) === 1);
      const lines = () =>
        gateway.logLines.slice(from[index]).filter((line) => line.includes('"event":"order-store-stopped"'));
      // Said again where Redis was away in between, for the server is asked anew then.
      await until('the log says so', () => lines().length > 0);
      for (const line of lines()) {
        expect(line).toContain(`"reason":"${reason}"`);
        expect(line).toContain(code);
      }
    }
  }
  async function isOver(gateways: readonly TestGateway[]) {
    for (const gateway of gateways) {
      await until('orders are up', async () => (await ordersAre(gateway)) === 'up');
      await until('so does the metric say', async () => (await stoppedBy(gateway, 'none')) === 1);
    }
    for (const gateway of gateways)
      await until('an order is placed', async () => (await place(gateway, newNumber())).status === 201);
  }

  it('no replica acknowledges: it is said until one does, nothing is sent, and the numbers are free', async () => {
    const primary = await newRedis();
    const replica = await newRedis('--replicaof', '127.0.0.1', String(primary.port));
    await until('the replica acknowledges', () =>
      ask(primary, async (client) => {
        await client.set('{test}:followed', 1);
        return (await client.wait(1, 200)) === 1;
      }),
    );
    const gateways = [await gatewayOn(primary), await gatewayOn(primary)];
    const [busy] = gateways as unknown as [TestGateway];
    // A replica on a busy machine may need longer than an order waits for it.
    await until('an order is placed', async () => (await place(busy, newNumber())).status === 201);
    replica.freeze();
    const all = Array.from({ length: 3 }, newNumber);
    for (const answer of await Promise.all(all.map((number) => place(busy, number)))) expectRefused(answer);
    await isSaid(gateways, 'replicas');
    expect(await sends()).toBe(1);
    const [first = ''] = all;
    await becomes(busy, first, 'not_sent');
    replica.thaw();
    await until('the order is placed', async () => (await place(busy, first)).status === 201);
    expect(await commitsOf(first)).toBe(1);
    await isOver(gateways);
  });

  it('has fewer replicas than it asks for, or is full: that is said until it is mended', async () => {
    const redis = await newRedis();
    const gateways = [await gatewayOn(redis), await gatewayOn(redis)];
    const [busy] = gateways as unknown as [TestGateway];
    await placedAt(busy, 1);
    for (const [setting, code] of [
      ['min-replicas-to-write', 'NOREPLICAS'],
      ['maxmemory', 'OOM'],
    ] as const) {
      const [before, said] = [await sends(), gateways.map(({ logLines }) => logLines.length)];
      await ask(redis, (client) => client.config('SET', setting, '1'));
      expectRefused(await place(busy, newNumber()));
      await isSaid(gateways, 'writes', code, said);
      expect(await sends()).toBe(before);
      await ask(redis, (client) => client.config('SET', setting, '0'));
      await isOver(gateways);
    }
  });
});

it('R23 Redis 7.0 leaves out the transactions of its log, since its user default may do nothing: no order is sent again', async () => {
  const password = credential();
  const users = `--user gateway on >${password} ~* &* +@all --user default off resetpass -@all`.split(' ');
  const redis = await newRedis(...users);
  const url = `redis://gateway:${password}@127.0.0.1:${redis.port}`;
  const first = await gatewayOn({ url }, { ORDER_STORE_INIT: 'auto' });
  const [number = ''] = await placedAt(first, 1);
  await first.stop();
  const folder = mkdtempSync(join(tmpdir(), 'replayed-store-'));
  ended({ stop: () => rmSync(folder, { recursive: true, force: true }) });
  cpSync(join(redis.folder, 'appendonlydir'), join(folder, 'appendonlydir'), { recursive: true });
  await redis.kill9();
  await newRedis(...users, '--port', String(redis.port), '--dir', folder);
  const second = await gatewayOn({ url }, { ORDER_STORE_INIT: 'manual' });
  expectRefused(await place(second, number));
  expect(await stoppedBy(second, 'epoch')).toBe(1);
  expect(await sends()).toBe(1);
});

it('R12 the settings of the order store become weaker: orders stop in every gateway, also in one that starts, until they are set back or confirmed', async () => {
  const redis = await newRedis();
  const gateway = await gatewayOn(redis);
  await placedAt(gateway, 1);
  for (const [setting, bad, good, words] of [
    ['maxmemory-policy', 'allkeys-lru', 'noeviction', 'maxmemory-policy noeviction'],
    ['appendonly', 'no', 'yes', 'appendonly yes, appendfsync always, now appendonly no'],
    ['appendfsync', 'everysec', '', 'appendfsync always, now appendonly yes, appendfsync everysec'],
  ] as const) {
    const before = await sends();
    await ask(redis, (client) => client.config('SET', setting, bad));
    await until('it is noticed', async () => (await stoppedBy(gateway, 'settings')) === 1);
    expectRefused(await place(gateway, newNumber()));
    expect(await ordersAre(gateway)).toBe('down');
    expect((await events(gateway, 'order-store-stopped')).at(-1)).toContain(words);
    const state = await (await fetch(`${gateway.managementUrl}/console/state`)).json();
    const attention = { alert: 'OrderStoreRefuses', level: 'act', detail: expect.stringContaining(words) };
    expect(state).toMatchObject({ attention: expect.arrayContaining([expect.objectContaining(attention)]) });
    const gateways = good === '' ? [gateway, await gatewayOn(redis)] : [gateway];
    for (const each of gateways) expectRefused(await place(each, newNumber()));
    expect(await sends()).toBe(before);
    if (good !== '') await ask(redis, (client) => client.config('SET', setting, good));
    else
      expect(await confirmStore({ ...gateway.environment(sandbox), ...ofStore(redis) })).toContain(
        'now appendonly yes, appendfsync everysec',
      );
    for (const each of gateways)
      await until('orders are placed', async () => (await place(each, newNumber())).status === 201);
  }
});

it('O10 another key under a known id: the gateway refuses to start, and names the id', async () => {
  const redis = await newRedis();
  await gatewayOn(redis);
  const other = newEncryptionKey('k1');
  const refused = gatewayOn(redis, { ENCRYPTION_KEYS: other });
  await expect(refused).rejects.toThrow(/ENCRYPTION_KEYS has another key under the id k1 /);
  await expect(refused).rejects.not.toThrow(other.slice(3));
  // Beside the old one, under its own id, it is accepted.
  await gatewayOn(redis, { ENCRYPTION_KEYS: `${newEncryptionKey('k2')},${ENCRYPTION_KEYS}` });
});

it('O2 a key that seals only settled orders is removed: a repeat is told so, and not to try again', async () => {
  const redis = await newRedis();
  const [number = ''] = await placedAt(await gatewayOn(redis), 1);
  const gateway = await gatewayOn(redis, { ENCRYPTION_KEYS: newEncryptionKey('k2') });
  for (const answer of [
    await place(gateway, number),
    await gateway.get(`/v1/license-orders/crm/${number}`),
  ]) {
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject({ code: 'dependency-unavailable', retryable: false });
    expect(answer.body['detail']).toContain('encryption key');
    expect(answer.headers.has('retry-after')).toBe(false);
  }
  expect(await events(gateway, 'order-unreadable')).toEqual([expect.stringContaining(`order/crm/${number}`)]);
  const unreadable = () => metric(gateway, 'gateway_order_records_unreadable');
  await until('it is counted', async () => (await unreadable()) === 1);
  expect(await sends()).toBe(1);
});

describe('R20 a record disappears during its order', () => {
  async function sent(gateway: TestGateway) {
    await sandbox.fault({ operation: 'batchOrder', times: 1, phase: 'before', action: { delayMs: 1_500 } });
    const [number, before] = [newNumber(), await sandbox.spoiled()];
    const response = placed(gateway, number);
    await until('it is sent', async () => (await sandbox.spoiled()) === before + 1);
    return { number, response };
  }

  it("the platform's response is in a log line and a metric, also when the store does not return before the gateway ends", async () => {
    const redis = await newRedis();
    const gateway = await gatewayOn(redis);
    const lines = () =>
      gateway.logLines
        .filter((line) => line.includes('"event":"order-result-not-recorded"'))
        .map((line) => JSON.parse(line) as unknown);
    const lost = await sent(gateway);
    await ask(redis, async (client) => client.del(await client.keys(`*order/crm/${lost.number}`)));
    const { status, body } = await lost.response;
    expect(status).toBe(201);
    const [{ licenseOrderId }] = body['items'] as [{ licenseOrderId: string }];
    const ofLost = {
      level: 'error',
      write: `order/crm/${lost.number}`,
      found: 'succeeded',
      licenseOrderIds: licenseOrderId,
      reason: 'missing',
    };
    await until('it is said', () => lines().length > 0);
    expect(lines()).toMatchObject([ofLost]);
    expect(await metric(gateway, 'gateway_order_results_not_recorded_total{reason="missing"}')).toBe(1);

    const late = await sent(gateway);
    await redis.kill9();
    expect((await late.response).status).toBe(201);
    await gateway.stop();
    expect(lines()).toMatchObject([
      ofLost,
      { write: `order/crm/${late.number}`, found: 'succeeded', reason: 'shutdown' },
    ]);
  });
});

it("O9 the application's key is replaced, the gateway's and a caller's own: an order from before is the same order", async () => {
  const redis = await newRedis();
  const partner = {
    name: 'partner',
    scopes: ['orders:read', 'orders:write'],
    channels: ['crm'],
    enterprises: ['*'],
  };
  const [own, ofPartner] = [newNumber(), newNumber()];
  const asPartner = (gateway: TestGateway) =>
    onceServed(() =>
      gateway.post('/v1/license-orders', orderOf(ofPartner), { key: gateway.keys['partner'] as string }),
    );
  const before = await gatewayOn(redis, {}, [{ ...partner, appKey: sandbox.appKey }]);
  for (const first of [await placed(before, own), await asPartner(before)])
    expect([first.status, isReplay(first)]).toEqual([201, false]);
  const after = await gatewayOn(redis, { UPSTREAM_APP_KEY: credential() }, [
    { ...partner, appKey: credential() },
  ]);
  for (const again of [await placed(after, own), await asPartner(after)])
    expect([again.status, isReplay(again)]).toEqual([201, true]);
  const other = await onceServed(() => place(after, own, { syncMode: 'async' }));
  expect(other.body).toMatchObject({ code: 'idempotency-key-reused' });
  expect([await commitsOf(own), await commitsOf(ofPartner)]).toEqual([1, 1]);
});
