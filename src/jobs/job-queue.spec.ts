import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { SteppedClock } from '../../test/support/clock-shim.ts';
import { deadWorker } from '../../test/support/dead-worker.ts';
import { endings } from '../../test/support/endings.ts';
import { ask, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { JobQueue } from '../redis/job-queue.ts';
import { serverOf } from '../redis/redis-client.ts';
import type { TaskHold } from '../shared/task-queue.ts';

const { atEnd, ended } = endings();

it('J6 gives the task of a worker that died to another one within seconds, not within minutes', async () => {
  const clock = ended(SteppedClock.make());
  const redis = ended(await startRedis([], undefined, clock.environment));
  const config = settings({ REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const server = serverOf(config.orderStore);
  if (!server) throw new Error('there is a store');
  const { log } = new RecordedLog();
  const of = { server, log, room: '', name: 'tests', concurrency: 1, rememberedS: 0, prefix: '{tests}' };
  const task = { id: 'task-1', data: { name: 'one' } };
  const taken = Promise.withResolvers<TaskHold & typeof task.data>();
  const done = Promise.withResolvers<boolean>();
  const queue = new JobQueue<typeof task.data>(of, (data, hold) => {
    taken.resolve({ ...hold, ...data });
    return done.promise;
  });
  atEnd(() => queue.close());

  const { token } = ended(await deadWorker(server, of, task));
  await queue.add([task]);
  await ask(redis, async (client) => {
    const lock = '{tests}:tests:task-1:lock';
    expect(await client.get(lock)).toBe(token);
    clock.step(601_000);
    const hold = await taken.promise;
    expect(hold).toMatchObject({ ...task.data, lock, token: await client.get(lock) });
    expect(hold.token).not.toBe(token);
    // The dead worker had it for longer, so that this test does not depend on the machine.
    expect(await client.pttl(lock)).toBeLessThanOrEqual(5_000);
    done.resolve(true);
    await until('the task is done', async () => (await client.get(lock)) === null);
  });
});
