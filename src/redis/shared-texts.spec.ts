import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Cache, createCache } from 'cache-manager';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { connect, PatientRedis } from '../../test/support/patient-redis.ts';
import { startRedis, type RunningRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from './shared-redis.ts';
import { sharedTexts } from './shared-texts.ts';

const DAY_MS = 24 * 3_600_000;
const cacheOn = (redis: SharedRedis): Cache => createCache({ stores: [sharedTexts(redis)] });
const redisAt = (url?: string) => {
  const { redis } = settings(url ? { REDIS_URL: url, ENCRYPTION_KEYS: newEncryptionKey() } : {});
  return new PatientRedis(redis, new RecordedLog().log, new Metrics());
};

describe('without Redis', () => {
  it('the latest twenty thousand are kept', async () => {
    const cache = cacheOn(redisAt());
    for (let at = 0; at <= 20_000; at++) await cache.set(`e:${at}`, String(at), DAY_MS);
    expect(await cache.mget(['e:0', 'e:1', 'e:20000'])).toEqual([undefined, '1', '20000']);
    await cache.del('e:1');
    expect(await cache.get('e:1')).toBeUndefined();
  });

  it('a text ends with its life, and not because somebody sets the clock', async () => {
    let elapsed = performance.now();
    const clocks = [
      jest.spyOn(performance, 'now').mockImplementation(() => elapsed),
      jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 10 * DAY_MS),
    ];
    try {
      const cache = cacheOn(redisAt());
      await cache.set('e:1', 'one', DAY_MS);
      clocks[1]?.mockReturnValue(Date.now() + 20 * DAY_MS);
      elapsed += DAY_MS - 10;
      expect(await cache.get('e:1')).toBe('one');
      clocks[1]?.mockReturnValue(0);
      elapsed += 20;
      expect(await cache.get('e:1')).toBeUndefined();
    } finally {
      for (const clock of clocks) clock.mockRestore();
    }
  });
});

describe('with Redis', () => {
  let server: RunningRedis;
  let direct: Redis;
  let one: SharedRedis;
  let other: SharedRedis;

  beforeAll(async () => {
    server = await startRedis();
    direct = new Redis(server.url);
    [one, other] = await Promise.all([connect(redisAt(server.url)), connect(redisAt(server.url))]);
  });
  afterAll(async () => {
    for (const each of [one, other]) each.onApplicationShutdown();
    direct.disconnect();
    await server.stop();
  });

  it('replicas share a text, which is there as it is and with the end of its life', async () => {
    await cacheOn(one).set('e:shared', 'ä "quoted"', 5_000);
    expect(await cacheOn(other).get('e:shared')).toBe('ä "quoted"');
    expect(await direct.get('e:shared')).toBe('ä "quoted"');
    const lifeMs = await direct.pttl('e:shared');
    expect([lifeMs > 0, lifeMs <= 5_000]).toEqual([true, true]);
    await cacheOn(other).del('e:shared');
    expect(await direct.exists('e:shared')).toBe(0);
  });

  it('what Redis has counts more than what the process has', async () => {
    const [mine, theirs] = [cacheOn(one), cacheOn(other)];
    await mine.set('e:newer', 'mine', DAY_MS);
    await theirs.set('e:newer', 'theirs', DAY_MS);
    expect(await mine.get('e:newer')).toBe('theirs');
  });

  it('what another replica has deleted is gone, also where this one has stored it', async () => {
    const [mine, theirs] = [cacheOn(one), cacheOn(other)];
    await mine.set('e:deleted', 'mine', DAY_MS);
    await theirs.del('e:deleted');
    expect(await mine.get('e:deleted')).toBeUndefined();
  });

  it('what Redis did not take counts until it is deleted', async () => {
    const cache = cacheOn(one);
    await direct.acl('SETUSER', 'default', '-set');
    await cache.set('e:refused', 'kept', DAY_MS);
    await direct.acl('SETUSER', 'default', '+set');
    expect(await direct.exists('e:refused')).toBe(0);
    expect(await cache.get('e:refused')).toBe('kept');
    await cache.del('e:refused');
    expect(await cache.get('e:refused')).toBeUndefined();
  });

  it('what Redis did not take counts more than the older text there, and less than a newer one', async () => {
    const [mine, theirs] = [cacheOn(one), cacheOn(other)];
    await theirs.set('e:replaced', 'older', DAY_MS);
    await direct.acl('SETUSER', 'default', '-set');
    await mine.set('e:replaced', 'mine', DAY_MS);
    await direct.acl('SETUSER', 'default', '+set');
    expect(await mine.get('e:replaced')).toBe('mine');
    await theirs.set('e:replaced', 'newer', DAY_MS);
    expect(await mine.get('e:replaced')).toBe('newer');
  });

  it('a key of another type is none', async () => {
    await direct.lpush('e:foreign', 'x');
    expect(await cacheOn(one).get('e:foreign')).toBeUndefined();
  });

  it('while Redis is away a process goes on with what it has learned itself', async () => {
    const away = await connect(redisAt(server.url));
    const cache = cacheOn(away);
    await cache.set('e:before', 'before', DAY_MS);
    away.onApplicationShutdown();
    await until('the connection has ended', () =>
      away
        .run((client) => client.ping())
        .then(
          () => false,
          () => true,
        ),
    );
    await cache.set('e:meanwhile', 'meanwhile', DAY_MS);
    expect(await cache.mget(['e:before', 'e:meanwhile', 'e:never'])).toEqual([
      'before',
      'meanwhile',
      undefined,
    ]);
    expect(await direct.exists('e:meanwhile')).toBe(0);
    await cache.del('e:before');
    expect(await cache.get('e:before')).toBeUndefined();
  });
});
