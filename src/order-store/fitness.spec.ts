import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { endings } from '../../test/support/endings.ts';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { connect, PatientOrderStoreRedis } from '../../test/support/patient-redis.ts';
import { ask, type RunningRedis, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { StoreFitness } from './fitness.ts';

jest.setTimeout(120_000);

const { atEnd } = endings();

/** A store of one server, and a gateway's look at its fitness; `another` is that of a gateway that starts later. */
async function store(...args: readonly string[]) {
  const master = await startRedis(args);
  atEnd(() => master.stop());
  const config = settings({ ORDER_REDIS_URL: master.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const { log } = new RecordedLog();
  const redis = new PatientOrderStoreRedis(config.orderStore, log, new Metrics());
  atEnd(() => redis.onApplicationShutdown());
  await connect(redis);
  const another = async () => {
    const fitness = new StoreFitness(config.orderStore.encryptionKeys, redis, log);
    await fitness.check(true);
    return fitness;
  };
  return { master, fitness: await another(), another };
}

async function startReplica(master: RunningRedis, connected: number): Promise<RunningRedis> {
  const replica = await startRedis(['--replicaof', '127.0.0.1', String(master.port)]);
  atEnd(() => replica.stop());
  await follow(master, connected);
  return replica;
}

async function follow(master: RunningRedis, connected: number): Promise<void> {
  await until(`${connected} replicas follow`, async () =>
    (await ask(master, (client) => client.info('replication'))).includes(`connected_slaves:${connected}`),
  );
}

it('N8 after it has connected again, the gateway looks for replicas at each check, and asks for the acknowledgement of each that has come', async () => {
  const { master, fitness } = await store();

  fitness.doubt();
  await fitness.check(false);
  expect([fitness.isFit, fitness.isDue]).toEqual([true, true]);
  for (const count of [1, 2]) {
    await startReplica(master, count);
    await until('the gateway knows it', async () => {
      expect(fitness.isDue).toBe(true);
      await fitness.check(false);
      return fitness.acknowledgements === count && fitness.replicated;
    });
  }
});

it('N9 a master that has started again, and a gateway that starts, need the acknowledgement of each replica that there was', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'redis-test-'));
  atEnd(() => rmSync(folder, { recursive: true }));
  const { master, fitness, another } = await store('--dir', folder, '--appendonly', 'yes');
  await startReplica(master, 1);
  const missing = await startReplica(master, 2);
  await fitness.check(false);
  expect(fitness.acknowledgements).toBe(2);

  await missing.kill9();
  await master.kill9();
  const port = String(master.port);
  const again = await startRedis(['--port', port, '--dir', folder, '--appendonly', 'yes']);
  atEnd(() => again.stop());
  await follow(again, 1);
  fitness.doubt();
  await until('it is reached again', () =>
    fitness.check(false).then(
      () => fitness.isFit,
      () => false,
    ),
  );
  const started = await another();

  expect([fitness.acknowledgements, started.acknowledgements]).toEqual([2, 2]);
});
