import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { type RunningRedis, startRedis } from '../../test/support/redis.ts';
import { credential, RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { type AccessToken, accessToken, type Principal } from './principal.ts';
import { TokenStore } from './token.store.ts';

const order: Principal = { kind: 'application', scope: 'auth_order' };
const member: Principal = { kind: 'application', scope: 'auth_me' };

let redis: RunningRedis;
let direct: Redis;
const connections: SharedRedis[] = [];

/** Time as the process sees it, to be put forward. */
let passedMs = 0;
const clock = performance.now.bind(performance);

beforeAll(async () => {
  jest.spyOn(performance, 'now').mockImplementation(() => clock() + passedMs);
  redis = await startRedis();
  direct = new Redis(redis.url);
});
beforeEach(async () => {
  passedMs = 0;
  await direct.flushall();
});
afterEach(() => {
  for (const each of connections.splice(0)) each.onApplicationShutdown();
});
afterAll(async () => {
  jest.restoreAllMocks();
  direct.disconnect();
  await redis.stop();
});

const newKey = (kid = 'k1') => `${kid}:${randomBytes(32).toString('base64')}`;
const shared = {
  ENCRYPTION_KEYS: newKey(),
  UPSTREAM_APP_KEY: credential(),
  UPSTREAM_APP_SECRET: credential(),
};

/** A store as another process would have it: its own memory, its own connection. */
async function newProcess(environment: Record<string, string> = {}) {
  const { upstream, redis: slice } = settings({ REDIS_URL: redis.url, ...shared, ...environment });
  const recorded = new RecordedLog();
  const connection = new SharedRedis(slice, recorded.log, new Metrics());
  connections.push(connection);
  await connection.onModuleInit();
  const log = recorded.log;
  return { store: new TokenStore(upstream, connection, log), connection, recorded };
}

function newToken(expiresIn: unknown = 3600): AccessToken {
  const token = accessToken(credential(24), expiresIn);
  if (!token) throw new Error('is no token');
  return token;
}

describe('a token in Redis', () => {
  it('is seen by another process, and by another scope not', async () => {
    const token = newToken();
    await (await newProcess()).store.save(order, token);
    const { store } = await newProcess();
    expect(store.peek(order)).toBeUndefined();
    expect(await store.load(order)).toMatchObject(token);
    expect(store.peek(order)).toMatchObject(token);
    expect(await store.load(member)).toBeUndefined();
  });

  it('is sealed: neither it nor a credential is in any key or value', async () => {
    const token = newToken();
    await (await newProcess()).store.save(order, token);
    const keys = await direct.keys('*');
    expect(keys).toHaveLength(1);
    const dump = keys.join() + (await direct.mget(keys)).join();
    const secrets = [token.value, shared.UPSTREAM_APP_KEY, shared.UPSTREAM_APP_SECRET];
    for (const secret of secrets) {
      for (const form of [
        secret,
        Buffer.from(secret).toString('base64'),
        Buffer.from(secret).toString('hex'),
      ]) {
        expect(dump).not.toContain(form);
      }
    }
    expect(dump).toContain('app:auth_order');
  });

  it('ends there when its use ends', async () => {
    await (await newProcess()).store.save(order, newToken(600));
    const [key = ''] = await direct.keys('*');
    const ttl = await direct.pttl(key);
    expect(ttl).toBeGreaterThan(530_000);
    expect(ttl).toBeLessThanOrEqual(540_000);
  });

  it('has the rest of its life in the process that loads it', async () => {
    await (await newProcess()).store.save(order, newToken(3600));
    const [key = ''] = await direct.keys('*');
    await direct.pexpire(key, 10_000);
    const { store } = await newProcess();
    await store.load(order);
    passedMs = 9_000;
    expect(store.peek(order)).toBeDefined();
    passedMs = 10_001;
    expect(store.peek(order)).toBeUndefined();
  });

  it('of no life is not stored', async () => {
    const { store } = await newProcess();
    expect(await store.save(order, newToken(0))).toMatchObject({ usableMs: 0 });
    expect(await direct.keys('*')).toEqual([]);
    expect(store.peek(order)).toBeUndefined();
  });

  it('without an end counts as missing', async () => {
    await (await newProcess()).store.save(order, newToken());
    const [key = ''] = await direct.keys('*');
    await direct.persist(key);
    expect(await (await newProcess()).store.load(order)).toBeUndefined();
  });

  it('renewed or dropped by one process is looked up by the others within a minute', async () => {
    const [one, other] = [await newProcess(), await newProcess()];
    await one.store.save(order, newToken());
    await other.store.load(order);
    const renewed = newToken();
    await one.store.save(order, renewed);
    passedMs = 60_001;
    expect(other.store.peek(order)).toBeUndefined();
    expect(await other.store.load(order)).toMatchObject(renewed);
  });
});

describe('what stands in the place of a token', () => {
  async function planted(value: string | Buffer): Promise<Awaited<ReturnType<typeof newProcess>>> {
    await (await newProcess()).store.save(order, newToken());
    const [key = ''] = await direct.keys('*');
    await direct.set(key, value, 'PX', 60_000);
    return newProcess();
  }

  it.each([
    ['text', 'text'],
    ['nothing', ''],
    ['JSON of a token', JSON.stringify(newToken())],
    ['a sealed form without content', 'v1.k1.'],
    ['bytes', randomBytes(100)],
  ])('is a miss, is removed and is told: %s', async (_, value) => {
    const { store, recorded } = await planted(value);
    const told = value === '' ? undefined : recorded.next('token-unreadable');
    expect(await store.load(order)).toBeUndefined();
    await told;
    if (value !== '') expect(await direct.keys('*')).toEqual([]);
  });

  it('is a miss where a bit of it was changed', async () => {
    await (await newProcess()).store.save(order, newToken());
    const [key = ''] = await direct.keys('*');
    const value = (await direct.get(key)) ?? '';
    const middle = Math.floor(value.length / 2);
    const changed = value[middle] === 'A' ? 'B' : 'A';
    await direct.set(key, value.slice(0, middle) + changed + value.slice(middle + 1), 'KEEPTTL');
    expect(await (await newProcess()).store.load(order)).toBeUndefined();
  });

  it('is a miss where it was copied from another scope', async () => {
    const { store } = await newProcess();
    await store.save(order, newToken());
    await store.save(member, newToken());
    const keys = await direct.keys('*');
    const [of = '', to = ''] = [
      keys.find((key) => key.includes('auth_me')),
      keys.find((key) => key.includes('auth_order')),
    ];
    await direct.copy(of, to, 'REPLACE');
    const other = (await newProcess()).store;
    expect(await other.load(order)).toBeUndefined();
    expect(await other.load(member)).toBeDefined();
  });

  it('is a miss of another type', async () => {
    await (await newProcess()).store.save(order, newToken());
    const [key = ''] = await direct.keys('*');
    await direct.del(key);
    await direct.lpush(key, 'a');
    const { store } = await newProcess();
    expect(await store.load(order)).toBeUndefined();
    // What is there is not ours to judge, so callers get along without it.
    expect(await store.save(order, newToken())).toBeDefined();
    expect(store.peek(order)).toBeDefined();
  });
});

describe('keys and credentials', () => {
  it('under another encryption key a token is a miss', async () => {
    await (await newProcess()).store.save(order, newToken());
    const { store } = await newProcess({ ENCRYPTION_KEYS: newKey() });
    expect(await store.load(order)).toBeUndefined();
  });

  it('a rotated encryption key keeps old tokens readable', async () => {
    const token = newToken();
    await (await newProcess()).store.save(order, token);
    const { store } = await newProcess({ ENCRYPTION_KEYS: `${newKey('k2')},${shared.ENCRYPTION_KEYS}` });
    expect(await store.load(order)).toMatchObject(token);
  });

  it.each([
    ['platform', { UPSTREAM_BASE_URL: 'http://127.0.0.1:10' }],
    ['user center', { UPSTREAM_TOKEN_URL: 'http://127.0.0.1:10/oauth/token' }],
    ['application', { UPSTREAM_APP_KEY: credential() }],
    ['secret', { UPSTREAM_APP_SECRET: credential() }],
  ])('another %s never gets the token, and leaves it alone', async (_, environment) => {
    const token = newToken();
    await (await newProcess()).store.save(order, token);
    const other = (await newProcess(environment)).store;
    expect(await other.load(order)).toBeUndefined();
    await other.save(order, newToken());
    expect(await (await newProcess()).store.load(order)).toMatchObject(token);
  });
});

describe('a drop', () => {
  it('removes the token of that version everywhere', async () => {
    const token = newToken();
    const { store } = await newProcess();
    await store.save(order, token);
    await store.drop(order, token.version);
    expect(store.peek(order)).toBeUndefined();
    expect(await direct.keys('*')).toEqual([]);
  });

  it('of an older version leaves the newer one, and takes it over', async () => {
    const [old, renewed] = [newToken(), newToken()];
    const [one, other] = [await newProcess(), await newProcess()];
    await one.store.save(order, old);
    await other.store.load(order);
    await one.store.save(order, renewed);
    await other.store.drop(order, old.version);
    expect(other.store.peek(order)).toMatchObject(renewed);
    expect(await (await newProcess()).store.load(order)).toMatchObject(renewed);
  });
});

describe('with Redis away', () => {
  let mortal: RunningRedis;
  beforeEach(async () => {
    mortal = await startRedis();
  });
  afterEach(() => mortal.stop());

  async function orphaned() {
    const { store, connection, recorded } = await newProcess({ REDIS_URL: mortal.url });
    const token = newToken();
    await store.save(order, token);
    const closed = recorded.next('redis-away');
    await mortal.kill9();
    await closed;
    return { store, connection, token, recorded };
  }

  it('the token of the process serves on', async () => {
    const { store, connection, token } = await orphaned();
    expect(connection.status).toBe('down');
    expect(store.peek(order)).toMatchObject(token);
  });

  it('the token of the process serves on for all of its life, not for a minute', async () => {
    const { store, token } = await orphaned();
    passedMs = 60_001;
    expect(store.peek(order) ?? (await store.load(order))).toMatchObject(token);
    passedMs = 3_240_001;
    expect(store.peek(order) ?? (await store.load(order))).toBeUndefined();
  });

  it('a new token is kept in the process, without waiting', async () => {
    const { store, token } = await orphaned();
    await store.drop(order, token.version);
    expect(store.peek(order)).toBeUndefined();
    const started = clock();
    const renewed = newToken();
    expect(await store.save(order, renewed)).toMatchObject(renewed);
    expect(await store.load(member)).toBeUndefined();
    expect(clock() - started).toBeLessThan(200);
    expect(store.peek(order)).toMatchObject(renewed);
  });

  it('a server that hangs costs a quarter of a second, and no caller an error', async () => {
    const { store } = await newProcess({ REDIS_URL: mortal.url });
    mortal.process.kill('SIGSTOP');
    const started = clock();
    expect(await store.load(order)).toBeUndefined();
    expect(clock() - started).toBeLessThan(1_000);
    mortal.process.kill('SIGCONT');
  });

  it('no password of the address is in the log', async () => {
    const password = credential();
    const { recorded, connection } = await newProcess({
      REDIS_URL: mortal.url.replace('redis://', `redis://:${password}@`),
    });
    const failed = recorded.next('redis-error');
    await mortal.kill9();
    await failed;
    expect(connection.status).toBe('down');
    expect(recorded.text).not.toContain(password);
  });
});

describe('without Redis', () => {
  it('tokens are kept in the process for all of their life, and that is told', async () => {
    const { store, connection, recorded } = await newProcess({ REDIS_URL: '', ENCRYPTION_KEYS: '' });
    expect(connection.status).toBe('off');
    expect(recorded.lines.map(({ event }) => event)).toContain('no-redis');
    const token = newToken();
    await store.save(order, token);
    passedMs = 3_239_000;
    expect(store.peek(order)).toMatchObject(token);
    expect(await store.load(order)).toMatchObject(token);
    await store.drop(order, 'another version');
    expect(store.peek(order)).toBeDefined();
    await store.drop(order, token.version);
    expect(store.peek(order)).toBeUndefined();
  });
});

it('the connection becomes ready again after Redis came back', async () => {
  const first = await startRedis();
  const { connection, recorded, store } = await newProcess({ REDIS_URL: first.url });
  const closed = recorded.next('redis-away');
  const ready = recorded.next('redis-ready');
  await first.stop();
  await closed;
  const again = await startRedis(['--port', String(first.port)]);
  await ready;
  expect(connection.status).toBe('up');
  const token = newToken();
  await store.save(order, token);
  const own = new Redis(first.url);
  expect(await own.keys('*')).toHaveLength(1);
  own.disconnect();
  await again.stop();
});
