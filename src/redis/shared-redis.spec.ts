import { describe, expect, it, jest } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { endings } from '../../test/support/endings.ts';
import { PatientRedis } from '../../test/support/patient-redis.ts';
import { ask, type RunningRedis, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { RedisAway, SharedRedis } from './shared-redis.ts';

jest.setTimeout(90_000);

const { atEnd } = endings();

async function newServer(...args: string[]): Promise<RunningRedis> {
  const server = await startRedis(args);
  atEnd(() => server.stop());
  return server;
}

async function connected(url?: string, Connection: typeof SharedRedis = PatientRedis) {
  const { redis: slice } = settings({
    ...(url && { REDIS_URL: url, ENCRYPTION_KEYS: newEncryptionKey() }),
  });
  const recorded = new RecordedLog();
  const metrics = new Metrics();
  const redis: SharedRedis = new Connection(slice, recorded.log, metrics);
  atEnd(() => redis.onApplicationShutdown());
  await redis.onModuleInit();
  const count = (event: string) => recorded.lines.filter((line) => line.event === event).length;
  return { redis, recorded, metrics, count };
}

const isUp = (redis: SharedRedis) => until('Redis is up', () => redis.status === 'up');

async function errorsOf(metrics: Metrics): Promise<Record<string, number>> {
  const { values } = (await metrics.registry.getSingleMetric('gateway_redis_errors_total')?.get()) ?? {
    values: [],
  };
  return Object.fromEntries(values.map(({ labels, value }) => [labels['reason'], value]));
}

describe('the shared Redis connection', () => {
  it('is off where no Redis is configured', async () => {
    const { redis, metrics, count } = await connected();
    const command = jest.fn(() => Promise.resolve());
    await expect(redis.run(command)).rejects.toBeInstanceOf(RedisAway);
    expect(command).not.toHaveBeenCalled();
    expect([redis.configured, redis.status, redis.sealer, count('no-redis')]).toEqual([
      false,
      'off',
      undefined,
      1,
    ]);
    expect(await metrics.registry.metrics()).not.toContain('gateway_redis_up{');
  });

  it('stays usable after commands that the server refuses, and counts each reason', async () => {
    const server = await newServer();
    const { redis, metrics } = await connected(server.url);
    await isUp(redis);
    await redis.run((client) => client.lpush('list', 'x'));
    const write = () => redis.run((client) => client.set('key', 'value'));
    await expect(redis.run((client) => client.get('list'))).rejects.toThrow('WRONGTYPE');
    await ask(server, (client) => client.config('SET', 'maxmemory', '1'));
    await expect(write()).rejects.toThrow('OOM');
    await ask(server, (client) => client.config('SET', 'maxmemory', '0'));
    await ask(server, (client) => client.acl('SETUSER', 'default', '-set'));
    await expect(write()).rejects.toThrow('NOPERM');
    await ask(server, (client) => client.acl('SETUSER', 'default', '+set'));
    await expect(redis.run((client) => client.call('NONSENSE'))).rejects.toThrow('ERR');
    expect(redis.status).toBe('up');
    expect(await errorsOf(metrics)).toMatchObject({ wrongtype: 1, oom: 1, denied: 1, other: 1 });
  });

  it('sends in one write what is asked at the end of one turn of the event loop', async () => {
    const server = await newServer();
    const { redis } = await connected(server.url);
    await isUp(redis);
    const asked = (key: string) =>
      new Promise((resolve) => {
        redis.atEndOfTurn(() => resolve(redis.run((client) => client.mget(key))));
      });
    const readsOfBoth = await ask(server, async (client) => {
      const reads = async () => Number(/^total_reads_processed:(\d+)/m.exec(await client.info('stats'))?.[1]);
      const rounds: number[] = [];
      for (let round = 0; round < 5; round++) {
        const before = await reads();
        await Promise.all([asked('rate'), asked('generations')]);
        rounds.push((await reads()) - before);
      }
      // The connection's own checks may come in between.
      return Math.min(...rounds);
    });
    // One is that of INFO.
    expect(readsOfBoth).toBe(2);
  });
});
