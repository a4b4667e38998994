import { expect, it, jest } from '@jest/globals';
import { endings } from '../../test/support/endings.ts';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { ask, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { environmentName } from '../redis/key-names.ts';
import { OrderLedgerRedis } from './order-ledger-redis.ts';
import { StoreFitness } from './store-fitness.ts';

jest.setTimeout(120_000);

const { atEnd } = endings();

it('N8 after it has connected again, the gateway looks for replicas at each check, and asks for the acknowledgement of each that has come', async () => {
  const master = await startRedis();
  atEnd(() => master.stop());
  const config = settings({ GUARD_REDIS_URL: master.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const { log } = new RecordedLog();
  const redis = new OrderLedgerRedis(config.orderStore, log, new Metrics());
  atEnd(() => redis.onApplicationShutdown());
  await redis.onModuleInit();
  const environment = environmentName(config.upstream.baseUrl);
  const fitness = new StoreFitness(environment, config.orderStore.encryptionKeys, redis, log);
  await fitness.check(true);

  fitness.doubt();
  await fitness.check(false);
  expect([fitness.isFit, fitness.isDue]).toEqual([true, true]);
  for (const count of [1, 2]) {
    const replica = await startRedis(['--replicaof', '127.0.0.1', String(master.port)]);
    atEnd(() => replica.stop());
    await until('it follows', async () =>
      (await ask(master, (client) => client.info('replication'))).includes(`slave${count - 1}:`),
    );
    await until('the gateway knows it', async () => {
      expect(fitness.isDue).toBe(true);
      await fitness.check(false);
      return fitness.acknowledgements === count && fitness.replicated;
    });
  }
});
