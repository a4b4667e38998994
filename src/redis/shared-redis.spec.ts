import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { endings } from '../../test/support/endings.ts';
import { PatientRedis } from '../../test/support/patient-redis.ts';
import { ask, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';

const { atEnd, ended } = endings();

it('the shared Redis sends in one write what is asked at the end of one turn of the event loop', async () => {
  const server = ended(await startRedis());
  const { redis: slice } = settings({ REDIS_URL: server.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const redis = new PatientRedis(slice, new RecordedLog().log, new Metrics());
  atEnd(() => redis.onApplicationShutdown());
  await redis.onModuleInit();
  await until('Redis is up', () => redis.status === 'up');
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
    // The connection's own checks may run between the measurements.
    return Math.min(...rounds);
  });
  // One of the reads is that of INFO.
  expect(readsOfBoth).toBe(2);
}, 90_000);
