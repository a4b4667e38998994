import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createCache } from 'cache-manager';
import { Redis } from 'ioredis';
import { Keyv } from 'keyv';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { connect, PatientRedis } from '../../test/support/patient-redis.ts';
import { startRedis, type RunningRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { newTrace } from '../observability/trace-context.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { type CallContext, Progress } from '../upstream/call-context.ts';
import { ResponseStore, type Content, type TextForm } from './response-store.ts';
import { Generations } from './generations.ts';
import { ReadCache } from './read-cache.ts';
import { ReadKeys } from './read-keys.ts';
import { redisStore } from './redis-store.ts';

const config = settings();
const LIFE_MS = 60_000;
const FORM: TextForm<string> = { toText: (value) => value, fromText: (text) => text };
const noRedis = () => new SharedRedis(settings().redis, new RecordedLog().log, new Metrics());
/** Configured, and never connected. */
const someRedis = () => {
  const { redis } = settings({
    REDIS_URL: 'redis://127.0.0.1:9',
    ENCRYPTION_KEYS: newEncryptionKey(),
  });
  return new SharedRedis(redis, new RecordedLog().log, new Metrics());
};

function cacheOf(shared?: Keyv, redis = someRedis()): ReadCache {
  const generations = new Generations(config.upstream, noRedis(), new RecordedLog().log, new Metrics());
  const keys = new ReadKeys(generations, config.upstream);
  const cache = createCache({ stores: shared ? [shared] : [] });
  const store = new ResponseStore(cache, shared ? redis : noRedis(), { ttlMs: LIFE_MS });
  return new ReadCache(store, keys, new Metrics());
}

function reading(
  user?: { kind: 'alias' | 'session'; name: string },
  enterprises = ['*'],
  params: object = {},
) {
  const grants = { enterprises: new Set(enterprises), channels: new Set<string>(), users: new Set<string>() };
  const caller = { name: 'c', grants };
  const call = { requestId: 'r', trace: newTrace(), caller, user, progress: new Progress() } as CallContext;
  return { operation: 'listMembers', params, query: {}, call, lifeMs: LIFE_MS, form: FORM };
}

const contentOf = (value: string): Content<string> => ({ value, length: value.length });

/** A platform that counts: its answers say which call they are. */
function platform(size = 1) {
  let calls = 0;
  const load = () => Promise.resolve(contentOf(String(++calls).padEnd(size)));
  return { load, calls: () => calls };
}

describe('a cached answer', () => {
  it('is for one user with one set of rights only', async () => {
    const cache = cacheOf();
    const { load, calls } = platform();
    const askers = [
      () => reading(),
      () => reading({ kind: 'alias', name: 'anna' }),
      () => reading({ kind: 'session', name: 'anna' }),
      () => reading({ kind: 'alias', name: 'bo' }),
      () => reading(undefined, ['a', 'b']),
      () => reading(undefined, ['a,b']),
      () => reading(undefined, []),
    ];
    for (const asker of askers) await cache.read(asker(), false, load);
    expect(calls()).toBe(askers.length);
    for (const asker of askers) await cache.read(asker(), false, load);
    expect(calls()).toBe(askers.length);
    // The same rights in another order are the same.
    await cache.read(reading(undefined, ['b', 'a']), false, load);
    expect(calls()).toBe(askers.length);
  });

  it('is dropped by a write to its enterprise or to none in particular, and not by one to another', async () => {
    const cache = cacheOf();
    const { load, calls } = platform();
    const ofOne = () => cache.read(reading(undefined, ['*'], { enterpriseGlobalId: 'one' }), false, load);
    const ofNone = () => cache.read(reading(), false, load);
    await ofOne();
    await ofNone();
    await cache.written({ enterpriseGlobalId: 'two' });
    await ofOne();
    expect(calls()).toBe(2);
    await ofNone();
    expect(calls()).toBe(3);
    await cache.written({ enterpriseGlobalId: 'one' });
    await ofOne();
    expect(calls()).toBe(4);
    await cache.written({ memberGlobalId: 'm' });
    await ofOne();
    expect(calls()).toBe(5);
  });

  it('lives as long as its own operation says, or the configuration, give or take a tenth', async () => {
    let now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const chance = jest.spyOn(Math, 'random');
    const cache = cacheOf();
    const { load } = platform();
    const isKept = async (read: ReturnType<typeof reading>) =>
      (await cache.read(read, false, load)).ageSeconds !== undefined;
    const short = { ...reading(), operation: 'short', lifeMs: 3_000 };
    try {
      for (const [drawn, livesMs] of [
        [0, 2_700],
        [0.5, 3_000],
        [0.999_999, 3_299],
      ] as const) {
        chance.mockReturnValue(drawn);
        await cache.read(reading(), true, load);
        await cache.read(short, true, load);
        now += livesMs - 1;
        expect([drawn, await isKept(short)]).toEqual([drawn, true]);
        now += 2;
        expect([drawn, await isKept(short), await isKept(reading())]).toEqual([drawn, false, true]);
      }
    } finally {
      clock.mockRestore();
      chance.mockRestore();
    }
    expect([cache.lifeOf(undefined), cache.lifeOf(50), cache.lifeOf(0)]).toEqual([LIFE_MS, 50, 0]);
  });

  it('is not kept where it is huge', async () => {
    const cache = cacheOf();
    const { load, calls } = platform(2_000_000);
    await cache.read(reading(), false, load);
    await cache.read(reading(), false, load);
    expect(calls()).toBe(2);
  });

  it('is fetched where a store fails at everything', async () => {
    const fail = () => Promise.reject(new Error('broken'));
    const broken = new Keyv({ store: { get: fail, set: fail, delete: fail, clear: fail } });
    const cache = cacheOf(broken);
    const { load, calls } = platform();
    const read = async (fresh: boolean) => (await cache.read(reading(), fresh, load)).value;
    expect(await read(false)).toBe('1');
    expect(await read(false)).toBe('1');
    expect(await read(true)).toBe('2');
    expect(calls()).toBe(2);
  });
});

describe('reads at the same time', () => {
  /** A platform that answers each call when the test says so. */
  function held() {
    const asked: PromiseWithResolvers<Content<string>>[] = [];
    const load = () => {
      const call = Promise.withResolvers<Content<string>>();
      asked.push(call);
      return call.promise;
    };
    return { load, asked };
  }

  it('share one call, but not with one past the cache, whose value then stays', async () => {
    const cache = cacheOf();
    const { load, asked } = held();
    const equal = [1, 2, 3].map(() => cache.read(reading(), false, load));
    await until('the platform is asked', () => asked.length === 1);
    const fresh = cache.read(reading(), true, load);
    await until('the platform is asked again', () => asked.length === 2);
    asked[1]?.resolve(contentOf('fresh'));
    expect((await fresh).value).toBe('fresh');
    expect((await cache.read(reading(), false, load)).value).toBe('fresh');
    asked[0]?.resolve(contentOf('slow'));
    expect((await Promise.all(equal)).map(({ value }) => value)).toEqual(['slow', 'slow', 'slow']);
    expect((await cache.read(reading(), false, load)).value).toBe('fresh');
    expect(asked).toHaveLength(2);
  });

  it('share a failure of all callers, which is not kept', async () => {
    const cache = cacheOf();
    const { load, asked } = held();
    const both = Promise.allSettled([1, 2].map(() => cache.read(reading(), false, load)));
    await until('the platform is asked', () => asked.length === 1);
    asked[0]?.reject(new ProblemException('upstream-unavailable'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = cache.read(reading(), false, load);
    await until('the platform is asked again', () => asked.length === 2);
    asked[1]?.resolve(contentOf('2'));
    expect((await next).value).toBe('2');
  });

  it('share no failure of one session', async () => {
    const cache = cacheOf();
    const { load, asked } = held();
    const both = Promise.allSettled([1, 2].map(() => cache.read(reading(), false, load)));
    await until('the platform is asked', () => asked.length === 1);
    asked[0]?.reject(new ProblemException('session-expired'));
    await until('the platform is asked for the other', () => asked.length === 2);
    asked[1]?.resolve(contentOf('2'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});

describe('with Redis', () => {
  let server: RunningRedis;
  let redis: SharedRedis;
  let direct: Redis;
  const metrics = new Metrics();

  beforeAll(async () => {
    server = await startRedis();
    direct = new Redis(server.url);
    const { redis: slice } = settings({
      REDIS_URL: server.url,
      ENCRYPTION_KEYS: newEncryptionKey(),
    });
    redis = await connect(new PatientRedis(slice, new RecordedLog().log, metrics));
  });
  afterAll(async () => {
    redis.onApplicationShutdown();
    direct.disconnect();
    await server.stop();
  });

  /** The second level of the cache. */
  function storeIn(connection: SharedRedis): Keyv {
    const [shared] = redisStore(connection);
    if (!shared) throw new Error('there is no Redis');
    return shared;
  }

  it('the store keeps nothing without an end of its life, and is not cleared', async () => {
    const { store } = storeIn(redis);
    for (const endless of [undefined, 0, 0.4, -1])
      expect(await store.set('key', 'value', endless)).toBe(false);
    expect(await direct.exists('key')).toBe(0);
    expect(await store.set('key', 'value', 5_000.7)).toBe(true);
    expect(await direct.pttl('key')).toBeLessThanOrEqual(5_000);
    expect(await store.delete('key')).toBe(true);
    expect(await store.delete('key')).toBe(false);
    expect(() => store.clear()).toThrow('its entries expire');
  });

  it('a value that did not change is not stored again, and one that did is', async () => {
    const unchanged = () => Promise.resolve(contentOf('the same'));
    const { load: changed } = platform();
    const cache = cacheOf(storeIn(redis), redis);
    const stored = async () => {
      const [key = ''] = await direct.keys('r3:*');
      return direct.get(key);
    };
    await cache.read(reading(), true, unchanged);
    await until('Redis has the answer', async () => (await stored()) !== null);
    const before = await stored();
    await cache.read(reading(), true, unchanged);
    expect(await stored()).toBe(before);
    await cache.read(reading(), true, changed);
    await until('Redis has the changed answer', async () => (await stored()) !== before);
  });

  it('a value without a form for Redis stays in the process', async () => {
    const shared = storeIn(redis);
    const [cache, other] = [cacheOf(shared, redis), cacheOf(shared, redis)];
    const { load, calls } = platform();
    const { form: _, ...own } = { ...reading(), operation: 'own' };
    const before = await direct.keys('r3:*');
    for (const each of [cache, cache, other]) await each.read(own, false, load);
    expect(calls()).toBe(2);
    expect(await direct.keys('r3:*')).toEqual(before);
  });

  it('a write that Redis did not take is made up for before anything is read again', async () => {
    const { log, lines } = new RecordedLog();
    const generations = new Generations(config.upstream, redis, log, metrics);
    const before = await generations.current(['one']);
    await direct.acl('SETUSER', 'default', '-set');
    await generations.advance(['one']);
    expect(lines.map(({ event }) => event)).toContain('cache-not-advanced');
    expect(await generations.current(['one'])).toBeUndefined();
    await direct.acl('SETUSER', 'default', '+set');
    const after = await generations.current(['one']);
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(before);
  });

  it('something else at the place of a generation costs one reader its cache', async () => {
    const generations = new Generations(config.upstream, redis, new RecordedLog().log, metrics);
    const others = await direct.keys('*:gen}:*');
    const [before] = (await generations.current(['taken'])) ?? [];
    const mine = (await direct.keys('*:gen}:*')).filter((key) => !others.includes(key));
    for (const key of mine) await direct.multi().del(key).lpush(key, 'x').exec();
    expect(await generations.current(['taken'])).toBeUndefined();
    const [after] = (await generations.current(['taken'])) ?? [];
    expect(after).toBeDefined();
    expect(after).not.toBe(before);
  });

  describe.each([
    ['in the process', () => noRedis()],
    ['in Redis', () => redis],
  ])('generations %s', (_, shared) => {
    const log = new RecordedLog();
    const generations = () => new Generations(config.upstream, shared(), log.log, new Metrics());

    it('stay until they are advanced, each by itself, and never come back', async () => {
      const all = generations();
      const [one, two] = (await all.current(['one', 'two'])) ?? [];
      expect(await all.current(['two', 'one'])).toEqual([two, one]);
      expect(one).not.toBe(two);
      const seen = new Set([one]);
      for (let write = 1; write <= 20; write++) {
        await all.advance(['one']);
        const [now] = (await all.current(['one'])) ?? [];
        seen.add(now);
        expect(seen.size).toBe(write + 1);
      }
      expect(await all.current(['two'])).toEqual([two]);
    });

    it('are the same for all who find none', async () => {
      const all = generations();
      const found = await Promise.all(Array.from({ length: 50 }, () => all.current(['new', 'newer'])));
      expect(new Set(found.map((words) => words?.join())).size).toBe(1);
    });
  });
});
