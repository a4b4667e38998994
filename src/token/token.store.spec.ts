import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { type RunningRedis, startRedis } from '../../test/support/redis.ts';
import { connect, PatientRedis } from '../../test/support/patient-redis.ts';
import { credential, RecordedLog, settings } from '../../test/support/settings.ts';
import { Secret } from '../config/secret.ts';
import { Metrics } from '../observability/metrics.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import { type AccessToken, accessToken, type Principal } from './principal.ts';
import { TokenFailure } from './token-failure.ts';
import { type Grant, newOwner, TokenStore } from './token.store.ts';

const order: Principal = { kind: 'application', scope: 'auth_order' };
const member: Principal = { kind: 'application', scope: 'auth_me' };

let redis: RunningRedis;
let direct: Redis;
const connections: SharedRedis[] = [];

/** The time that has passed for the process; tests add to it. */
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

const shared = {
  ENCRYPTION_KEYS: newEncryptionKey(),
  UPSTREAM_APP_KEY: credential(),
  UPSTREAM_APP_SECRET: credential(),
};

/** A store as in another process: with its own memory and connection. */
async function newProcess(environment: Record<string, string> = {}) {
  const { upstream, redis: slice } = settings({ REDIS_URL: redis.url, ...shared, ...environment });
  const recorded = new RecordedLog();
  const metrics = new Metrics();
  const connection = new PatientRedis(slice, recorded.log, metrics);
  connections.push(connection);
  await connect(connection);
  const store = new TokenStore(upstream, connection, recorded.log, metrics);
  return { store, connection, recorded, metrics, upstream };
}

function newToken(expiresIn: unknown = 3600): AccessToken {
  const token = accessToken(credential(24), expiresIn);
  if (!token) throw new Error('is no token');
  return token;
}

async function grantFrom(store: TokenStore, principal = order, stale = ''): Promise<Grant> {
  const claim = await store.claim(principal, newOwner(), stale);
  if (claim.kind !== 'permit') throw new Error(`got ${claim.kind} and no permit`);
  return claim.grant;
}

/** Saves a token as if the endpoint had given it. */
async function obtained(store: TokenStore, token = newToken(), principal = order, stale = '') {
  await store.save(principal, await grantFrom(store, principal, stale), token);
  return token;
}

/** The token that this process would use without asking the endpoint; undefined: it would have to ask. */
async function found(store: TokenStore, principal = order): Promise<AccessToken | undefined> {
  const claim = await store.claim(principal, newOwner());
  if (claim.kind === 'permit') await store.release(claim.grant);
  return claim.kind === 'token' ? claim.token : undefined;
}

describe('a token', () => {
  it('is sealed: neither it nor a credential is in any key or value', async () => {
    const { store, upstream } = await newProcess();
    const password = credential();
    const user: Principal = {
      kind: 'user',
      alias: 'anna',
      username: credential(),
      password: new Secret(password),
    };
    const token = await obtained(store);
    await obtained(store, newToken(), user);
    await store.fail(await grantFrom(store, member), new TokenFailure('rejected', 'invalid_client'));
    // One script needs all keys: in a cluster they are in one slot.
    const tags = [order, member].flatMap((each) => Object.values(store.keysOf(each)) as string[]);
    expect(new Set(tags.map((key) => /\{(.+?)\}/.exec(key)?.[1])).size).toBe(1);
    const keys = await direct.keys('*');
    const dump = keys.join() + (await direct.mget(keys)).join();
    const secrets = [token.value, shared.UPSTREAM_APP_KEY, shared.UPSTREAM_APP_SECRET, password];
    for (const secret of [...secrets, user.username, upstream.tokenUrl.href]) {
      const encoded = (['base64', 'hex'] as const).map((as) => Buffer.from(secret).toString(as));
      for (const form of [secret, ...encoded]) expect(dump).not.toContain(form);
    }
    expect(dump).toContain('app:auth_order');
    expect(dump).toContain('user:anna');
  });

  it('has the rest of its life in the process that finds it', async () => {
    await obtained((await newProcess()).store);
    const { store } = await newProcess();
    expect(store.getLocal(order)).toBeUndefined();
    await direct.pexpire(store.keysOf(order).token, 50_000);
    await found(store);
    expect(await found(store, member)).toBeUndefined();
    passedMs = 30_000;
    expect(store.getLocal(order)).toBeDefined();
    passedMs = 50_001;
    expect(store.getLocal(order)).toBeUndefined();
  });

  it('renewed by one process is looked up by the others within a minute', async () => {
    const [one, other] = [await newProcess(), await newProcess()];
    const first = await obtained(one.store);
    await found(other.store);
    const renewed = await obtained(one.store, newToken(), order, first.version);
    expect(other.store.getLocal(order)).toMatchObject(first);
    passedMs = 60_001;
    expect(other.store.getLocal(order)).toBeUndefined();
    expect(await found(other.store)).toMatchObject(renewed);
  });

  it.each([
    ['platform', { UPSTREAM_BASE_URL: 'http://127.0.0.1:10' }],
    ['user center', { UPSTREAM_TOKEN_URL: 'http://127.0.0.1:10/oauth/token' }],
    ['application', { UPSTREAM_APP_KEY: credential() }],
    ['secret', { UPSTREAM_APP_SECRET: credential() }],
  ])('of another %s is never served, and left alone', async (_, environment) => {
    const token = await obtained((await newProcess()).store);
    const other = (await newProcess(environment)).store;
    expect(await found(other)).toBeUndefined();
    await obtained(other);
    expect(await found((await newProcess()).store)).toMatchObject(token);
  });

  it('has an age that the metrics show', async () => {
    const { store, metrics } = await newProcess();
    await obtained(store, newToken(3600));
    passedMs = 600_000;
    const text = await metrics.registry.getSingleMetricAsString('gateway_token_age_seconds');
    expect(text).toMatch(/\{principal="application"\} 60\d/);
  });
});

describe('with Redis away', () => {
  let mortal: RunningRedis;
  beforeEach(async () => {
    mortal = await startRedis();
  });
  afterEach(() => mortal.stop());

  async function orphaned() {
    const made = await newProcess({ REDIS_URL: mortal.url });
    const token = await obtained(made.store);
    const closed = made.recorded.next('redis-away');
    await mortal.kill9();
    await closed;
    return { ...made, token };
  }

  it('the token of the process serves for all of its life, not for a minute', async () => {
    const { store, token } = await orphaned();
    expect(store.getLocal(order)).toMatchObject(token);
    passedMs = 60_001;
    expect(store.getLocal(order) ?? (await found(store))).toMatchObject(token);
    passedMs = 3_240_001;
    expect(store.getLocal(order) ?? (await found(store))).toBeUndefined();
  });

  it('the result of a permit from Redis is not lost', async () => {
    const made = await newProcess({ REDIS_URL: mortal.url });
    const [wanted, unwanted] = [await grantFrom(made.store), await grantFrom(made.store, member)];
    const closed = made.recorded.next('redis-away');
    await mortal.kill9();
    await closed;
    const token = newToken();
    expect(await made.store.save(order, wanted, token)).toMatchObject(token);
    expect(made.store.getLocal(order)).toMatchObject(token);
    const holdMs = await made.store.fail(unwanted, new TokenFailure('rejected', 'invalid_client'));
    expect(holdMs).toBeLessThan(120_000);
    const claim = await made.store.claim(member, newOwner());
    if (claim.kind !== 'failing') throw new Error(`is ${claim.kind}`);
    expect(claim.retryInMs).toBeLessThan(120_000);
  });

  it('once Redis is back, the token of the fleet replaces the one that the process kept meanwhile', async () => {
    const { store, token, recorded } = await orphaned();
    await obtained(store, newToken(), order, token.version);
    const ready = recorded.next('redis-ready');
    const again = await startRedis(['--port', String(mortal.port)]);
    await ready;
    const theirs = await obtained((await newProcess({ REDIS_URL: mortal.url })).store);
    passedMs = 60_001;
    expect(await found(store)).toMatchObject(theirs);
    await again.stop();
  });
});
