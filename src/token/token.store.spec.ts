import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { type RunningRedis, startRedis } from '../../test/support/redis.ts';
import { connect, PatientRedis } from '../../test/support/patient-redis.ts';
import { credential, RecordedLog, settings } from '../../test/support/settings.ts';
import { Secret } from '../config/secret.ts';
import { Metrics } from '../observability/metrics.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import { MemoryLedgerStore, RedisLedgerStore, tokenKeys } from './ledger-store.ts';
import { type AccessToken, accessToken, type Principal } from './principal.ts';
import { type FailureRecord, TokenFailure } from './token-failure.ts';
import { type Permit, TokenLedger } from './token-ledger.ts';
import { newOwner, TokenStore } from './token.store.ts';

/**
 * The stores of tokens: the ledger of a fleet on Redis and the ledger of a process alone, which follow the same rules, and the store in
 * front of both.
 */

const named = (name: string) => tokenKeys(`{env}:tok:${name}`, '{env}:tok:endpoint');
const keys = named('app:auth_order');
const others = named('app:auth_me');

let redis: RunningRedis;
let direct: Redis;
const connections: SharedRedis[] = [];
const encryptionKeys = newEncryptionKey();

/** The time that has passed for this process. Redis has its own clock. */
let passedMs = 0;
const realClock = performance.now.bind(performance);
let clock = realClock;

beforeAll(async () => {
  jest.spyOn(performance, 'now').mockImplementation(() => clock() + passedMs);
  redis = await startRedis();
  direct = new Redis(redis.url);
});
beforeEach(async () => {
  passedMs = 0;
  clock = realClock;
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

async function redisLedger(metrics = new Metrics()) {
  const { redis: slice } = settings({ REDIS_URL: redis.url, ENCRYPTION_KEYS: encryptionKeys });
  const connection = new PatientRedis(slice, new RecordedLog().log, metrics);
  connections.push(connection);
  await connect(connection);
  const sealed = connection.sealed('tokens');
  if (!sealed) throw new Error('there is no Redis');
  return new TokenLedger(new RedisLedgerStore(connection), sealed);
}

function newToken(expiresIn: unknown = 3600): AccessToken {
  const token = accessToken(credential(24), expiresIn);
  if (!token) throw new Error('is no token');
  return token;
}

const failed = (given: Partial<FailureRecord> = {}): FailureRecord => ({
  kind: 'unavailable',
  reason: 'error_response',
  ofEndpoint: false,
  count: 1,
  refusedAt: [],
  ...given,
});

async function permitFrom(
  ledger: TokenLedger,
  of = keys,
  owner: string = randomUUID(),
  stale = '',
): Promise<Permit> {
  const claim = await ledger.claim(of, owner, [stale]);
  if (claim.kind !== 'permit') throw new Error(`got ${claim.kind} and no permit`);
  return claim.permit;
}

/** Moves the time of this process. The clock of Redis cannot be set, so values there that wait for a time get an earlier one. */
async function later(ms: number): Promise<void> {
  passedMs += ms;
  for (const key of [keys.failure, keys.endpoint]) {
    const [, until, record = ''] = /^(\d+)(:.*)$/.exec((await direct.get(key)) ?? '') ?? [];
    if (until !== undefined) await direct.set(key, `${Number(until) - ms}${record}`, 'KEEPTTL');
  }
}

describe.each<[string, () => Promise<TokenLedger>]>([
  ['in Redis', () => redisLedger()],
  ['in the process', () => Promise.resolve(new TokenLedger(new MemoryLedgerStore()))],
])('a ledger %s', (_, start) => {
  let ledger: TokenLedger;
  beforeEach(async () => {
    ledger = await start();
  });

  it('lets one owner ask, also twice, since a reply may be lost, while others wait, and keeps its token for its life', async () => {
    await permitFrom(ledger, keys, 'one');
    const permit = await permitFrom(ledger, keys, 'one');
    expect(await ledger.claim(keys, 'two')).toEqual({ kind: 'busy' });
    const token = newToken(600);
    await ledger.save(permit, token);
    const claim = await ledger.claim(keys, 'two');
    expect(claim).toMatchObject({ kind: 'token', token });
    const { endsInMs } = claim as typeof claim & { kind: 'token' };
    expect(endsInMs).toBeGreaterThan(500_000);
    expect(endsInMs).toBeLessThanOrEqual(540_000);
  });

  it('gives no stale token to an owner that asks for its successor', async () => {
    const token = newToken();
    await ledger.save(await permitFrom(ledger), token);
    const permit = await permitFrom(ledger, keys, 'renewer', token.version);
    expect(await ledger.claim(keys, 'two')).toMatchObject({ kind: 'token', token });
    const renewed = newToken();
    await ledger.save(permit, renewed);
    expect(await ledger.claim(keys, 'three', [token.version])).toMatchObject({
      kind: 'token',
      token: renewed,
    });
  });

  it('replaces a stale token even if its time is later, as after a failover to a Redis whose clock is behind', async () => {
    const permit = await permitFrom(ledger);
    const token = newToken();
    await ledger.save({ ...permit, stamp: permit.stamp + 3_600_000 }, token);
    const renewing = await permitFrom(ledger, keys, 'renewer', token.version);
    const renewed = newToken();
    expect(await ledger.save(renewing, renewed)).toMatchObject({ token: renewed });
    expect(await ledger.claim(keys, 'two')).toMatchObject({ kind: 'token', token: renewed });
  });

  it('keeps no token that has no life, and frees the lock', async () => {
    await ledger.save(await permitFrom(ledger), newToken(0));
    expect((await ledger.claim(keys, 'two')).kind).toBe('permit');
  });

  it('never lets a late owner put an older token, or a failure, in the place of a newer token', async () => {
    const slow = await permitFrom(ledger, keys, 'slow');
    const newer = newToken();
    // This state is the same as if the lock of the slow owner had expired.
    await ledger.save({ ...slow, owner: 'quick', stamp: slow.stamp + 1 }, newer);
    expect(await ledger.save(slow, newToken())).toMatchObject({ token: newer });
    expect(await ledger.claim(keys, 'two')).toMatchObject({ kind: 'token', token: newer });
    await ledger.fail(slow, failed(), 60_000);
    expect(await ledger.claim(keys, 'two', [newer.version])).toMatchObject({ kind: 'permit' });
  });

  it('does not let an owner release the permit of another', async () => {
    const first = await permitFrom(ledger, keys, 'first');
    await ledger.release({ ...first, owner: 'stranger' });
    expect((await ledger.claim(keys, 'two')).kind).toBe('busy');
    await ledger.release(first);
    expect((await ledger.claim(keys, 'two')).kind).toBe('permit');
  });

  it('remembers why a request failed, and until when no owner asks; then one asks, with the failures before', async () => {
    const failure = failed({ kind: 'rejected', reason: 'invalid_grant', count: 3, refusedAt: [1, 2] });
    await ledger.fail(await permitFrom(ledger), failure, 60_000);
    const claim = await ledger.claim(keys, 'two');
    expect(claim).toMatchObject({ kind: 'failing', failure });
    const { retryInMs } = claim as typeof claim & { kind: 'failing' };
    expect(retryInMs).toBeGreaterThan(55_000);
    expect(retryInMs).toBeLessThanOrEqual(60_000);
    expect((await ledger.claim(others, 'two')).kind).toBe('permit');
    await later(60_000);
    expect((await permitFrom(ledger)).failures).toMatchObject({ principal: failure });
    expect((await ledger.claim(keys, 'another')).kind).toBe('busy');
  });

  it('holds every principal back where the endpoint itself fails, and lets one of them try again', async () => {
    const failure = failed({ ofEndpoint: true });
    await ledger.fail(await permitFrom(ledger), failure, 60_000);
    expect(await ledger.claim(others, 'two')).toMatchObject({ kind: 'failing', failure });
    await later(60_000);
    const permit = await permitFrom(ledger, others);
    expect(permit.failures).toMatchObject({ endpoint: failure });
    expect((await ledger.claim(keys, 'three')).kind).toBe('busy');
    await ledger.save(permit, newToken());
    expect((await ledger.claim(keys, 'three')).kind).toBe('permit');
  });

  it('counts an endpoint that refuses a principal as working', async () => {
    await ledger.fail(await permitFrom(ledger), failed({ ofEndpoint: true }), 60_000);
    await later(60_000);
    await ledger.fail(await permitFrom(ledger), failed({ kind: 'rejected' }), 60_000);
    expect(await ledger.claim(others, 'two')).toMatchObject({
      kind: 'permit',
      permit: { failures: { endpoint: undefined } },
    });
  });

  it('forgets failures at the first success', async () => {
    await ledger.fail(await permitFrom(ledger), failed({ count: 5 }), 60_000);
    await later(60_000);
    const token = newToken();
    await ledger.save(await permitFrom(ledger), token);
    await ledger.refuse(keys, token.version, false);
    expect((await permitFrom(ledger)).failures).toEqual({ principal: undefined, endpoint: undefined });
  });

  it('serves a token that it holds, also after failures', async () => {
    const token = newToken();
    await ledger.save(await permitFrom(ledger), token);
    const permit = await permitFrom(ledger, keys, 'renewer', token.version);
    await ledger.fail(permit, failed(), 60_000);
    expect(await ledger.claim(keys, 'two')).toMatchObject({ kind: 'token', token });
    expect((await ledger.claim(keys, 'two', [token.version])).kind).toBe('failing');
  });

  describe('when the platform refuses a token', () => {
    it('drops that version and no other', async () => {
      const token = newToken();
      await ledger.save(await permitFrom(ledger), token);
      expect(await ledger.refuse(keys, 'older', false)).toBe(true);
      expect((await ledger.claim(keys, 'two')).kind).toBe('token');
      expect(await ledger.refuse(keys, token.version, false)).toBe(true);
      expect((await ledger.claim(keys, 'two')).kind).toBe('permit');
    });

    it('holds off where the renewed token is refused as well: it stays and is not renewed', async () => {
      const token = newToken();
      await ledger.save(await permitFrom(ledger), token);
      expect(await ledger.refuse(keys, token.version, true)).toBe(false);
      expect(await ledger.refuse(keys, token.version, false)).toBe(false);
      expect(await ledger.claim(keys, 'two')).toMatchObject({ kind: 'token', token });
      expect(await ledger.refuse(others, token.version, false)).toBe(true);
    });
  });
});

describe('time', () => {
  it('ends a lock, a hold and a token in the process by its own clock', async () => {
    clock = () => 1_000_000;
    const ledger = new TokenLedger(new MemoryLedgerStore());
    await permitFrom(ledger, keys, 'died');
    passedMs = 9_999;
    expect((await ledger.claim(keys, 'two')).kind).toBe('busy');
    passedMs = 10_001;
    const token = newToken();
    await ledger.save(await permitFrom(ledger, keys, 'two'), token);
    await ledger.refuse(keys, token.version, true);
    passedMs = 20_000;
    // A further refusal does not make the hold longer.
    expect(await ledger.refuse(keys, token.version, true)).toBe(false);
    expect(await ledger.refuse(keys, token.version, false)).toBe(false);
    passedMs = 20_100;
    expect(await ledger.refuse(keys, token.version, false)).toBe(true);
    await ledger.save(await permitFrom(ledger, keys, 'three'), token);
    passedMs += token.usableMs + 1;
    expect((await ledger.claim(keys, 'four')).kind).toBe('permit');
  });

  it('ends them in Redis by its own', async () => {
    const ledger = await redisLedger();
    const redisNow = async () => {
      const [seconds, microseconds] = await direct.time();
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    };
    /** Expects that an action gives the key this life. */
    const expectLife = async (key: string, lifeMs: number, act: () => Promise<unknown>) => {
      const before = await redisNow();
      await act();
      const end = await direct.pexpiretime(key);
      expect(end).toBeGreaterThanOrEqual(before + lifeMs);
      expect(end).toBeLessThanOrEqual((await redisNow()) + lifeMs);
    };
    let permit: Permit | undefined;
    await expectLife(keys.lock, 10_000, async () => (permit = await permitFrom(ledger, keys, 'died')));
    await expectLife(keys.token, 540_000, () => ledger.save(permit as Permit, newToken(600)));
    await expectLife(keys.hold, 10_000, () => ledger.refuse(keys, 'v', true));
    expect(await direct.exists(keys.lock)).toBe(0);
  });
});

describe('a value in Redis', () => {
  it.each<[string, (valid: string) => string, unreadable: number]>([
    ['of another form', () => JSON.stringify(newToken()), 0],
    ['a token without its seal', (valid) => valid.slice(0, valid.lastIndexOf(':') + 1), 1],
    ['a token under an unknown key', (valid) => valid.replace('v1.k1.', 'v1.k9.'), 1],
  ])('is a miss where it is %s, and counted where it does not open', async (_, change, unreadable) => {
    const metrics = new Metrics();
    const ledger = await redisLedger(metrics);
    await ledger.save(await permitFrom(ledger), newToken());
    await direct.set(keys.token, change((await direct.get(keys.token)) ?? ''), 'PX', 60_000);
    const token = newToken();
    await ledger.save(await permitFrom(ledger), token);
    expect(await ledger.claim(keys, 'two')).toMatchObject({ kind: 'token', token });
    const counted = await metrics.registry.getSingleMetricAsString('gateway_redis_unreadable_total');
    expect(counted.includes('{store="tokens"} 1')).toBe(unreadable === 1);
  });

  it('is a miss where it was copied from another principal', async () => {
    const ledger = await redisLedger();
    await ledger.save(await permitFrom(ledger, others), newToken());
    await direct.copy(others.token, keys.token, 'REPLACE');
    expect((await ledger.claim(keys, 'two')).kind).toBe('permit');
    expect((await ledger.claim(others, 'two')).kind).toBe('token');
  });

  it('of another type is a miss at every key, and is replaced', async () => {
    const ledger = await redisLedger();
    for (const key of Object.values(keys) as string[]) await direct.lpush(key, 'a');
    const token = newToken();
    await ledger.save(await permitFrom(ledger), token);
    expect(await ledger.claim(keys, 'two')).toMatchObject({ kind: 'token', token });
  });

  it('of a failure that cannot be read still holds requests back until its time', async () => {
    const ledger = await redisLedger();
    const soon = Number((await direct.time())[0]) * 1_000 + 30_000;
    await direct.set(keys.failure, `${soon}:{"kind":"sabotage"}`, 'PX', 60_000);
    expect(await ledger.claim(keys, 'two')).toMatchObject({
      kind: 'failing',
      failure: { kind: 'unavailable', reason: 'unreadable_record' },
    });
    await direct.set(keys.failure, `${soon + 10 * 3_600_000}:{}`, 'PX', 60_000);
    expect((await ledger.claim(keys, 'two')).kind).toBe('permit');
  });
});

const order: Principal = { kind: 'application', scope: 'auth_order' };
const member: Principal = { kind: 'application', scope: 'auth_me' };

const shared = {
  ENCRYPTION_KEYS: encryptionKeys,
  UPSTREAM_APP_KEY: credential(),
  UPSTREAM_APP_SECRET: credential(),
};

/** Makes a store as another process would: with its own memory and connection. */
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

async function permitOf(store: TokenStore, principal = order, stale = ''): Promise<Permit> {
  const claim = await store.claim(principal, newOwner(), stale);
  if (claim.kind !== 'permit') throw new Error(`got ${claim.kind} and no permit`);
  return claim.permit;
}

/** Saves a token as if the endpoint had sent it. */
async function obtained(store: TokenStore, token = newToken(), principal = order, stale = '') {
  await store.save(principal, await permitOf(store, principal, stale), token);
  return token;
}

/** Returns the token that this process would use without calling the endpoint. Undefined if it would have to call. */
async function found(store: TokenStore, principal = order): Promise<AccessToken | undefined> {
  const claim = await store.claim(principal, newOwner());
  if (claim.kind === 'permit') await store.release(claim.permit);
  return claim.kind === 'token' ? claim.token : undefined;
}

describe('a token in the store of a process', () => {
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
    await store.fail(await permitOf(store, member), new TokenFailure('rejected', 'invalid_client'));
    // One script needs all keys, so they must be in one slot of a cluster.
    const tags = [order, member].flatMap((each) => Object.values(store.keysOf(each)) as string[]);
    expect(new Set(tags.map((key) => /\{(.+?)\}/.exec(key)?.[1])).size).toBe(1);
    const names = await direct.keys('*');
    const dump = names.join() + (await direct.mget(names)).join();
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

  it('renewed by one process is looked up by the others within a minute, and the metrics show its age', async () => {
    const [one, other] = [await newProcess(), await newProcess()];
    const first = await obtained(one.store);
    await found(other.store);
    const renewed = await obtained(one.store, newToken(), order, first.version);
    expect(other.store.getLocal(order)).toMatchObject(first);
    passedMs = 60_001;
    expect(other.store.getLocal(order)).toBeUndefined();
    expect(await found(other.store)).toMatchObject(renewed);
    const text = await one.metrics.registry.getSingleMetricAsString('gateway_token_age_seconds');
    expect(text).toMatch(/\{principal="application"\} 6\d\b/);
  });

  it('of another platform, user center, application or secret is never served, and left alone', async () => {
    const token = await obtained((await newProcess()).store);
    for (const [name, value] of Object.entries({
      UPSTREAM_BASE_URL: 'http://127.0.0.1:10',
      UPSTREAM_TOKEN_URL: 'http://127.0.0.1:10/oauth/token',
      UPSTREAM_APP_KEY: credential(),
      UPSTREAM_APP_SECRET: credential(),
    })) {
      const other = (await newProcess({ [name]: value })).store;
      expect([name, await found(other)]).toEqual([name, undefined]);
      await obtained(other);
      expect(await found((await newProcess()).store)).toMatchObject(token);
    }
  });
});

describe('a store with a Redis that refuses writes', () => {
  let readOnly: RunningRedis;
  let control: Redis;
  beforeEach(async () => {
    readOnly = await startRedis();
    control = new Redis(readOnly.url);
  });
  afterEach(async () => {
    control.disconnect();
    await readOnly.stop();
  });

  /** Redis refuses every write, also a deletion. */
  const refuseWrites = (refused: boolean) =>
    control.config('SET', 'min-replicas-to-write', refused ? '1' : '0');

  async function refusing() {
    const { store } = await newProcess({ REDIS_URL: readOnly.url });
    const token = await obtained(store);
    await refuseWrites(true);
    return { store, token };
  }

  it('the process does not use a token again that the platform has refused', async () => {
    const { store, token } = await refusing();
    expect(await store.refuse(order, token.version, false)).toBe(true);
    const renewed = await obtained(store);
    expect(renewed.version).not.toBe(token.version);
    passedMs = 60_001;
    expect(await found(store)).toMatchObject(renewed);
    // The token that only this process has can be refused as well.
    expect(await store.refuse(order, renewed.version, false)).toBe(true);
    expect(await found(store)).toBeUndefined();
    await refuseWrites(false);
    const last = await obtained(store);
    expect(await found((await newProcess({ REDIS_URL: readOnly.url })).store)).toMatchObject(last);
    expect(await found(store)).toMatchObject(last);
  });

  it('the process keeps its renewed token, and not the one that Redis still has', async () => {
    const { store, token } = await refusing();
    const renewed = await obtained(store, newToken(), order, token.version);
    for (passedMs = 60_001; passedMs < 300_000; passedMs += 60_001)
      expect(await found(store)).toMatchObject(renewed);
  });

  it('an endpoint that issues the same token again gets no request for each use of it', async () => {
    const { store, token } = await refusing();
    await obtained(store, token, order, token.version);
    passedMs = 60_001;
    expect(await found(store)).toMatchObject({ value: token.value });
    await refuseWrites(false);
    await obtained(store, token);
    passedMs = 120_002;
    expect(await found(store)).toMatchObject({ value: token.value });
  });
});

describe('a store with Redis away', () => {
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
    const [wanted, unwanted] = [await permitOf(made.store), await permitOf(made.store, member)];
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

  it.each<[string, (store: TokenStore) => Promise<AccessToken>]>([
    [
      'finds',
      async (store) => {
        const theirs = await obtained((await newProcess({ REDIS_URL: mortal.url })).store);
        expect(await found(store)).toMatchObject(theirs);
        return theirs;
      },
    ],
    ['obtains', (store) => obtained(store)],
  ])('once Redis is back, the process forgets its own token with the one that it %s', async (_, next) => {
    const { store, token, recorded } = await orphaned();
    await obtained(store, newToken(), order, token.version);
    const ready = recorded.next('redis-ready');
    const again = await startRedis(['--port', String(mortal.port)]);
    await ready;
    const { version } = await next(store);
    const closed = recorded.next('redis-away');
    await again.kill9();
    await closed;
    expect((await store.claim(order, newOwner(), version)).kind).toBe('permit');
    await again.stop();
  });
});
