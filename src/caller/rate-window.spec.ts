import { randomBytes } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { endings } from '../../test/support/endings.ts';
import { connect, PatientRedis } from '../../test/support/patient-redis.ts';
import { ask, type RunningRedis, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import { RateWindow, type RateStatus } from './rate-window.ts';

jest.setTimeout(90_000);

const { atEnd } = endings();

const KEY = 'environment:rate:billing';
const HOUR = { requests: 100, perSeconds: 3_600 };

async function redisAt(url?: string): Promise<SharedRedis> {
  const { redis: slice } = settings({
    ...(url && { REDIS_URL: url, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` }),
  });
  const redis = new PatientRedis(slice, new RecordedLog().log, new Metrics());
  atEnd(() => redis.onApplicationShutdown());
  return url ? connect(redis) : redis;
}

async function newServer(): Promise<RunningRedis> {
  const server = await startRedis();
  atEnd(() => server.stop());
  return server;
}

const admitted = (statuss: readonly RateStatus[]) => statuss.filter((each) => each.admitted);
const take = (window: RateWindow, times: number, limit = HOUR) =>
  Promise.all(Array.from({ length: times }, async () => window.take(limit)));

describe('a window in the process', () => {
  it('begins with the first request, counts down, refuses, and begins anew after its time', async () => {
    let now = 5_000;
    const limit = { requests: 2, perSeconds: 10 };
    const window = new RateWindow(limit, KEY, await redisAt(), () => now);
    expect(window.take(limit)).toEqual({ admitted: true, left: 1, endsInS: 10 });
    now += 3_500;
    expect(window.take(limit)).toEqual({ admitted: true, left: 0, endsInS: 7 });
    now += 6_499;
    expect(window.take(limit)).toEqual({ admitted: false, left: 0, endsInS: 1 });
    now += 1;
    expect(window.take(limit)).toEqual({ admitted: true, left: 1, endsInS: 10 });
  });

  it('follows the limit when that is changed: what was used counts, and no window outlasts the new one', async () => {
    let now = 5_000;
    const window = new RateWindow(HOUR, KEY, await redisAt(), () => now);
    await take(window, 100);
    expect(await window.take(HOUR)).toMatchObject({ admitted: false, endsInS: 3_600 });
    expect(window.take({ requests: 101, perSeconds: 60 })).toEqual({ admitted: true, left: 0, endsInS: 60 });
    now += 60_000;
    expect(window.take({ requests: 5, perSeconds: 60 })).toMatchObject({ admitted: true, left: 4 });
  });

  it('that is used up ends with the new one, if the limit gets a shorter one', async () => {
    let now = 5_000;
    const window = new RateWindow(HOUR, KEY, await redisAt(), () => now);
    await take(window, 100);
    const minute = { requests: 100, perSeconds: 60 };
    expect(await window.take(minute)).toEqual({ admitted: false, left: 0, endsInS: 60 });
    now += 60_000;
    expect(await window.take(minute)).toEqual({ admitted: true, left: 99, endsInS: 60 });
  });
});

describe('a window in Redis', () => {
  it('is asked once for all that arrive while it is asked, and not at all once it is used up', async () => {
    const server = await newServer();
    const window = new RateWindow(HOUR, KEY, await redisAt(server.url));
    // This call makes Redis load the script.
    await window.take(HOUR);
    expect(admitted(await take(window, 1_000))).toHaveLength(99);
    expect(admitted(await take(window, 1_000))).toHaveLength(0);
    const stats = await ask(server, (client) => client.info('commandstats'));
    expect(stats).toMatch(/cmdstat_evalsha:calls=2,/);
    expect(stats).toMatch(/cmdstat_eval:calls=1,/);
  });

  it('that is used up ends with the new one for all, if the limit gets a shorter one', async () => {
    const server = await newServer();
    const redis = await redisAt(server.url);
    let later = 0;
    const window = new RateWindow(HOUR, KEY, redis, () => performance.now() + later);
    await take(window, 100);
    const minute = { requests: 100, perSeconds: 60 };
    expect(admitted(await take(window, 10, minute))).toHaveLength(0);
    const leftMs = await ask(server, (client) => client.pttl(KEY));
    expect([leftMs > 0, leftMs <= 60_000]).toEqual([true, true]);
    // The time of Redis cannot be moved, so its window ends here.
    await ask(server, (client) => client.del(KEY));
    later = 60_000;
    expect(await window.take(minute)).toMatchObject({ admitted: true, left: 99 });
  });

  it('waits for no disk: the count is not in the log that Redis writes there', async () => {
    const server = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
    atEnd(() => server.stop());
    const window = new RateWindow(HOUR, KEY, await redisAt(server.url));
    const logged = () =>
      ask(server, async (client) => /^aof_current_size:\d+/m.exec(await client.info('persistence'))?.[0]);
    const before = await logged();
    expect(before).toBeDefined();
    expect(await window.take(HOUR)).toMatchObject({ left: 99 });
    expect(await window.take(HOUR)).toMatchObject({ left: 98 });
    expect(await logged()).toBe(before);
  });

  it('is not held up by another type at its key, a count that never ends, or one that ends in a year', async () => {
    const server = await newServer();
    for (const put of [
      (client) => client.hset(KEY, 'a', '1'),
      (client) => client.set(KEY, '100'),
      (client) => client.set(KEY, '7', 'EX', 31_536_000),
    ] as Parameters<typeof ask>[1][]) {
      const window = new RateWindow(HOUR, KEY, await redisAt(server.url));
      await ask(server, async (client) => [await client.flushall(), await put(client)]);
      const status = await window.take(HOUR);
      expect({ put, ...status }).toMatchObject({ put, admitted: true, endsInS: 3_600 });
      expect(await ask(server, (client) => client.pttl(KEY))).toBeLessThanOrEqual(3_600_000);
    }
  });

  it('goes on in each process from what was heard last while Redis is away, and is one again afterwards', async () => {
    const server = await newServer();
    const redis = await redisAt(server.url);
    const window = new RateWindow(HOUR, KEY, redis);
    await take(window, 40);
    await server.kill9();
    await until('Redis is down', () => redis.status === 'down');
    const alone = await take(window, 100);
    expect(admitted(alone)).toHaveLength(60);

    const back = await startRedis(['--port', String(server.port)]);
    atEnd(() => back.stop());
    await until('Redis is up', () => redis.status === 'up');
    // A used-up window of this process refuses until it ends, while another process asks the new, empty Redis.
    expect(await window.take(HOUR)).toMatchObject({ admitted: false });
    const other = new RateWindow(HOUR, KEY, redis);
    expect(await other.take(HOUR)).toMatchObject({ admitted: true, left: 99 });
  });
});
