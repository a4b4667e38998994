import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { connect, PatientRedis } from '../../test/support/patient-redis.ts';
import { startRedis, type RunningRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { newTrace } from '../observability/tracing.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { type CallContext, Progress } from '../request/call-context.ts';
import type { UpstreamClient } from '../upstream/upstream.client.ts';
import { ListStore, type TextForm } from './list-store.ts';
import { RedisLists } from './redis-store.ts';
import { type ListSpec, ReadCache } from './read-cache.ts';
import { Generations, ReadKeys } from './read-keys.ts';
import { ResponseCache } from './response-cache.ts';

const config = settings();
const LIFE = { ttlMs: 60_000 };
const FORM: TextForm<string> = { toText: (value) => value, fromText: (text) => text };
const noRedis = () => new SharedRedis(settings().redis, new RecordedLog().log, new Metrics());
/** Returns a Redis that is configured and never connected. */
const someRedis = () => {
  const { redis } = settings({
    REDIS_URL: 'redis://127.0.0.1:9',
    ENCRYPTION_KEYS: newEncryptionKey(),
  });
  return new SharedRedis(redis, new RecordedLog().log, new Metrics());
};

/** The tests pass lists to the cache, so it calls no platform. */
const NO_UPSTREAM = {} as UpstreamClient;

const newGenerations = () =>
  new Generations(config.upstream, LIFE, noRedis(), new RecordedLog().log, new Metrics());

function cachesOf(redis = noRedis(), generations = newGenerations()) {
  const keys = new ReadKeys(generations, config.upstream);
  const lists = new ListStore(redis, LIFE);
  const metrics = new Metrics();
  return {
    cache: new ReadCache(lists, keys, NO_UPSTREAM, metrics),
    responses: new ResponseCache(lists, keys, metrics),
  };
}

function cacheOf(...given: Parameters<typeof cachesOf>): ReadCache {
  return cachesOf(...given).cache;
}

type Load = ListSpec<string>['load'];
interface Reading {
  readonly spec: Omit<ListSpec<string>, 'load'>;
  readonly call: CallContext;
}

function reading(
  user?: { kind: 'alias' | 'session'; name: string },
  enterprises = ['*'],
  enterpriseGlobalId?: string,
): Reading {
  const grants = { enterprises: new Set(enterprises), channels: new Set<string>(), users: new Set<string>() };
  const caller = { name: 'c', grants };
  const call = { requestId: 'r', trace: newTrace(), caller, user, progress: new Progress() } as CallContext;
  return { spec: { name: 'listMembers', enterpriseGlobalId, query: {}, form: FORM }, call };
}

const read = (cache: ReadCache, { spec, call }: Reading, fresh: boolean, load: Load) =>
  cache.list({ ...spec, load }, call, fresh);

const loaded = (value: string) => ({ value, length: value.length });

/** A platform that counts its calls. Each response has the number of its call. */
function platform(size = 1) {
  let calls = 0;
  const load = () => Promise.resolve(loaded(String(++calls).padEnd(size)));
  return { load, calls: () => calls };
}

describe('a cached list', () => {
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
    for (const asker of askers) await read(cache, asker(), false, load);
    expect(calls()).toBe(askers.length);
    for (const asker of askers) await read(cache, asker(), false, load);
    expect(calls()).toBe(askers.length);
    // The order of rights makes no difference.
    await read(cache, reading(undefined, ['b', 'a']), false, load);
    expect(calls()).toBe(askers.length);
  });

  it('is dropped by a write to its enterprise or to none in particular, and not by one to another', async () => {
    const generations = newGenerations();
    const cache = cacheOf(undefined, generations);
    const { load, calls } = platform();
    const ofOne = () => read(cache, reading(undefined, ['*'], 'one'), false, load);
    const ofNone = () => read(cache, reading(), false, load);
    await ofOne();
    await ofNone();
    await generations.written({ enterpriseGlobalId: 'two' });
    await ofOne();
    expect(calls()).toBe(2);
    await ofNone();
    expect(calls()).toBe(3);
    await generations.written({ enterpriseGlobalId: 'one' });
    await ofOne();
    expect(calls()).toBe(4);
    await generations.written({ memberGlobalId: 'm' });
    await ofOne();
    expect(calls()).toBe(5);
  });

  it('lives as long as the configuration says, give or take a tenth', async () => {
    let now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const chance = jest.spyOn(Math, 'random');
    const cache = cacheOf();
    const { load } = platform();
    const isKept = async () => (await read(cache, reading(), false, load)).part?.askedAt !== undefined;
    try {
      for (const [drawn, livesMs] of [
        [0, 54_000],
        [0.5, 60_000],
        [0.999_999, 65_999],
      ] as const) {
        chance.mockReturnValue(drawn);
        await read(cache, reading(), true, load);
        now += livesMs - 1;
        expect([drawn, await isKept()]).toEqual([drawn, true]);
        now += 2;
        expect([drawn, await isKept()]).toEqual([drawn, false]);
      }
    } finally {
      clock.mockRestore();
      chance.mockRestore();
    }
  });

  it('is not kept where it is huge', async () => {
    const cache = cacheOf();
    const { load, calls } = platform(2_000_000);
    await read(cache, reading(), false, load);
    await read(cache, reading(), false, load);
    expect(calls()).toBe(2);
  });

  it('is fetched where a store fails at everything', async () => {
    const cache = cacheOf(someRedis());
    const { load, calls } = platform();
    const valueOf = async (fresh: boolean) => (await read(cache, reading(), fresh, load)).value;
    expect(await valueOf(false)).toBe('1');
    expect(await valueOf(false)).toBe('1');
    expect(await valueOf(true)).toBe('2');
    expect(calls()).toBe(2);
  });
});

describe('reads at the same time', () => {
  /** A platform that answers each call when the test says so. */
  function held() {
    const asked: PromiseWithResolvers<Awaited<ReturnType<Load>>>[] = [];
    const load = () => {
      const call = Promise.withResolvers<Awaited<ReturnType<Load>>>();
      asked.push(call);
      return call.promise;
    };
    return { load, asked };
  }

  it('share one call, but not with one past the cache, whose value then stays', async () => {
    const cache = cacheOf();
    const { load, asked } = held();
    const equal = [1, 2, 3].map(() => read(cache, reading(), false, load));
    await until('the platform is asked', () => asked.length === 1);
    const fresh = read(cache, reading(), true, load);
    await until('the platform is asked again', () => asked.length === 2);
    asked[1]?.resolve(loaded('fresh'));
    expect((await fresh).value).toBe('fresh');
    expect((await read(cache, reading(), false, load)).value).toBe('fresh');
    asked[0]?.resolve(loaded('slow'));
    expect((await Promise.all(equal)).map(({ value }) => value)).toEqual(['slow', 'slow', 'slow']);
    expect((await read(cache, reading(), false, load)).value).toBe('fresh');
    expect(asked).toHaveLength(2);
  });

  it('share a failure of all callers, which is not kept', async () => {
    const cache = cacheOf();
    const { load, asked } = held();
    const both = Promise.allSettled([1, 2].map(() => read(cache, reading(), false, load)));
    await until('the platform is asked', () => asked.length === 1);
    asked[0]?.reject(new ProblemException('upstream-unavailable'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = read(cache, reading(), false, load);
    await until('the platform is asked again', () => asked.length === 2);
    asked[1]?.resolve(loaded('2'));
    expect((await next).value).toBe('2');
  });

  it('share no failure of one session', async () => {
    const cache = cacheOf();
    const { load, asked } = held();
    const both = Promise.allSettled([1, 2].map(() => read(cache, reading(), false, load)));
    await until('the platform is asked', () => asked.length === 1);
    asked[0]?.reject(new ProblemException('session-expired'));
    await until('the platform is asked for the other', () => asked.length === 2);
    asked[1]?.resolve(loaded('2'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});

describe('the text of a response', () => {
  /** Reads the response that shows the list `listMembers`, as the interceptor does. */
  function pages({ cache, responses }: ReturnType<typeof cachesOf>, load: Load) {
    let made = 0;
    const get = async (fresh = false, lists = 1) => {
      const { spec, call } = reading();
      const handle = async () => {
        const values: string[] = [];
        for (let list = 0; list < lists; list++) {
          const each = { ...spec, name: `list-${list}`, load };
          const { value, part } = await cache.list(each, call, fresh);
          call.progress.uses(part);
          values.push(value);
        }
        return values;
      };
      const respond = (result: unknown) => ({ body: JSON.stringify(result), number: ++made });
      const request = { operation: `pageOf${lists}`, params: {}, url: '/', call: { ...call, fresh } };
      const { response, askedAt } = await responses.serve(request, handle, respond);
      return { ...response, isOld: askedAt !== undefined };
    };
    return { get, made: () => made };
  }

  it('is made once for the same lists, also where they were read again and have not changed', async () => {
    const { get, made } = pages(cachesOf(), () => Promise.resolve(loaded('same')));
    const both = await Promise.all([get(), get()]);
    expect(both).toEqual([1, 1].map((number) => ({ body: '["same"]', number, isOld: false })));
    expect(await get()).toEqual({ body: '["same"]', number: 1, isOld: true });
    expect(await get(true)).toEqual({ body: '["same"]', number: 1, isOld: false });
    expect(made()).toBe(1);
  });

  it('is made again when one of its lists has changed, by whichever request', async () => {
    const { load } = platform();
    const { get } = pages(cachesOf(), load);
    expect(await get(false, 2)).toEqual({ body: '["1","2"]', number: 1, isOld: false });
    expect(await get(true, 1)).toEqual({ body: '["3"]', number: 2, isOld: false });
    expect(await get(false, 2)).toEqual({ body: '["3","2"]', number: 3, isOld: true });
  });

  it('is not kept where it is made of no list', async () => {
    const { get, made } = pages(cachesOf(), () => Promise.reject(new Error('not asked')));
    await get(false, 0);
    await get(false, 0);
    expect(made()).toBe(2);
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
  function storeIn(connection: SharedRedis): RedisLists {
    const sealer = connection.sealed('cache');
    if (!sealer) throw new Error('there is no Redis');
    return new RedisLists(connection, sealer);
  }

  it('the store keeps nothing without an end of its life', async () => {
    const store = storeIn(redis);
    const list = { text: 'line\nline', askedAt: 1, generation: 'one,two' };
    for (const endless of [0, 0.4, -1]) await store.set('key', list, endless);
    expect(await direct.exists('key')).toBe(0);
    expect(await store.get('key')).toBeUndefined();
    await store.set('key', list, LIFE.ttlMs + 0.7);
    expect(await direct.pttl('key')).toBeLessThanOrEqual(LIFE.ttlMs);
    expect(await store.get('key')).toEqual(list);
  });

  it('lists that come at once are all stored, also where they are more than one command takes', async () => {
    const store = storeIn(redis);
    const lists = [1, 100, 200_000, 20, 300_000, 3].map((length, number) => ({
      text: `${number}`.padEnd(length, 'ä'),
      askedAt: number,
      generation: 'one',
    }));
    await Promise.all(lists.map((list) => store.set(`list-${list.askedAt}`, list, LIFE.ttlMs)));
    for (const list of lists) {
      expect(await store.get(`list-${list.askedAt}`)).toEqual(list);
      expect(await direct.pttl(`list-${list.askedAt}`)).toBeGreaterThan(LIFE.ttlMs / 2);
    }
  });

  it('a value that did not change is not stored again, and one that did is', async () => {
    const unchanged = () => Promise.resolve(loaded('the same'));
    const { load: changed } = platform();
    const cache = cacheOf(redis);
    const stored = async () => {
      const [key = ''] = await direct.keys('r5:*');
      return direct.get(key);
    };
    await read(cache, reading(), true, unchanged);
    await until('Redis has the answer', async () => (await stored()) !== null);
    const before = await stored();
    await read(cache, reading(), true, unchanged);
    expect(await stored()).toBe(before);
    await read(cache, reading(), true, changed);
    await until('Redis has the changed answer', async () => (await stored()) !== before);
  });

  it('a value that changes with each of many refreshes is stored ten times a second, and the last one is', async () => {
    const generations = newGenerations();
    const often = reading(undefined, ['*'], 'ent-often');
    const stores = async () =>
      Number(/cmdstat_set:calls=(\d+)/.exec(await direct.info('commandstats'))?.[1] ?? 0);
    const { load } = platform();
    const cache = cacheOf(redis, generations);
    const [before, beganAt] = [await stores(), performance.now()];
    for (let time = 0; time < 200; time++) {
      await read(cache, often, true, load);
      // Redis has had the time to store it.
      await direct.ping();
    }
    const tenths = Math.ceil((performance.now() - beganAt) / 100);
    await until('another replica reads the last one', async () => {
      const { value } = await read(cacheOf(redis, generations), often, false, () =>
        Promise.reject(new Error('none')),
      );
      return value === '200';
    });
    expect((await stores()) - before).toBeLessThanOrEqual(tenths + 2);
  });

  it('a copy from a replica whose clock is ahead does not keep out a list that was read later', async () => {
    const generations = newGenerations();
    const { load, calls } = platform();
    const asked = reading(undefined, ['*'], 'ent-clocks');
    const before = (await direct.keys('r5:*')).length;
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
    try {
      await read(cacheOf(redis, generations), asked, false, load);
    } finally {
      clock.mockRestore();
    }
    await until('Redis has the list', async () => (await direct.keys('r5:*')).length > before);
    const cache = cacheOf(redis, generations);
    expect((await read(cache, asked, false, load)).value).toBe('1');
    await generations.written({ enterpriseGlobalId: 'ent-clocks' });
    for (let time = 0; time < 3; time++) expect((await read(cache, asked, false, load)).value).toBe('2');
    expect(calls()).toBe(2);
  });

  it('a list from before the clock stepped back does not keep out the lists after a write', async () => {
    const generations = newGenerations();
    const cache = cacheOf(redis, generations);
    const { load, calls } = platform();
    const asked = reading(undefined, ['*'], 'ent-step');
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
    try {
      await read(cache, asked, false, load);
    } finally {
      clock.mockRestore();
    }
    await generations.written({ enterpriseGlobalId: 'ent-step' });
    for (let time = 0; time < 3; time++) expect((await read(cache, asked, false, load)).value).toBe('2');
    expect(calls()).toBe(2);
  });

  it('a write that Redis did not take is made up for before anything is read again', async () => {
    const { log, lines } = new RecordedLog();
    const generations = new Generations(config.upstream, LIFE, redis, log, metrics);
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
    const generations = new Generations(config.upstream, LIFE, redis, new RecordedLog().log, metrics);
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
    const generations = () => new Generations(config.upstream, LIFE, shared(), log.log, new Metrics());

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
