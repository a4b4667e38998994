import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer, TestGateway } from '../support/gateway.ts';
import { ask, type RunningRedis, startRedis, startSentinel, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** What callers notice of Redis' faults: reads, tokens and sessions. Each title begins with its row of the fault catalogue. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const ENCRYPTION_KEYS = newEncryptionKey();

const sandbox = useSandbox();
/** Ended after each test, the youngest first. */
const { atEnd, ended } = endings();

beforeEach(() => sandbox.reset({ tokens: true }));

const newRedis = async (...args: string[]) => ended(await startRedis(args));
const comesBack = ({ port }: RunningRedis) => newRedis('--port', String(port));

async function proxyTo({ port }: RunningRedis): Promise<FaultProxy & { redisUrl: string }> {
  const proxy = await FaultProxy.start(port);
  atEnd(() => proxy.close());
  return Object.assign(proxy, { redisUrl: `redis://127.0.0.1:${proxy.port}` });
}

async function gatewayAt(REDIS_URL: string, environment: Record<string, string> = {}): Promise<TestGateway> {
  return ended(await startInProcess(sandbox, { REDIS_URL, ENCRYPTION_KEYS, ...environment }));
}

const redisStatus = async (gateway: TestGateway) => (await gateway.get('/health/ready')).body['redis'];
const isUp = (gateway: TestGateway) =>
  until('Redis is up', async () => (await redisStatus(gateway)) === 'up');
const isDown = (gateway: TestGateway) =>
  until('Redis is down', async () => (await redisStatus(gateway)) === 'down');
const logins = async () =>
  (await sandbox.journal('token')).filter(
    ({ body }) => (body as { username?: string }).username === 'anna@harbour',
  );
const tokenRequests = async () => (await sandbox.journal('token')).length;

/** Reads of both areas, one after the other, all successful. The times in ms. */
async function served(gateway: TestGateway, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const started = performance.now();
    const { status } = await gateway.get(index % 2 ? MEMBERS : ASSETS);
    times.push(performance.now() - started);
    expect(status).toBe(200);
  }
  return times;
}

const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

/** A request that waited for a Redis that does not answer would take 250 ms longer than one with Redis, on any machine. */
const expectNoWait = (without: number[], withRedis: number[]) =>
  expect(median(without)).toBeLessThan(median(withRedis) + 200);

const open = (gateway: TestGateway) =>
  gateway.post('/v1/sessions', { username: 'anna@harbour', password: sandbox.seedPassword });

/** A session, once the gateway can open one: a pause of the machine makes Redis late too. */
async function logIn(gateway: TestGateway): Promise<{ headers: Record<string, string> }> {
  let answer: TestAnswer | undefined;
  await until('a session opens', async () => (answer = await open(gateway)).status === 201);
  return { headers: { 'x-session-id': answer?.body['sessionId'] as string } };
}

const serves = (gateway: TestGateway, session: { headers: Record<string, string> }) =>
  until('the session serves', async () => (await gateway.get(MEMBERS, session)).status === 200);

/** Neither trusted unchecked nor called ended: 503, and nothing happened. */
async function failsClosed(
  gateway: TestGateway,
  session?: { headers: Record<string, string> },
): Promise<void> {
  const before = (await logins()).length;
  const opened = await open(gateway);
  const isSent = (await logins()).length > before;
  expect(String(opened.body['detail']).includes('Nothing was sent')).toBe(!isSent);
  const answers = [opened, ...(session ? [await gateway.get(MEMBERS, session)] : [])];
  for (const { status, body } of answers) {
    expect(status).toBe(503);
    expect(body).toMatchObject({ code: 'dependency-unavailable', outcome: 'not_processed', retryable: true });
  }
}

async function metric(gateway: TestGateway, name: string): Promise<number> {
  const line = (await gateway.metrics()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
const errors = (gateway: TestGateway, reason: string) =>
  metric(gateway, `gateway_redis_errors_total{reason="${reason}"}`);

const events = (gateway: TestGateway, event: string) =>
  gateway.logLines.filter((line) => line.includes(`"event":"${event}"`));

/** Reads on all gateways without a pause, until `during` ends. Returns their number if all succeeded. */
async function underTraffic(gateways: TestGateway[], during: () => Promise<void>): Promise<number> {
  const over = new AbortController();
  const readers = gateways.map(async (gateway) => {
    let count = 0;
    while (!over.signal.aborted) {
      count += (await served(gateway, 2)).length;
      await wait(20);
    }
    return count;
  });
  try {
    await Promise.race([during(), Promise.all(readers)]);
  } finally {
    over.abort();
  }
  return (await Promise.all(readers)).reduce((sum, count) => sum + count);
}

describe('Redis that is down or slow', () => {
  it.each([
    ['R1 down', { toxic: 'down' }],
    ['R4 that accepts connections and never replies', { toxic: 'timeout', ms: 0 }],
  ] as const)(
    '%s at start: the gateway starts and reads, says degraded, and uses Redis later',
    async (_, toxic) => {
      const proxy = await proxyTo(await newRedis());
      await proxy.add(toxic);
      const gateway = await gatewayAt(proxy.redisUrl);
      expect((await gateway.get('/health/ready')).body).toMatchObject({ status: 'degraded', redis: 'down' });
      const without = await served(gateway, 20);
      // Two applications and the user.
      expect(await tokenRequests()).toBe(3);
      await failsClosed(gateway);
      expect(await metric(gateway, 'gateway_redis_up')).toBe(0);
      await proxy.clear();
      await isUp(gateway);
      await serves(gateway, await logIn(gateway));
      expectNoWait(without, await served(gateway, 20));
      expect(await metric(gateway, 'gateway_redis_up')).toBe(1);
      // Logged once, for all refusals in between.
      expect(events(gateway, 'redis-away').length).toBeLessThanOrEqual(3);
    },
  );

  it('R2 killed mid-run: every read is served, with at most one token request for each replica and token', async () => {
    const redis = await newRedis();
    const replicas = await Promise.all([gatewayAt(redis.url), gatewayAt(redis.url)]);
    for (const replica of replicas) await served(replica, 2);
    const session = await logIn(replicas[0]);
    const before = await tokenRequests();
    await underTraffic(replicas, async () => {
      await redis.kill9();
      await Promise.all(replicas.map(isDown));
    });
    for (const replica of replicas) await failsClosed(replica, session);
    expect((await tokenRequests()) - before).toBeLessThanOrEqual(2 * 3);
    await comesBack(redis);
    await Promise.all(replicas.map(isUp));
    // The session is gone from Redis, and the gateway says so.
    expect((await replicas[1].get(MEMBERS, session)).body['code']).toBe('session-expired');
    await serves(replicas[1], await logIn(replicas[0]));
  });

  it('R3 frozen: one command waits, later ones do not; its data is used again when it continues', async () => {
    const redis = await newRedis();
    const gateway = await gatewayAt(redis.url, { CACHE_TTL_MS: '60000' });
    await served(gateway, 10);
    const session = await logIn(gateway);
    await isUp(gateway);
    const [tokens, away] = [await tokenRequests(), events(gateway, 'redis-away').length];
    redis.freeze();
    await served(gateway, 2);
    await isDown(gateway);
    const times: number[] = [];
    for (let round = 0; round < 20; round++) {
      times.push(...(await served(gateway, 2)));
      const started = performance.now();
      await failsClosed(gateway, session);
      times.push((performance.now() - started) / 2);
    }
    expect(events(gateway, 'redis-away').length).toBeLessThanOrEqual(away + 2);
    // The sessions need no new tokens either: they were refused before a call to the platform.
    expect((await tokenRequests()) - tokens).toBeLessThanOrEqual(3);
    expect(await errors(gateway, 'timeout')).toBeGreaterThan(0);
    redis.thaw();
    await isUp(gateway);
    await serves(gateway, session);
    expectNoWait(times, await served(gateway, 20));
  });

  it('R5 100 ms away: everything works', async () => {
    const proxy = await proxyTo(await newRedis());
    await proxy.add({ toxic: 'latency', ms: 100 });
    const gateway = await gatewayAt(proxy.redisUrl, { CACHE_TTL_MS: '60000' });
    await isUp(gateway);
    expect(await served(gateway, 2)).toHaveLength(2);
    await until('it is cached', async () => (await gateway.get(ASSETS)).headers.has('age'));
    await serves(gateway, await logIn(gateway));
  });

  it('R6 reset after it has written a token, before its reply: every read is served, and one token is requested again at most', async () => {
    const proxy = await proxyTo(await newRedis());
    await proxy.add({ toxic: 'lose_reply', request: ['evalsha', ':tok:'], reply: '' });
    const gateway = await gatewayAt(proxy.redisUrl);
    await served(gateway, 10);
    expect(proxy.toxics).toEqual([]);
    // Two applications and the user.
    expect(await tokenRequests()).toBeLessThanOrEqual(3 + 1);
    await isUp(gateway);
  });
});

it('R8 a sentinel promotes the replica mid-traffic: every read is served, sessions come back', async () => {
  const sentinel = ended(await startSentinel());
  const gateways = await Promise.all([gatewayAt(sentinel.url), gatewayAt(sentinel.url)]);
  await Promise.all(gateways.map(isUp));
  const session = await logIn(gateways[0]);
  for (const gateway of gateways) await served(gateway, 2);
  await until('the replica has the session', async () => {
    const [master, replica] = [sentinel.master, sentinel.replica];
    return (
      (await ask(master, (client) => client.dbsize())) === (await ask(replica, (client) => client.dbsize()))
    );
  });
  const before = await tokenRequests();
  const reads = await underTraffic(gateways, async () => {
    await sentinel.master.kill9();
    await Promise.all(gateways.map(isDown));
    await Promise.all(gateways.map(isUp));
  });
  expect(reads).toBeGreaterThan(20);
  for (const gateway of gateways) await serves(gateway, session);
  expect((await tokenRequests()) - before).toBeLessThanOrEqual(2 * 3);
  // Writes that did not reach the new master are lost: a process that needs a token requests another.
  await ask(sentinel.replica, async (client) => client.del(...(await client.keys('*:tok:*')), 'none'));
  const lost = await tokenRequests();
  await served(await gatewayAt(sentinel.url), 20);
  expect((await tokenRequests()) - lost).toBeLessThanOrEqual(3);
});

describe('Redis that refuses', () => {
  it.each<
    [string, (redis: RunningRedis) => Promise<unknown>, (client: Redis) => Promise<unknown>, string, string]
  >([
    [
      'R11 out of memory',
      (redis) => ask(redis, (client) => client.config('SET', 'maxmemory', '1')),
      (client) => client.config('SET', 'maxmemory', '0'),
      'OOM',
      'oom',
    ],
    [
      // A replica of a master that does not exist, so it keeps its data.
      'R15 read-only',
      (redis) => ask(redis, (client) => client.replicaof('127.0.0.1', String(1))),
      (client) => client.replicaof('NO', 'ONE'),
      'READONLY',
      'readonly',
    ],
  ])(
    '%s: existing values can be read, new sessions fail closed, and it is said and counted',
    async (_, spoil, heal, code, reason) => {
      const redis = await newRedis();
      const proxy = await proxyTo(redis);
      const gateway = await gatewayAt(proxy.redisUrl, { CACHE_TTL_MS: '1000' });
      const session = await logIn(gateway);
      const connections = proxy.connections;
      await spoil(redis);
      await served(gateway, 20);
      await failsClosed(gateway);
      // The address may lead to the next master by now.
      if (code === 'READONLY') await until('it connects anew', () => proxy.connections > connections);
      await isDown(gateway);
      await until('it is said', () => events(gateway, 'redis-refuses').length > 0);
      expect(JSON.parse(events(gateway, 'redis-refuses')[0] ?? '{}')).toMatchObject({
        level: 'error',
        said: expect.stringContaining(code),
      });
      await served(gateway, 20);
      await serves(gateway, session);
      // Redis still has the tokens that the platform refuses now.
      const before = await tokenRequests();
      for (const scope of ['auth_order', 'auth_me']) await sandbox.revokeTokens({ scope });
      await served(gateway, 20);
      expect((await tokenRequests()) - before).toBeLessThanOrEqual(3);
      expect(await errors(gateway, reason)).toBeGreaterThan(0);
      // A server that stays so does not cost a connection for each write.
      expect(proxy.connections - connections).toBeLessThan(10);
      await ask(redis, heal);
      await isUp(gateway);
      await serves(gateway, await logIn(gateway));
    },
  );

  it('R12 may evict: the log warns of it at start', async () => {
    const [evicting, keeping] = [await newRedis('--maxmemory-policy', 'allkeys-lru'), await newRedis()];
    const [warned, quiet] = [await gatewayAt(evicting.url), await gatewayAt(keeping.url)];
    await until('it is said', () => events(warned, 'redis-evicts').length > 0);
    expect(events(warned, 'redis-evicts')).toEqual([expect.stringContaining('"policy":"allkeys-lru"')]);
    await serves(quiet, await logIn(quiet));
    expect(events(quiet, 'redis-evicts')).toEqual([]);
  });

  it('R16 loading: degraded until it is done', async () => {
    const before = await newRedis();
    await ask(before, async (client) => {
      // Random, so that it is not compressed: Redis serves clients after every 1,024 bytes.
      for (let key = 0; key < 1_000; key++) await client.set(String(key), randomBytes(1_024).toString('hex'));
      await client.save();
    });
    await before.kill9();
    const slowly = ['--key-load-delay', '60000', '--loading-process-events-interval-bytes', '1024'];
    const redis = ended(await startRedis(['--dir', before.folder, ...slowly], 'Loading RDB'));
    const gateway = await gatewayAt(redis.url);
    expect((await gateway.get('/health/ready')).body).toMatchObject({ status: 'degraded', redis: 'down' });
    await failsClosed(gateway);
    await served(gateway, 10);
    const hurry = new Redis(redis.url, { enableReadyCheck: false });
    await hurry.config('SET', 'key-load-delay', '0');
    hurry.disconnect();
    await isUp(gateway);
    await serves(gateway, await logIn(gateway));
  });
});

/** A value that the gateway did not write. */
const flip = (value: string) => {
  const at = value.length - 30;
  return value.slice(0, at) + (value[at] === 'A' ? 'B' : 'A') + value.slice(at + 1);
};
it.each<[string, ((value: string) => string) | 'remove' | 'retype']>([
  ['R9 removed', 'remove'],
  ['R13 with a flipped bit', flip],
  ['R14 of another type', 'retype'],
])('%s, everything in Redis is missing: reads are served, sessions are over', async (_, spoil) => {
  const redis = await newRedis();
  const cached = { CACHE_TTL_MS: '60000' };
  const first = await gatewayAt(redis.url, cached);
  const { text } = await first.get(ASSETS);
  await served(first, 2);
  const session = await logIn(first);
  await until('the answers are kept', async () => {
    return (await ask(redis, (client) => client.keys('r5:*'))).length >= 2;
  });
  await ask(redis, async (client) => {
    if (spoil === 'remove') await client.flushall();
    for (const key of await client.keys('*')) {
      if ((await client.type(key)) !== 'string') continue;
      const value = await client.get(key);
      // A token's seal is its last part.
      const [, head, sealed] = /^(|\d+:[^:]+:)(v1\..+)$/.exec(value ?? '') ?? [];
      if (typeof spoil === 'function' && sealed) await client.set(key, head + spoil(sealed), 'KEEPTTL');
      if (spoil === 'retype') await client.multi().del(key).lpush(key, 'x').exec();
    }
  });
  const before = await tokenRequests();
  const second = await gatewayAt(redis.url, cached);
  await served(second, 10);
  expect((await second.get(ASSETS)).text).toBe(text);
  expect((await tokenRequests()) - before).toBeLessThanOrEqual(3);
  await until('the session is over', async () => (await second.get(MEMBERS, session)).status === 401);
  // A value that is gone is no fault of its own.
  const unreadable = { remove: [], retype: ['cache', 'sessions'] };
  for (const store of typeof spoil === 'string' ? unreadable[spoil] : ['cache', 'sessions', 'tokens'])
    expect(await metric(second, `gateway_redis_unreadable_total{store="${store}"}`)).toBeGreaterThan(0);
  // A fresh response replaced the unreadable one.
  const third = await gatewayAt(redis.url, cached);
  await until('the cache serves again', async () => (await third.get(ASSETS)).headers.has('age'));
});

it('R17 responses cached at the same time do not expire at the same time', async () => {
  const redis = await newRedis();
  const gateway = await gatewayAt(redis.url, { CACHE_TTL_MS: '600000' });
  const paths = Array.from({ length: 25 }, (_, index) => `${MEMBERS}?pageSize=${index + 1}`);
  for (const path of paths) expect((await gateway.get(path)).status).toBe(200);
  const lives = await ask(redis, async (client) => {
    await until('they are kept', async () => (await client.keys('r5:*')).length === paths.length);
    return Promise.all((await client.keys('r5:*')).map((key) => client.pttl(key)));
  });
  // 540 to 660 s: 25 draws within a third of that would be one chance in 10^10.
  expect(Math.max(...lives)).toBeLessThanOrEqual(660_000);
  expect(Math.max(...lives) - Math.min(...lives)).toBeGreaterThan(40_000);
});
