import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { endings } from '../../test/support/endings.ts';
import { startRedis } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { JobQueue } from '../redis/job-queue.ts';
import { serverOf } from '../redis/redis-client.ts';

const { atEnd } = endings();

it('J6 gives the task of a worker that died to another one within seconds, not within minutes', async () => {
  const redis = await startRedis();
  atEnd(() => redis.stop());
  const config = settings({ REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const server = serverOf(config.orderStore);
  if (!server) throw new Error('there is a store');
  const { log } = new RecordedLog();
  const of = { server, log, name: 'tests', concurrency: 1, rememberedS: 0, prefix: '{tests}' };
  const task = { id: 'task-1', data: { name: 'one' } };

  const taken = Promise.withResolvers<void>();
  const dying = new JobQueue(of, () => {
    taken.resolve();
    return new Promise(() => undefined);
  });
  await dying.add([task]);
  await taken.promise;
  // As if its process were killed: nothing says that the task is free.
  await dying.close();

  const done = Promise.withResolvers<object>();
  const next = new JobQueue<typeof task.data>(of, async (data) => done.resolve(data));
  atEnd(() => next.close());
  const began = performance.now();
  await next.add([task]);
  expect(await done.promise).toEqual(task.data);
  expect(performance.now() - began).toBeLessThan(30_000);
});
