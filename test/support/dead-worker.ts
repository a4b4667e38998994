import { Queue, Worker } from 'bullmq';
import { queueClient, type RedisServer } from '../../src/redis/redis-client.ts';
import type { QueuedTask } from '../../src/kit/task-queue/task-queue.ts';

/** Takes the task as a process does that is killed then: nothing gives it back, nor holds it for longer. Resolves to what stops it. */
export async function deadWorker<T extends object>(
  server: RedisServer,
  { name, prefix }: { readonly name: string; readonly prefix: string },
  { id, data }: QueuedTask<T>,
) {
  const connection = queueClient(server);
  const queue = new Queue(name, { connection, prefix });
  const taken = Promise.withResolvers<string>();
  const take = (_: unknown, token?: string) => {
    taken.resolve(String(token));
    return new Promise(() => undefined);
  };
  const dead = { skipLockRenewal: true, skipStalledCheck: true, lockDuration: 600_000 };
  const worker = new Worker(name, take, { connection, prefix, ...dead });
  await queue.add(name, data, { jobId: id });
  return {
    token: await taken.promise,
    stop: async () => {
      await worker.close(true);
      connection.disconnect();
    },
  };
}
