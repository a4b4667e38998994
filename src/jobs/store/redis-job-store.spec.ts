import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../../../test/support/canary.ts';
import { endings } from '../../../test/support/endings.ts';
import { connect, PatientOrderStoreRedis } from '../../../test/support/patient-redis.ts';
import { ask, startRedis } from '../../../test/support/redis.ts';
import { RecordedLog, settings } from '../../../test/support/settings.ts';
import { Metrics } from '../../observability/metrics.ts';
import { countsFrom, type JobDefinition, packed } from './job-record.ts';
import { RedisJobStore } from './redis-job-store.ts';

const { atEnd, ended } = endings();

it('J16 only the process that took the job last, with the lock of the queue, records calls and results', async () => {
  const redis = ended(await startRedis());
  const { orderStore } = settings({ ORDER_REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const connection = new PatientOrderStoreRedis(orderStore, new RecordedLog().log, new Metrics());
  atEnd(() => connection.onApplicationShutdown());
  await connect(connection);
  const store = new RedisJobStore(connection, 'env');
  const lock = '{env:guard}:imports:job-1:lock';
  const holdOf = (owner: string) => ({ key: lock, owner, over: new AbortController().signal });
  const [first, second] = [holdOf('first'), holdOf('second')];
  const isLockedBy = (token: string) => ask(redis, (client) => client.set(lock, token));

  const jobId = 'job-1';
  const enterpriseGlobalId = 'ent-harbour';
  const user = { alias: 'default', username: 'admin' };
  await store.reserve({ jobId, owner: 'request', enterpriseGlobalId, caller: 'billing', bytes: 1 });
  const rows = [{ results: packed([{ account: 'anna', status: 'pending' }]), waiting: packed([{ at: 0 }]) }];
  await store.create(
    'request',
    { jobId, enterpriseGlobalId, caller: 'billing', user, mode: 'add' } as JobDefinition,
    rows,
    1,
  );
  const change = { jobId, chunk: 0, results: packed([]), counts: countsFrom([1]) };
  const stepsOf = async (hold: typeof first) => [
    await store.begin(jobId, hold, 0, 5),
    await store.save({ ...change, owner: hold.owner }),
    await store.prepared(jobId, hold.owner, 1, 1),
    await store.finish(jobId, hold.owner, 'succeeded', null),
  ];

  // No process takes the job without the queue's lock.
  expect((await store.take(jobId, first)).kind).toBe('lost');
  await isLockedBy(first.owner);
  expect(await store.take(jobId, first)).toMatchObject({ kind: 'taken', calls: new Map() });
  expect(await store.begin(jobId, first, 0, 1)).toBe('done');

  await isLockedBy(second.owner);
  // The store takes the results of a process until another process has taken the job.
  expect(await store.begin(jobId, first, 0, 2)).toBe('lost');
  expect(await store.save({ ...change, owner: first.owner, waiting: packed([]) })).toBe('done');
  expect(await store.take(jobId, second)).toMatchObject({ kind: 'taken', calls: new Map([[0, 1]]) });
  expect((await store.take(jobId, first)).kind).toBe('lost');
  expect(await stepsOf(first)).toEqual(['lost', 'lost', 'lost', 'lost']);
  expect(await store.read(jobId)).toMatchObject({ state: 'running', counts: countsFrom([1]) });

  expect(await store.begin(jobId, second, 0, 2)).toBe('done');
  await store.cancel(jobId);
  expect(await stepsOf(second)).toEqual(['cancelled', 'cancelled', 'done', 'done']);
  expect((await store.take(jobId, second)).kind).toBe('ended');
  expect(await store.unfinished()).toEqual([]);
});
