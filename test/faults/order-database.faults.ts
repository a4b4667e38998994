import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { SealedTexts } from '../../src/database/sealed-texts.ts';
import { NOW, sql } from '../../src/database/sql.ts';
import { EventStore } from '../../src/events/log/event-store.ts';
import { sweep as sweepJobs } from '../../src/jobs/store/job-sweep-store.ts';
import { sweepDeliveries } from '../../src/webhooks/store/webhook-steps-store.ts';
import { WriteRecords } from '../../src/order-ledger/write-rows.ts';
import { WriteStore } from '../../src/order-ledger/write-store.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { databaseInit, emptyDatabase } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { caseOf } from '../support/expected.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { Fleet } from '../support/fleet.ts';
import {
  type GatewayProcess,
  START_SCRIPT,
  startGatewayProcess,
  withEndTimers,
} from '../support/gateway-process.ts';
import { type NamedCaller, type TestAnswer, TestGateway } from '../support/gateway.ts';
import { ledgerBegin, ledgerOrder } from '../support/ledger-order.ts';
import { onceServed } from '../support/once-served.ts';
import { send } from '../support/operations.ts';
import { deletionOfAsset, orderOf } from '../support/order-body.ts';
import {
  askDatabase,
  postgresUrl,
  type RunningPostgres,
  startPostgres,
  throughPort,
} from '../support/postgres.ts';
import { ProfileFile } from '../support/profile-file.ts';
import { ask, serverFolder, startRedis, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';
import { credential, type LogLine, RecordedLog, settings } from '../support/settings.ts';
import { openDatabase } from '../support/use-database.ts';

/** What callers and operators notice when the database of orders fails: its clock, its room, its past, its keys. */

const ENCRYPTION_KEYS = newEncryptionKey();
const DAY_MS = 24 * 3_600_000;
const DISK_MIB = 4;

const sandbox = useSandbox();
const { atEnd, ended } = endings();
const profile = new ProfileFile();

beforeEach(() => sandbox.reset({ tokens: true }));

const environmentOf = (url: string) => ({
  DATABASE_URL: url,
  ENCRYPTION_KEYS,
  UPSTREAM_ORDER_DEADLINE_MS: '10000',
});
const gatewayOn = async (
  url: string,
  environment: Record<string, string> = {},
  callers: readonly NamedCaller[] = [],
) => ended(await TestGateway.start(sandbox, { ...environmentOf(url), ...environment }, callers));

/** Confirms the database as an operator does. */
const confirmed = (url: string, ...options: string[]) =>
  databaseInit({ ...new TestGateway().environment(sandbox), ...environmentOf(url) }, '--yes', ...options);

async function newFile(): Promise<string> {
  const { url, remove } = await emptyDatabase('file');
  atEnd(remove);
  return url;
}

let numbers = 0;
const newNumber = () => `SO-G${++numbers}`;
const place = (gateway: TestGateway, number: string, over: object = {}) =>
  gateway.post('/v1/license-orders', orderOf(number, over));
/** Places an order with a database that is there. */
const placed = (gateway: TestGateway, number: string) => onceServed(() => place(gateway, number));
const isPlaced = (gateway: TestGateway, number = newNumber()) =>
  until(`${number} is placed`, async () => (await place(gateway, number)).status === 201);
const placedAt = async (gateway: TestGateway, count: number) => {
  const all = Array.from({ length: count }, newNumber);
  for (const number of all) expect((await placed(gateway, number)).status).toBe(201);
  return all;
};
const recordOf = async (gateway: TestGateway, number: string) =>
  (await onceServed(() => gateway.get(`/v1/license-orders/crm/${number}`))).body;
const commitsOf = async (number: string) =>
  (await sandbox.commits()).filter(({ channelOrderId }) => channelOrderId === number).length;
const sends = async () => (await sandbox.journal('batchOrder')).length;
const isReplay = ({ headers }: TestAnswer) => headers.get('idempotent-replayed') === 'true';
const expectRefused = ({ status, body }: TestAnswer) => {
  expect([status, body]).toMatchObject([
    503,
    { code: 'dependency-unavailable', outcome: 'not_processed', retryable: true },
  ]);
};

async function metric(gateway: TestGateway, name: string): Promise<number> {
  const line = (await gateway.metrics()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
const events = (gateway: TestGateway, event: string) =>
  gateway.logLines.map((line) => JSON.parse(line) as LogLine).filter((line) => line.event === event);
const ordersAre = async (gateway: TestGateway) => (await gateway.get('/health/ready')).body['orders'];

/** Writes to the file until its disk is full: the gateway writes meanwhile. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(64 * 1024));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}

/** Said in `ready`, in the metric, in the console and in the log, also at a gateway that no order comes to. */
async function isStopped(gateways: readonly TestGateway[], reason: string, alert: string): Promise<void> {
  for (const gateway of gateways) {
    await until('ready says so', async () => (await ordersAre(gateway)) === 'down');
    const stopped = `gateway_database_stopped{reason="${reason}"}`;
    await until('so does the metric', async () => (await metric(gateway, stopped)) === 1);
    const event = reason === 'away' ? 'database-away' : 'database-stopped';
    await until('so does the log', () => events(gateway, event).some((line) => line['reason'] === reason));
    const state = await (await fetch(`${gateway.managementUrl}/console/state`)).json();
    const attention = [expect.objectContaining({ alert, level: 'act' })];
    expect(state).toMatchObject({ attention: expect.arrayContaining(attention) });
  }
}

async function isOver(gateways: readonly TestGateway[]): Promise<void> {
  for (const gateway of gateways) {
    await until('orders are up', async () => (await ordersAre(gateway)) === 'up');
    expect(await metric(gateway, 'gateway_database_stopped{reason="none"}')).toBe(1);
    await isPlaced(gateway);
  }
}

it('D11 The server is away at the start: the gateway starts, reads are served, orders and other writes are refused until it answers', async () => {
  const url = await postgresUrl();
  const proxy = await FaultProxy.start(Number(new URL(url).port));
  atEnd(() => proxy.close());
  await proxy.add({ toxic: 'down' });
  const gateway = await gatewayOn(throughPort(url, proxy.port));
  const ready = await gateway.get('/health/ready');
  expect([ready.status, ready.body]).toMatchObject([200, { status: 'degraded', orders: 'down' }]);
  expectRefused(await place(gateway, newNumber()));
  // An operator may have stopped writes before this gateway started.
  const write = () => {
    const body = { account: 'anna', name: 'Anna' };
    return gateway.request('PATCH', '/v1/enterprises/ent-harbour/members/mem-harbour-anna', { body });
  };
  expectRefused(await write());
  await isStopped([gateway], 'away', 'DatabaseAway');
  // It comes back without its operator.
  expect((await place(gateway, newNumber())).body['detail']).toMatch(
    /database of the gateway does not respond/,
  );
  expect((await gateway.get('/v1/enterprises/ent-harbour/assets')).status).toBe(200);
  expect([await sends(), await sandbox.journal('editMember')]).toEqual([0, []]);
  await proxy.clear();
  await isOver([gateway]);
  await until('it takes writes', async () => (await write()).status === 204);
});

describe('a server of PostgreSQL', () => {
  let clock: SteppedClock;
  let server: RunningPostgres;
  beforeAll(async () => {
    clock = SteppedClock.make();
    server = await startPostgres([], undefined, undefined, clock.environment);
  });
  afterAll(async () => {
    await server.stop();
    clock.stop();
  });

  it('D32 Its clock steps ahead by 8 days, by 405 days, and back: no order and no write with a key runs again', async () => {
    clock.step(0);
    const url = await server.newUrl();
    const gateway = await gatewayOn(url);
    const number = newNumber();
    expect((await placed(gateway, number)).status).toBe(201);
    const reserve = caseOf('reserveAssetNums');
    const headers = { 'idempotency-key': credential() };
    const reserved = () => onceServed(() => send(gateway, reserve, { headers }));
    const first = await reserved();
    const sent = await sandbox.calls();
    for (const days of [8, 405, 0]) {
      clock.step(days * DAY_MS);
      // One that starts looks at once for records that are no longer kept.
      const late = await gatewayOn(url);
      const swept = async () => (await late.metrics()).includes('\ngateway_orders_in_doubt ');
      await until('it is swept', swept);
      const again = await placed(gateway, number);
      expect([days, again.status, isReplay(again)]).toEqual([days, 201, true]);
      const repeated = await reserved();
      expect([days, repeated.text, isReplay(repeated)]).toEqual([days, first.text, true]);
    }
    expect(await sandbox.calls()).toEqual(sent);
    expect(await commitsOf(number)).toBe(1);
  });

  it.each([8, 405])(
    'D32 Its clock is %d days ahead: events, deliveries and the rows of imports are kept until the clock of the gateway says so too',
    async (days) => {
      clock.step(0);
      const { database } = await openDatabase(await server.newUrl());
      atEnd(() => database.close());
      const made = [
        sql`INSERT INTO events (platform, number, kind, name, state, at, size, record)
          VALUES (:platform, 1, 'order', 'order/crm/SO', 'succeeded', ${NOW}, 2, '{}')`,
        sql`INSERT INTO deliveries (platform, webhook_id, event_id, type, lane, state, attempts, postponed, made_at)
          VALUES (:platform, 'hook', '1', 'license-order.succeeded', '', 'pending', 0, 0, ${NOW})`,
        sql`INSERT INTO jobs (platform, job_id, state, owner, enterprise, caller, bytes, definition, total, chunks, counts, prepared,
            cancelled, version, created_at, changed_at, finished_at)
          SELECT :platform, state, state, '', state, '', 1, '', 1, 1, '[]', 1, 0, 1, ${NOW}, ${NOW}, finished_at
          FROM (VALUES ('running', NULL::bigint), ('succeeded', ${NOW})) AS made (state, finished_at)`,
        sql`INSERT INTO job_chunks (platform, job_id, chunk, results, waiting, counts, calls)
          VALUES (:platform, 'running', 0, '', 'waits', '[]', 0), (:platform, 'succeeded', 0, '', NULL, '[]', 0)`,
      ];
      await database.step(
        { name: 'made', decide: () => ({ writes: made.map((each) => each.with()) }) },
        undefined,
      );
      const kept = sql`
        SELECT (SELECT count(*) FROM events WHERE platform = :platform) AS events,
          (SELECT count(*) FROM deliveries WHERE platform = :platform) AS deliveries,
          (SELECT count(*) FROM job_chunks WHERE platform = :platform) AS chunks,
          (SELECT count(*) FROM job_chunks WHERE platform = :platform AND waiting IS NOT NULL) AS waiting`;
      const swept = async (gatewayNow: number) => {
        await new EventStore(database).trim(gatewayNow);
        for (const sweep of [sweepDeliveries, sweepJobs]) await database.step(sweep, { gatewayNow });
        return (await database.read<object>(kept.with()))[0];
      };
      clock.step(days * DAY_MS);
      expect(await swept(Date.now())).toEqual({ events: 1, deliveries: 1, chunks: 2, waiting: 1 });
      expect(await swept(Date.now() + 8 * DAY_MS)).toEqual({
        events: 0,
        deliveries: 0,
        chunks: 1,
        waiting: 0,
      });
      clock.step(0);
    },
  );

  it('P15 the clock of one gateway is an hour ahead: what another has seen after its search is not gone twice', async () => {
    clock.step(0);
    const databaseUrl = await server.newUrl();
    const fleet = await Fleet.start(sandbox, 1, { databaseUrl, how: { disturbed: true } });
    atEnd(() => fleet.stop());
    await sandbox.control('PUT', '/profile', { asyncOrders: 'never' });
    const number = newNumber();
    const body = orderOf(number, { syncMode: 'async', items: [deletionOfAsset] });
    expect((await onceServed(() => fleet.post(0, '/v1/license-orders', body))).status).toBe(202);
    await fleet.gateways[0]?.disturb({ clock: 3_600_000 });
    const lacking = {
      operation: 'listAssets',
      action: { code: 0, codeAs: 'integer', status: 200, data: [] },
    };
    const lack = async () => [
      ...(await sandbox.fault(lacking)),
      ...(await sandbox.fault({ operation: 'listAssetNums', action: { code: '60017' } })),
    ];
    const searched = async (times: number, aheadMs: number) => {
      clock.step(aheadMs);
      const attempts = () => askDatabase(databaseUrl, 'SELECT FROM attempts');
      await until(`search ${times}`, async () => (await attempts()).length === times);
      // The time of the next search is told by the clock that is stepped next.
      const held = () => askDatabase(databaseUrl, 'SELECT FROM tasks WHERE lease_until > 0');
      await until(`the end of search ${times}`, async () => (await held()).length === 0);
    };
    const rules = await lack();
    await searched(1, 11_000);
    fleet.gateways[0]?.child.kill('SIGKILL');
    await fleet.gateways[0]?.ended;
    await fleet.launch({}, undefined, 0);
    await sandbox.heal(rules);
    await searched(2, 61_000);
    await lack();
    await searched(3, 301_000);
    const record = await fleet.get(0, `/v1/license-orders/crm/${number}`);
    expect(record.body).toMatchObject({ state: 'accepted', reason: null });
    clock.step(0);
  });

  it('D32 Its clock was a year ahead for one event: events before and after it expire', async () => {
    clock.step(0);
    const { database } = await openDatabase(await server.newUrl());
    atEnd(() => database.close());
    const add = (number: number, ageMs: number) =>
      database.step(
        {
          name: 'made',
          decide: () => ({
            writes: [
              sql`INSERT INTO events (platform, number, kind, name, state, at, size, record)
                VALUES (:platform, :number, 'order', 'order/crm/SO', 'succeeded', ${NOW} - :ageMs, 2, '{}')`.with(
                {
                  number,
                  ageMs,
                },
              ),
            ],
          }),
        },
        undefined,
      );
    const left = async () => {
      await new EventStore(database).trim();
      const all = sql`SELECT number FROM events WHERE platform = :platform ORDER BY number`;
      return (await database.read<{ number: number }>(all.with())).map(({ number }) => number);
    };
    await add(1, 9 * DAY_MS);
    await add(2, -365 * DAY_MS);
    await add(3, 9 * DAY_MS);
    await add(4, -365 * DAY_MS);
    await add(5, DAY_MS);
    expect(await left()).toEqual([4, 5]);
  });

  it('D32 Its clock is two days behind that of the gateways: an import sends its rows', async () => {
    clock.step(-2 * DAY_MS);
    const gateway = await gatewayOn(await server.newUrl());
    const row = `gull${++numbers},${newSecret('m')},Gull,,,`;
    const body = ['account,password,name,departmentId,remark,passwordMobile', row, ''].join('\r\n');
    const headers = { 'content-type': 'text/csv' };
    const accepted = await onceServed(() =>
      gateway.request('POST', '/v1/enterprises/ent-harbour/member-imports', { body, headers }),
    );
    expect(accepted.status).toBe(202);
    const job = async () => (await gateway.get(accepted.headers.get('location') ?? '')).body;
    await until('it has ended', async () => (await job())['finishedAt'] !== null);
    expect(await job()).toMatchObject({ state: 'succeeded' });
    // Nobody sees from outside why times are odd.
    const differs = () => events(gateway, 'clocks-differ').map((line) => line['aheadMs']);
    expect(differs()).toEqual([expect.closeTo(-2 * DAY_MS, -5)]);
    clock.step(0);
    await until('the log says that they agree', () => events(gateway, 'clocks-agree').length === 1);
    expect(differs()).toHaveLength(1);
    clock.step(0);
  });

  it.each([40, -400])(
    'D51 Its clock is %d days ahead of those of the gateways: budgets are those of its month, and no counter of a gateway is lost',
    async (days) => {
      clock.step(days * DAY_MS);
      const url = await server.newUrl();
      const rights = { scopes: ['orders:write'], enterprises: ['*'], channels: ['*'] };
      const callers = [{ name: 'two', ...rights, budgets: { orders: 2 } }];
      const gateway = await gatewayOn(url, {}, callers);
      const buy = (at: TestGateway) =>
        onceServed(() =>
          at.post('/v1/license-orders', orderOf(newNumber()), { key: String(at.keys['two']) }),
        );
      for (const _ of 'ab') expect((await buy(gateway)).status).toBe(201);
      // One that starts looks at once for counters that are no longer kept.
      const late = await gatewayOn(url, {}, callers);
      await until('it is swept', async () => (await late.metrics()).includes('\ngateway_orders_in_doubt '));
      for (const each of [gateway, late]) expect((await buy(each)).body['code']).toBe('budget-exhausted');
      const { body } = await late.get('/v1/callers/me', { key: String(late.keys['two']) });
      expect(body['budgets']).toMatchObject({ orders: { used: 2 } });
      clock.step(0);
    },
  );

  it('D4 It only reads for a while: callers are refused before anything is sent, also at a gateway without orders, and orders go on', async () => {
    const url = await server.newUrl();
    const gateways = [await gatewayOn(url), await gatewayOn(url)];
    const [busy] = gateways as [TestGateway, TestGateway];
    const [number = ''] = await placedAt(busy, 1);
    const setReadOnly = (word: string) =>
      server
        .ask(`ALTER SYSTEM SET default_transaction_read_only = ${word}`)
        .then(() => server.ask('SELECT pg_reload_conf()'));
    await setReadOnly('on');
    await isStopped(gateways, 'settings', 'DatabaseUnfit');
    expectRefused(await place(busy, newNumber()));
    expect(await recordOf(busy, number)).toMatchObject({ state: 'succeeded' });
    expect(await sends()).toBe(1);
    await setReadOnly('off');
    await isOver(gateways);
  });

  it('D33 It goes back, or is emptied, while no gateway runs: one that starts learns it from Redis, and orders stop', async () => {
    const url = await server.newUrl();
    const redis = ended(await startRedis());
    const start = () => gatewayOn(url, { REDIS_URL: redis.url, WEBHOOK_HOSTS: '127.0.0.1' });
    const first = await start();
    await placedAt(first, 1);
    const webhook = { url: 'http://127.0.0.1:1/hook', types: ['job.failed'] };
    const made = await first.post('/v1/webhooks', webhook);
    const deliveries = `/v1/webhooks/${String(made.body['webhookId'])}/deliveries`;
    const after = await placedAt(first, 1);
    await first.stop();
    await goBack(url, after);
    const second = await start();
    await isStopped([second], 'numbers', 'DatabaseLost');
    expectRefused(await place(second, after[0] as string));
    const lists = ['/v1/jobs', '/v1/webhooks'];
    const named = ['/v1/jobs/gone', '/v1/jobs/gone/rows', '/v1/webhooks/gone', ...lists];
    const answers = (gateway: TestGateway) =>
      Promise.all(named.map(async (path) => (await gateway.get(path)).body['code']));
    // What is missing may have been there.
    expect(new Set(await answers(second))).toEqual(new Set(['dependency-unavailable']));
    const ofWebhook = [
      await second.get(deliveries),
      await second.post(`${deliveries}/000000000000001`, undefined),
    ];
    expect(ofWebhook.map(({ body }) => body['code'])).toEqual(Array(2).fill('dependency-unavailable'));
    await second.stop();
    const { username } = new URL(url);
    await server.ask(`DROP SCHEMA ${username} CASCADE; CREATE SCHEMA AUTHORIZATION ${username}`);
    const third = await start();
    await isStopped([third], 'unready', 'DatabaseLost');
    expectRefused(await place(third, after[0] as string));
    expect(await sends()).toBe(2);
    expect((await confirmed(url)).code).toBe(0);
    await isOver([third]);
    expect(await answers(third)).toEqual([
      ...['job-not-found', 'job-not-found', 'webhook-not-found', undefined, undefined],
    ]);
  });

  it('D33 It goes back, and Redis answers only after a gateway has started: orders stop then', async () => {
    const url = await server.newUrl();
    const redis = ended(await startRedis());
    const first = await gatewayOn(url, { REDIS_URL: redis.url });
    const lost = await placedAt(first, 2);
    await first.stop();
    await goBack(url, lost);
    const proxy = await FaultProxy.start(redis.port);
    atEnd(() => proxy.close());
    await proxy.add({ toxic: 'down' });
    const second = await gatewayOn(url, { REDIS_URL: redis.url.replace(`:${redis.port}`, `:${proxy.port}`) });
    // The gateway places the order, as it does without Redis.
    await isPlaced(second);
    await proxy.clear();
    await isStopped([second], 'numbers', 'DatabaseLost');
    expectRefused(await place(second, lost[0] as string));
  });

  it('D33 It goes back after Redis was emptied: the gateways had told it again what they have seen', async () => {
    const url = await server.newUrl();
    const redis = ended(await startRedis());
    const start = () => gatewayOn(url, { REDIS_URL: redis.url });
    const first = await start();
    const lost = await placedAt(first, 1);
    await ask(redis, async (client) => {
      const isKnown = async () => {
        const [key = ''] = await client.keys('*:database');
        const { numbers: seen } = JSON.parse((await client.get(key)) ?? '{}') as { numbers?: object };
        return isDeepStrictEqual(seen, { begun: 1, feed: 1 });
      };
      await until('Redis knows it', isKnown);
      await client.flushall();
      await until('Redis knows it again', isKnown);
    });
    await first.stop();
    await goBack(url, lost);
    const second = await start();
    await isStopped([second], 'numbers', 'DatabaseLost');
    expectRefused(await place(second, lost[0] as string));
  });

  it('D33 It goes back, or is emptied, while no gateway runs: database-init learns from Redis what is missing, and an update confirms nothing', async () => {
    const url = await server.newUrl();
    const redis = ended(await startRedis());
    const withRedis = { REDIS_URL: redis.url };
    const init = (...options: string[]) =>
      databaseInit(
        { ...new TestGateway().environment(sandbox), ...environmentOf(url), ...withRedis },
        ...options,
      );
    const first = await gatewayOn(url, withRedis);
    const lost = await placedAt(first, 2);
    const before = await newestOf(url);
    await first.stop();
    await goBack(url, lost);
    const told = expect.stringContaining(
      'seen 2 writes that began, and the database knows of 0: 2 are missing.',
    );
    expect(await init('--migrate')).toEqual({ code: 2, output: told });
    const { username } = new URL(url);
    await server.ask(`DROP SCHEMA ${username} CASCADE; CREATE SCHEMA AUTHORIZATION ${username}`);
    expect(await init('--migrate')).toEqual({ code: 2, output: told });
    expect(await init('--yes')).toEqual({ code: 0, output: told });
    expect(await init('--migrate')).toEqual({
      code: 0,
      output: expect.stringContaining('nothing else to do'),
    });
    const away = { ...environmentOf(url), REDIS_URL: 'redis://127.0.0.1:1' };
    expect(await databaseInit({ ...new TestGateway().environment(sandbox), ...away })).toEqual({
      code: 0,
      output: expect.stringMatching(/^Warning: Redis \(REDIS_URL\) could not be read[^]*nothing else to do/),
    });
    const second = await gatewayOn(url, withRedis);
    await isOver([second]);
    // No cursor is given out twice.
    expect(await newestOf(url)).toBeGreaterThan(before);
  });

  it('D29 A backup is restored where nothing remembers what came after it: once an operator has said so, an order that was due is in doubt and not sent', async () => {
    clock.step(0);
    const url = await server.newUrl();
    const gateway = await gatewayOn(url);
    const [due, later] = [newNumber(), newNumber()];
    for (const [number, days] of [
      [due, 1],
      [later, 3],
    ] as const) {
      const notBefore = new Date(Date.now() + days * DAY_MS).toISOString();
      expect((await onceServed(() => place(gateway, number, { notBefore }))).status).toBe(202);
    }
    await gateway.stop();
    // The server of before has sent the first.
    clock.step(2 * DAY_MS);
    expect(await confirmed(url, '--restored')).toEqual({
      code: 0,
      output: expect.stringContaining('Ready.'),
    });
    const restored = await gatewayOn(url);
    await until('it is in doubt', async () => (await recordOf(restored, due))['state'] === 'in_doubt');
    expect((await recordOf(restored, later))['state']).toBe('scheduled');
    expect(await sends()).toBe(0);
    clock.step(0);
  });

  it("D34 The record of an order is gone, or cannot be reached any more, when the platform has responded: a log line and a metric have the platform's response", async () => {
    const url = await server.newUrl();
    // The time to wait for the database at the end is short.
    const gateway = await gatewayOn(url, { NODE_OPTIONS: withEndTimers('ms===33000?2000:ms') });
    async function sent() {
      const delay = { times: 1, phase: 'before', action: { delayMs: 1_500 } } as const;
      await sandbox.fault({ operation: 'batchOrder', ...delay });
      const [number, before] = [newNumber(), await sandbox.spoiled()];
      const response = placed(gateway, number);
      await sandbox.untilSpoiled(before + 1, response);
      return { number, response };
    }
    const lost = await sent();
    await askDatabase(url, 'DELETE FROM writes WHERE name = $1', `order/crm/${lost.number}`);
    const { status, body } = await lost.response;
    expect(status).toBe(201);
    const [{ licenseOrderId }] = body['items'] as [{ licenseOrderId: string }];
    const write = `order/crm/${lost.number}`;
    const ofLost = { write, found: 'succeeded', licenseOrderIds: licenseOrderId, reason: 'missing' };
    await until('it is said', () => events(gateway, 'order-result-not-recorded').length > 0);
    expect(events(gateway, 'order-result-not-recorded')).toMatchObject([{ level: 'error', ...ofLost }]);
    expect(await metric(gateway, 'gateway_order_results_not_recorded_total{reason="missing"}')).toBe(1);

    const late = await sent();
    await server.kill();
    atEnd(() => server.start());
    const answer = await late.response;
    expect(answer.status).toBe(201);
    const [item] = answer.body['items'] as [{ licenseOrderId: string }];
    const ofLate = {
      write: `order/crm/${late.number}`,
      found: 'succeeded',
      licenseOrderIds: item.licenseOrderId,
    };
    // The log names the outcome when the caller gets it, because the process may be killed.
    await until('it is said', () => events(gateway, 'order-result-open').length > 0);
    expect(events(gateway, 'order-result-open')).toMatchObject([ofLate]);
    await gateway.stop();
    expect(events(gateway, 'order-result-not-recorded')).toMatchObject([
      ofLost,
      { ...ofLate, reason: 'shutdown' },
    ]);
  });
});

describe('Another process holds the lock of the file', () => {
  async function gatewayOnFile() {
    const url = await newFile();
    // A caller gets its response at the end of this time, even if the order is not recorded.
    const gateway = await gatewayOn(url, { UPSTREAM_ORDER_DEADLINE_MS: '60000' });
    await isPlaced(gateway);
    const file = new DatabaseSync(url.slice('sqlite:'.length));
    atEnd(() => file.close());
    return { gateway, file };
  }

  it('D34 when the platform responds: the caller gets the response after the order is recorded, so that a kill then changes nothing', async () => {
    const { gateway, file } = await gatewayOnFile();
    const delay = { times: 1, phase: 'before', action: { delayMs: 1_500 } } as const;
    await sandbox.fault({ operation: 'batchOrder', ...delay });
    const number = newNumber();
    const stateNow = () =>
      file.prepare('SELECT state FROM writes WHERE name = ?').get(`order/crm/${number}`)?.['state'];
    const response = placed(gateway, number).then((answer) => [answer.status, stateNow()]);
    await sandbox.untilSpoiled(1, response);
    file.exec('BEGIN IMMEDIATE');
    // The pause is longer than the first attempt to record the order.
    await sleep(8_000);
    file.exec('ROLLBACK');
    expect(await response).toEqual([201, 'succeeded']);
    expect(events(gateway, 'order-result-open')).toEqual([]);
  });

  it('D18 when orders and keyed writes are repeated: they get their records, and only new ones are refused', async () => {
    const { gateway, file } = await gatewayOnFile();
    const [number, later] = [newNumber(), newNumber()];
    const scheduled = { notBefore: new Date(Date.now() + DAY_MS).toISOString() };
    const headers = { 'idempotency-key': credential() };
    const writes = [
      () => place(gateway, number),
      () => place(gateway, later, scheduled),
      () => send(gateway, caseOf('reserveAssetNums'), { headers }),
    ];
    const first = [];
    for (const write of writes) first.push(await onceServed(write));
    const sent = await sends();
    file.exec('BEGIN IMMEDIATE');
    for (const [at, write] of writes.entries()) {
      const again = await write();
      expect([again.status, again.text, isReplay(again)]).toEqual([
        ...[first[at]?.status, first[at]?.text, true],
      ]);
    }
    const other = await place(gateway, number, { syncMode: 'async' });
    expect(other.body).toMatchObject({ code: 'idempotency-key-reused' });
    expectRefused(await place(gateway, newNumber()));
    file.exec('ROLLBACK');
    expect(await sends()).toBe(sent);
  });
});

/** The number of the newest event. */
async function newestOf(url: string): Promise<number> {
  const [row] = await askDatabase(url, "SELECT value FROM numbers WHERE name = 'feed'");
  return Number(row?.['value']);
}

/** Changes the database to a backup from before these orders. */
async function goBack(url: string, orders: readonly string[]): Promise<void> {
  const names = orders.map((number) => `order/crm/${number}`);
  await askDatabase(url, 'DELETE FROM writes WHERE name = ANY($1)', names);
  await askDatabase(url, 'DELETE FROM events WHERE name = ANY($1)', names);
  await askDatabase(url, 'UPDATE numbers SET value = value - $1', orders.length);
}

it('D57 The database is away when a process ends that has outcomes to record: the process waits for it', async () => {
  const server = await startPostgres();
  atEnd(() => server.stop());
  const url = await server.newUrl();
  // A slow machine takes long until the database is back.
  const longer = { NODE_OPTIONS: withEndTimers('ms===33000||ms===35000?ms*10:ms') };
  let running!: GatewayProcess;
  const gateway = ended(new TestGateway());
  await gateway.open(
    sandbox,
    { ...environmentOf(url), ...longer },
    async (environment) => (running = await startGatewayProcess(environment)),
  );
  const delay = { times: 1, phase: 'before', action: { delayMs: 1_500 } } as const;
  await sandbox.fault({ operation: 'batchOrder', ...delay });
  const number = newNumber();
  const response = placed(gateway, number);
  await sandbox.untilSpoiled(1, response);
  await server.kill();
  expect((await response).status).toBe(201);
  running.child.kill('SIGINT');
  const isGone = () =>
    fetch(`${gateway.url}/health/live`).then(
      () => false,
      () => true,
    );
  await until('it takes no connection', isGone);
  await server.start();
  expect(await running.ended).toBe(0);
  expect(events(gateway, 'order-result-not-recorded')).toEqual([]);
  const next = await gatewayOn(url);
  expect((await recordOf(next, number))['state']).toBe('succeeded');
});

it('D59 PostgreSQL is slow with lists: those of one caller leave a connection to the others', async () => {
  const url = await postgresUrl();
  const lister = {
    ...{ name: 'lister', scopes: ['events:read', 'estate:read', 'members:read'] },
    ...{ enterprises: ['*'], channels: ['*'] },
  };
  const gateway = await gatewayOn(url, { ESTATE_REFRESH: '6h' }, [lister]);
  // The look for imports that wait takes a connection too.
  const wider = await gatewayOn(url, { DATABASE_POOL_MAX: '5' }, [lister]);
  const order = await onceServed(() => gateway.post('/v1/license-orders', orderOf('SO-lists')));
  expect(order.status).toBe(201);
  const keyAt = (at: TestGateway) => ({ key: at.keys['lister'] as string });
  for (const [table, path, at] of [
    ['events', '/v1/events', gateway],
    ['estate_rows', '/v1/estate?page=3', gateway],
    ['jobs', '/v1/jobs', wider],
  ] as const) {
    const other = new Client(url);
    await other.connect();
    await other.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const lists = Array.from({ length: 20 }, () => at.get(path, keyAt(at)));
    const waits = `SELECT 1 FROM pg_locks WHERE relation = '${table}'::regclass AND NOT granted`;
    const inFlight = async () => Number(/^gateway_requests_in_flight (\d+)/m.exec(await at.metrics())?.[1]);
    await until('all lists are there', async () => (await inFlight()) >= lists.length);
    await until('one of them waits', async () => (await askDatabase(url, waits)).length > 0);
    const { status } = await at.get(order.headers.get('location') as string);
    expect([table, status]).toEqual([table, 200]);
    await other.end();
    await Promise.all(lists);
  }
});

describe('a file of SQLite', () => {
  it('D15 It is deleted while the gateway runs: every write that would be lost with the process is refused, and reads are served', async () => {
    const url = await newFile();
    const gateway = await gatewayOn(url, { WEBHOOK_HOSTS: '127.0.0.1' });
    const [number = ''] = await placedAt(gateway, 1);
    rmSync(url.slice('sqlite:'.length));
    await isStopped([gateway], 'settings', 'DatabaseUnfit');
    const tomorrow = new Date(Date.now() + DAY_MS).toISOString();
    const body = { stops: 'writes', until: tomorrow, reason: 'a test' };
    for (const refused of [
      place(gateway, newNumber()),
      gateway.request('POST', '/v1/enterprises/ent-harbour/member-imports', {
        body: `account,password,name\nlost,${credential()},Lost\n`,
        headers: { 'content-type': 'text/csv' },
      }),
      gateway.post('/v1/webhooks', { url: 'http://127.0.0.1:9/hook', types: ['license-order.succeeded'] }),
      gateway.request('PUT', '/v1/maintenance', { body }),
      gateway.request('DELETE', '/v1/maintenance'),
    ])
      expectRefused(await refused);
    expect(await recordOf(gateway, number)).toMatchObject({ state: 'succeeded' });
    expect((await gateway.get('/v1/maintenance')).status).toBe(200);
    expect((await gateway.get('/v1/enterprises/ent-harbour/members')).status).toBe(200);
  });

  it('S35 A caller lists many long orders on one page: the process has the memory for them, and the page has all', async () => {
    const url = await newFile();
    const environment = { ...new TestGateway().environment(sandbox), ...environmentOf(url) };
    const { encryptionKeys, platform } = settings(environment).database;
    const { database } = await openDatabase(url, environment);
    const records = new WriteRecords(new SealedTexts(encryptionKeys, platform), new RecordedLog().log);
    const store = new WriteStore(database, records);
    const enterpriseGlobalId = 'e'.repeat(120);
    const ordered = Array.from({ length: 1_000 }, (_, at) => ({
      ...{ sequence: at + 1, orderType: 'new_buy' as const, enterpriseGlobalId },
    }));
    const orders = Array.from({ length: 500 }, (_, at) => `SO-long-${at}`);
    for (const number of orders) {
      const details = { caller: 'billing', order: ledgerOrder(number, { ordered }) };
      const write = ledgerBegin(number, { details, leaseMs: 3_600_000 });
      const { name, owner } = write;
      await until('it begins', async () => (await store.begin(write)).kind === 'begun');
      const move = { name, owner, by: 'owner', from: 'sending', to: 'succeeded', details } as const;
      await until('it has moved', async () => ['moved', 'refused'].includes((await store.move(move)).kind));
    }
    await database.close();
    const gateway = await gatewayOn(url, { NODE_OPTIONS: '--max-old-space-size=128' });
    const path = '/v1/license-orders?pageSize=1000';
    const page = await fetch(gateway.url + path, { headers: { 'x-api-key': gateway.key } });
    const { items, total } = (await page.json()) as { items: { items: object[] }[]; total: number };
    expect([page.status, total, items.length]).toEqual([200, orders.length, orders.length]);
    expect(items.every((one) => one.items.length === ordered.length)).toBe(true);
  });

  it('D17 Its disk is full: orders are refused before anything is sent, records can be read, and orders go on once there is room', async () => {
    const folder = serverFolder('small-disk-');
    atEnd(() => rmSync(folder, { recursive: true, force: true }));
    let running!: GatewayProcess;
    const gateway = ended(new TestGateway());
    await gateway.open(sandbox, environmentOf(`sqlite:${folder}/gateway.db`), async (environment) => {
      const rights = userInfo().uid === 0 ? '-m' : '-rm';
      const mounted = `mount -t tmpfs -o size=${DISK_MIB}m tmpfs "$0" && exec "$@"`;
      const command = ['unshare', rights, 'sh', '-c', mounted, folder, 'sh', START_SCRIPT];
      return (running = await startGatewayProcess(environment, { command, disturbed: true }));
    });
    const disk = `/proc/${running.child.pid}/root${folder}`;
    const [number = ''] = await placedAt(gateway, 1);
    fill(`${disk}/of-others`);
    // SQLite goes on for a while with the room that its log has already.
    await until('the disk is full', async () => {
      await Promise.all(Array.from({ length: 10 }, () => place(gateway, newNumber())));
      return (await ordersAre(gateway)) === 'down';
    });
    await isStopped([gateway], 'writes', 'DatabaseUnfit');
    const sent = await sends();
    for (let each = 0; each < 3; each++) expectRefused(await place(gateway, newNumber()));
    expect(await sends()).toBe(sent);
    expect(await recordOf(gateway, number)).toMatchObject({ state: 'succeeded' });
    rmSync(`${disk}/of-others`);
    await isOver([gateway]);
    expect(isReplay(await placed(gateway, number))).toBe(true);
  });
});

describe('encryption keys', () => {
  it('O10 Another key under a known id: the gateway refuses to start, and names the id', async () => {
    const url = await newFile();
    await (await gatewayOn(url)).stop();
    const other = newEncryptionKey('k1');
    const refused = gatewayOn(url, { ENCRYPTION_KEYS: other });
    await expect(refused).rejects.toThrow(/ENCRYPTION_KEYS has another key under the id k1 /);
    await expect(refused).rejects.not.toThrow(other.slice(3));
    // Beside the old one, under its own id, it is accepted.
    await gatewayOn(url, { ENCRYPTION_KEYS: `${newEncryptionKey('k2')},${ENCRYPTION_KEYS}` });
  });

  it('O2 A key is removed: while it seals orders that are not settled the start is refused; later a repeat is told so, and not to try again', async () => {
    const url = await newFile();
    const first = await gatewayOn(url);
    const [number = ''] = await placedAt(first, 1);
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '500' } });
    const open = newNumber();
    expect((await placed(first, open)).body).toMatchObject({ outcome: 'unknown' });
    await first.stop();
    const removed = { ENCRYPTION_KEYS: newEncryptionKey('k2') };
    await expect(gatewayOn(url, removed)).rejects.toThrow(
      /ENCRYPTION_KEYS lacks the key k1, under which 1 orders are sealed that are not settled: add it at the end/,
    );
    const again = await gatewayOn(url);
    const settlement = { as: 'succeeded', reason: 'seen at the platform' };
    expect((await again.post(`/v1/license-orders/crm/${open}/settlement`, settlement)).status).toBe(200);
    await again.stop();
    const gateway = await gatewayOn(url, removed);
    for (const answer of [
      await place(gateway, number),
      await gateway.get(`/v1/license-orders/crm/${number}`),
    ]) {
      expect(answer.status).toBe(503);
      expect(answer.body).toMatchObject({ code: 'dependency-unavailable', retryable: false });
      expect(answer.body['detail']).toContain('encryption key');
      expect(answer.headers.has('retry-after')).toBe(false);
    }
    const isSaid = () =>
      events(gateway, 'order-unreadable').some(({ write }) => write === `order/crm/${number}`);
    await until('it is said', isSaid);
    await until(
      'it is counted',
      // The search for the order that was open reads its record too.
      async () => (await metric(gateway, 'gateway_order_records_unreadable')) > 0,
    );
    expect(await sends()).toBe(2);
  });

  it('O2 A key is removed, and the database is away at the start: orders stop when it answers, while the key seals orders that are not settled', async () => {
    const url = await postgresUrl();
    const first = await gatewayOn(url);
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '500' } });
    expect((await placed(first, newNumber())).body).toMatchObject({ outcome: 'unknown' });
    await first.stop();
    const proxy = await FaultProxy.start(Number(new URL(url).port));
    atEnd(() => proxy.close());
    await proxy.add({ toxic: 'down' });
    const removed = { ENCRYPTION_KEYS: newEncryptionKey('k2') };
    const gateway = await gatewayOn(throughPort(url, proxy.port), removed);
    await proxy.clear();
    await isStopped([gateway], 'settings', 'DatabaseUnfit');
    expect(events(gateway, 'database-stopped')).toMatchObject([
      { msg: expect.stringContaining('ENCRYPTION_KEYS lacks the key k1, under which 1 orders are sealed') },
    ]);
    expectRefused(await place(gateway, newNumber()));
  });
});

it.each(['file', 'postgres'] as const)(
  'O2 A key is lost: deploy/give-up-key.sql gives up what it has sealed, and no number is sent again (%s)',
  async (engine) => {
    const url = engine === 'file' ? await newFile() : await postgresUrl();
    const hooks = { WEBHOOK_HOSTS: '127.0.0.1' };
    const first = await gatewayOn(url, hooks);
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '500' } });
    const [open, later] = [newNumber(), newNumber()];
    expect((await placed(first, open)).body).toMatchObject({ outcome: 'unknown' });
    const notBefore = new Date(Date.now() + DAY_MS).toISOString();
    expect((await place(first, later, { notBefore })).status).toBe(202);
    const hook = { url: 'http://127.0.0.1:9/hook', types: ['license-order.succeeded'] };
    expect((await first.post('/v1/webhooks', hook)).status).toBe(201);
    const body = { stops: 'writes', until: notBefore, reason: 'a test' };
    expect((await first.request('PUT', '/v1/maintenance', { body })).status).toBe(200);
    for (const enterprise of ['ent-harbour', 'ent-meridian']) {
      const imported = await first.request('POST', `/v1/enterprises/${enterprise}/member-imports`, {
        body: `account,password,name\nlost,${credential()},Lost\n`,
        headers: { 'content-type': 'text/csv' },
      });
      expect(imported.status).toBe(202);
    }
    await first.stop();
    const others = { ...hooks, ENCRYPTION_KEYS: newEncryptionKey('k2') };
    await expect(gatewayOn(url, others).then(() => 'started')).rejects.toThrow(
      /lacks the key k1, under which \d \w+ are sealed/,
    );
    const statements = readFileSync('deploy/give-up-key.sql', 'utf8');
    const passwords = 'SELECT chunk FROM job_chunks WHERE waiting IS NOT NULL';
    const unfinished = 'SELECT job_id FROM jobs WHERE finished_at IS NULL';
    // The definition of one import is under another key, and only its rows are under this one.
    const other = "UPDATE jobs SET definition = 'v1.k2.' WHERE enterprise = 'ent-meridian'";
    if (engine === 'postgres') {
      await askDatabase(url, other);
      expect(await askDatabase(url, passwords)).toHaveLength(2);
      await askDatabase(url, statements);
      for (const left of [passwords, unfinished]) expect(await askDatabase(url, left)).toEqual([]);
    } else {
      const database = new DatabaseSync(url.slice('sqlite:'.length));
      database.exec(other);
      expect(database.prepare(passwords).all()).toHaveLength(2);
      database.exec(statements);
      for (const left of [passwords, unfinished]) expect(database.prepare(left).all()).toEqual([]);
      database.close();
    }
    const gateway = await gatewayOn(url, others);
    expect((await gateway.request('DELETE', '/v1/maintenance')).status).toBe(204);
    const before = await sends();
    for (const number of [open, later])
      expect((await place(gateway, number)).body).toMatchObject({
        ...{ status: 503, code: 'dependency-unavailable', retryable: false },
      });
    expect(await sends()).toBe(before);
    await placedAt(gateway, 1);
    const totals = ['in_doubt', 'scheduled', 'succeeded'].map(
      async (state) => (await gateway.get(`/v1/license-orders?state=${state}`)).body['total'],
    );
    expect(await Promise.all(totals)).toEqual([0, 0, 3]);
    expect(await metric(gateway, 'gateway_orders_in_doubt')).toBe(0);
    expect((await gateway.get('/v1/webhooks')).body).toMatchObject({ items: [] });
  },
);

it('O18 The key of webhooks and imports is replaced: a start without it is refused while they need it, and each start seals webhooks under the first key', async () => {
  const url = await newFile();
  const next = newEncryptionKey('k2');
  const hooks = { WEBHOOK_HOSTS: '127.0.0.1' };
  const first = await gatewayOn(url, hooks);
  const hook = { url: 'http://127.0.0.1:9/hook', types: ['license-order.succeeded'] };
  const { status, body: made } = await first.post('/v1/webhooks', hook);
  expect(status).toBe(201);
  await first.stop();
  const alone = { ...hooks, ENCRYPTION_KEYS: next };
  await expect(gatewayOn(url, alone).then(() => 'started')).rejects.toThrow(
    'ENCRYPTION_KEYS lacks the key k1, under which 1 webhooks are sealed: add it at the end',
  );
  const again = await gatewayOn(url, hooks);
  const until1h = new Date(Date.now() + 3_600_000).toISOString();
  const body = { stops: 'writes', until: until1h, reason: 'a test' };
  expect((await again.request('PUT', '/v1/maintenance', { body })).status).toBe(200);
  const imported = await again.request('POST', '/v1/enterprises/ent-harbour/member-imports', {
    body: `account,password,name\nkeeper,${credential()},Keeper\n`,
    headers: { 'content-type': 'text/csv' },
  });
  expect(imported.status).toBe(202);
  await again.stop();
  const both = { ENCRYPTION_KEYS: `${next},${ENCRYPTION_KEYS}` };
  // Webhooks are off in this process.
  const resealing = await gatewayOn(url, both);
  const database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  atEnd(() => database.close());
  const sealed = () => String(database.prepare('SELECT definition FROM webhooks').get()?.['definition']);
  await until('the webhook is sealed under the new key', () => sealed().startsWith('v1.k2.'));
  await resealing.stop();
  await expect(gatewayOn(url, alone).then(() => 'started')).rejects.toThrow(
    'ENCRYPTION_KEYS lacks the key k1, under which 1 imports are sealed that have not ended: add it at the end',
  );
  const working = await gatewayOn(url, { ...hooks, ...both });
  expect((await working.request('DELETE', '/v1/maintenance')).status).toBe(204);
  const job = String(imported.headers.get('location'));
  await until('the import has ended', async () => (await working.get(job)).body['state'] === 'succeeded');
  await working.stop();
  const gateway = await gatewayOn(url, alone);
  const { secret: _, ...shown } = made;
  expect((await gateway.get(`/v1/webhooks/${String(made['webhookId'])}`)).body).toEqual(shown);
});

it('O18 One replica is restarted with the next key first: the other one says that it cannot read, and leaves nothing out', async () => {
  const url = await postgresUrl();
  const hooks = { WEBHOOK_HOSTS: '127.0.0.1' };
  const behind = await gatewayOn(url, hooks);
  const { next } = (await behind.get('/v1/events')).body;
  const both = { ...hooks, ENCRYPTION_KEYS: `${newEncryptionKey('k2')},${ENCRYPTION_KEYS}` };
  const ahead = await gatewayOn(url, both);
  const [number] = await placedAt(ahead, 1);
  const hook = { url: 'http://127.0.0.1:9/hook', types: ['license-order.succeeded'] };
  const made = await ahead.post('/v1/webhooks', hook);
  const imported = await ahead.request('POST', '/v1/enterprises/ent-harbour/member-imports', {
    body: `account,password,name\nnewer,${credential()},Newer\n`,
    headers: { 'content-type': 'text/csv' },
  });
  expect([made.status, imported.status]).toEqual([201, 202]);
  const read = {
    [`/v1/events?after=${String(next)}`]: number,
    '/v1/license-orders': number,
    '/v1/webhooks': made.body['webhookId'],
    '/v1/jobs': imported.body['jobId'],
  };
  for (const path of Object.keys(read))
    expect([path, await behind.get(path)]).toMatchObject([
      path,
      { body: { code: 'dependency-unavailable', retryable: true } },
    ]);
  expect((await place(behind, String(number))).body).toMatchObject({ status: 503, retryable: true });
  expect(events(behind, 'order-unreadable')).toMatchObject([{ reason: 'sealed' }]);
  await behind.stop();
  const restarted = await gatewayOn(url, both);
  for (const [path, text] of Object.entries(read))
    expect(JSON.stringify((await restarted.get(path)).body)).toContain(`"${String(text)}"`);
  expect(isReplay(await place(restarted, String(number)))).toBe(true);
});

it("O9 The application's key is replaced, the gateway's and a caller's own: an order from before is the same order", async () => {
  const url = await newFile();
  const partner = {
    ...{ name: 'partner', scopes: ['orders:read', 'orders:write'] },
    ...{ channels: ['crm'], enterprises: ['*'] },
  };
  const [own, ofPartner] = [newNumber(), newNumber()];
  const asPartner = (gateway: TestGateway) =>
    onceServed(() =>
      gateway.post('/v1/license-orders', orderOf(ofPartner), { key: gateway.keys['partner'] as string }),
    );
  const before = await gatewayOn(url, {}, [{ ...partner, appKey: sandbox.appKey }]);
  for (const first of [await placed(before, own), await asPartner(before)])
    expect([first.status, isReplay(first)]).toEqual([201, false]);
  await before.stop();
  const after = await gatewayOn(url, { UPSTREAM_APP_KEY: credential() }, [
    { ...partner, appKey: credential() },
  ]);
  for (const again of [await placed(after, own), await asPartner(after)])
    expect([again.status, isReplay(again)]).toEqual([201, true]);
  const other = await onceServed(() => place(after, own, { syncMode: 'async' }));
  expect(other.body).toMatchObject({ code: 'idempotency-key-reused' });
  expect([await commitsOf(own), await commitsOf(ofPartner)]).toEqual([1, 1]);
});

it('O9 The gateway learns another unit of the times of the platform: an order from before is the same order', async () => {
  const url = await newFile();
  const number = newNumber();
  const [item] = orderOf(number, {}, { endsAt: '2040-01-01T00:00:00.250Z' }).items;
  const sent = (gateway: TestGateway) => onceServed(() => place(gateway, number, { items: [item] }));
  const environment = { PLATFORM_PROFILE_FILE: profile.path };
  const before = await gatewayOn(url, environment);
  expect((await sent(before)).status).toBe(201);
  await before.stop();
  profile.write({ readings: { timestampUnit: 's' } });
  const again = await sent(await gatewayOn(url, environment));
  expect([again.status, isReplay(again)]).toEqual([201, true]);
  expect(await commitsOf(number)).toBe(1);
});
