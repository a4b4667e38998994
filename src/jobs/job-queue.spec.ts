import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { SteppedClock } from '../../test/support/clock-shim.ts';
import { endings } from '../../test/support/endings.ts';
import { startRedis } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { JobQueue } from '../redis/job-queue.ts';
import { serverOf } from '../redis/redis-client.ts';

const { atEnd, ended } = endings();

it('J6 gives the task of a worker that died to another one within seconds, not within minutes', async () => {
  const clock = ended(SteppedClock.make());
  const redis = ended(await startRedis([], undefined, clock.environment));
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

  // The first look of a worker marks the task, and the next one takes it: in production, of the same worker 5 s later.
  const done = Promise.withResolvers<object>();
  for (let look = 1; look <= 2; look++) {
    clock.step(look * 10_500);
    const next = new JobQueue<typeof task.data>(of, async (data) => done.resolve(data));
    atEnd(() => next.close());
    await next.add([task]);
  }
  expect(await done.promise).toEqual(task.data);
});
