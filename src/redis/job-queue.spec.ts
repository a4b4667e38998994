import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { SteppedClock } from '../../test/support/clock-shim.ts';
import { deadWorker } from '../../test/support/dead-worker.ts';
import { endings } from '../../test/support/endings.ts';
import { ask, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { JobQueue } from './job-queue.ts';
import { serverOf } from './redis-client.ts';
import type { RunTask, TaskHold } from '../kit/task-queue/task-queue.ts';

const { atEnd, ended } = endings();

interface Named {
  readonly name: string;
}
const task = { id: 'task-1', data: { name: 'one' } };
const lock = '{tests}:tests:task-1:lock';

async function queueOn(clock: Record<string, string> = {}) {
  const redis = ended(await startRedis([], undefined, clock));
  const config = settings({ REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const server = serverOf(config.orderStore);
  if (!server) throw new Error('there is a store');
  const { log } = new RecordedLog();
  const of = { server, log, room: '', name: 'tests', concurrency: 1, rememberedS: 0, prefix: '{tests}' };
  /** Of one more process. */
  const newQueue = (run: RunTask<Named>) => {
    const queue = new JobQueue<Named>(of, run);
    atEnd(() => queue.close());
    return queue;
  };
  return { redis, server, of, newQueue };
}

it('J6 gives the task of a worker that died to another one within seconds, not within minutes', async () => {
  const clock = ended(SteppedClock.make());
  const { redis, server, of, newQueue } = await queueOn(clock.environment);
  const taken = Promise.withResolvers<TaskHold & Named>();
  const done = Promise.withResolvers<boolean>();
  const queue = newQueue((data, hold) => {
    taken.resolve({ ...hold, ...data });
    return done.promise;
  });
  const { token } = ended(await deadWorker(server, of, task));
  await queue.add([task]);
  await ask(redis, async (client) => {
    expect(await client.get(lock)).toBe(token);
    clock.step(601_000);
    const hold = await taken.promise;
    expect(hold).toMatchObject({ ...task.data, key: lock, owner: await client.get(lock) });
    expect(hold.owner).not.toBe(token);
    // The dead worker had it for longer, so that this test does not depend on the machine.
    expect(await client.pttl(lock)).toBeLessThanOrEqual(5_000);
    done.resolve(true);
    await until('the task is done', async () => (await client.get(lock)) === null);
  });
});

it('gives back the task of a process that ends, and tries again one that is not done, until it is', async () => {
  const { redis, newQueue } = await queueOn();
  const taken = Promise.withResolvers<void>();
  const first = newQueue(async (_, { over }) => {
    const ending = once(over, 'abort');
    taken.resolve();
    await ending;
    return false;
  });
  await first.add([task]);
  await taken.promise;
  await first.close();
  await ask(redis, async (client) => {
    expect([await client.get(lock), await client.exists('{tests}:tests:task-1')]).toEqual([null, 1]);
    let attempts = 0;
    const second = newQueue(() => {
      attempts++;
      return attempts === 1 ? Promise.reject(new Error('a fault')) : Promise.resolve(attempts === 3);
    });
    // It is queued already.
    await second.add([task]);
    await until('it is done', async () => (await client.exists('{tests}:tests:task-1')) === 0);
    expect(attempts).toBe(3);
  });
});
