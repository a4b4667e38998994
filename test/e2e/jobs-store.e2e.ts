import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../src/database/database.ts';
import { DatabaseUnavailable } from '../../src/database/database-unavailable.ts';
import { SealedTexts } from '../../src/database/sealed-texts.ts';
import { sql } from '../../src/database/sql.ts';
import { JobStore } from '../../src/jobs/store/job-store.ts';
import {
  countsFrom,
  type JobDefinition,
  type JobRecord,
  packed,
  type RowResult,
  unpacked,
  type WaitingRow,
} from '../../src/jobs/store/job-record.ts';
import { KEPT_MS, MAX_OF_CALLER, type StoredChunk, WAITING_MS } from '../../src/jobs/store/stored-job.ts';
import { EventStore } from '../../src/events/log/event-store.ts';
import { end } from '../../src/tasks/task-store.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { engines } from '../support/database.ts';
import { until } from '../support/redis.ts';
import { settings } from '../support/settings.ts';
import { largestRead, LONG_MS, MAX_OF_READ, useDatabase } from '../support/use-database.ts';

const ROOM = { unfinished: 1_000_000, all: 1_500_000 };
const { encryptionKeys } = settings({ ENCRYPTION_KEYS: newEncryptionKey() }).redis;

describe.each(engines)('the contract of jobs: %s', (engine) => {
  const { database, other: otherDatabase, change, takeTask } = useDatabase(engine);
  let store: JobStore;
  /** The same jobs as another process has them. */
  let other: JobStore;
  let made = 0;

  beforeAll(() => {
    const storeOn = (on: Database) => new JobStore(on, new SealedTexts(encryptionKeys, 'platform'), ROOM);
    [store, other] = [storeOn(database()), storeOn(otherDatabase())];
  });

  const wanted = (given: { caller?: string; enterpriseGlobalId?: string; bytes?: number } = {}) => {
    const jobId = `job-${++made}`;
    const own = { caller: `caller of ${jobId}`, enterpriseGlobalId: `enterprise of ${jobId}` };
    return { jobId, bytes: 100, ...own, ...given };
  };
  /** A gateway that has another key in place of the one of these jobs. */
  const stranger = () => {
    const { redis } = settings({ ENCRYPTION_KEYS: newEncryptionKey('other') });
    const texts = new SealedTexts(redis.encryptionKeys, 'platform', () => ['k1']);
    return new JobStore(database(), texts, ROOM);
  };
  const password = newSecret('m');
  const rowsOf = (accounts: readonly string[]): StoredChunk => ({
    results: packed(accounts.map((account): RowResult => ({ account, status: 'pending' }))),
    waiting: packed(accounts.map((account, at): WaitingRow => ({ at, member: { account, password } }))),
  });
  const definitionOf = ({ jobId, enterpriseGlobalId, caller }: ReturnType<typeof wanted>): JobDefinition => ({
    ...{ jobId, enterpriseGlobalId, caller, isScoped: true, requestId: 'request', mode: 'add' },
    ...{ deletes: { most: 1, keep: ['chris'] }, user: { alias: 'default', username: 'admin' } },
  });
  const created = async (chunks = [rowsOf(['anna'])], given = wanted()) => {
    expect(await store.reserve(given)).toEqual({ kind: 'reserved' });
    await store.create(given, definitionOf(given), chunks, chunks.length);
    return given.jobId;
  };
  const taken = async (jobId: string, leaseMs?: number) => {
    const task = await takeTask('import', jobId, leaseMs);
    return { task, attempt: task.attempt };
  };
  /** The record of a job, without the clock that a read adds. */
  const readJob = async (jobId: string, by: JobStore = store) => {
    const { now: _, ...record } = (await by.read(jobId)) ?? {};
    return record as JobRecord;
  };
  const eventsOf = async (jobId: string) => {
    const { found } = await new EventStore(database()).read(undefined, 1_000);
    return found.filter(({ name }) => name === jobId);
  };
  const inRows = async (jobId: string) =>
    JSON.stringify(
      [
        ...(await database().read<object>(
          sql`SELECT * FROM jobs WHERE platform = :platform AND job_id = :job_id`.with({ job_id: jobId }),
        )),
        ...(await database().read<object>(
          sql`SELECT * FROM job_chunks WHERE platform = :platform AND job_id = :job_id`.with({
            job_id: jobId,
          }),
        )),
      ],
      (_, value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value),
    );
  const waitingIn = (jobId: string) =>
    database().read(
      sql`SELECT chunk FROM job_chunks WHERE platform = :platform AND job_id = :job_id AND waiting IS NOT NULL`.with(
        {
          job_id: jobId,
        },
      ),
    );

  it('An enterprise has one import at a time, also where two processes reserve at once', async () => {
    const enterpriseGlobalId = 'ent-harbour';
    const all = Array.from({ length: 10 }, () => wanted({ enterpriseGlobalId }));
    const reserved = await Promise.all(all.map((each, at) => (at % 2 === 0 ? store : other).reserve(each)));
    const first = all[reserved.findIndex(({ kind }) => kind === 'reserved')] as (typeof all)[number];
    expect(reserved.filter(({ kind }) => kind === 'reserved')).toHaveLength(1);
    // A file that is being read is no job yet.
    expect(reserved.filter(({ kind }) => kind === 'being-read')).toHaveLength(9);
    // The same request may reserve again.
    expect(await store.reserve(first)).toEqual({ kind: 'reserved' });
    expect(await store.reserve(wanted({ enterpriseGlobalId }))).toEqual({ kind: 'being-read' });
    expect(await store.create(first, definitionOf(first), [rowsOf(['anna'])], 1)).toBeDefined();
    const { jobId } = first;
    expect(await store.reserve(wanted({ enterpriseGlobalId }))).toEqual({ kind: 'in-progress', jobId });
    await store.cancel(jobId);
    const next = wanted({ enterpriseGlobalId });
    expect(await store.reserve(next)).toEqual({ kind: 'reserved' });
    await store.release(next.jobId);
  });

  it('J7 A caller has its number of unfinished imports, and all imports their room; what is released makes room', async () => {
    const own = Array.from({ length: MAX_OF_CALLER + 1 }, () => wanted({ caller: 'busy' }));
    for (const each of own.slice(0, -1)) expect(await store.reserve(each)).toEqual({ kind: 'reserved' });
    const last = own.at(-1) as (typeof own)[number];
    expect(await store.reserve(last)).toEqual({ kind: 'full', limit: 'caller' });
    // One file reserves half of the room at most, however long it may be.
    const large = wanted({ bytes: 10 * ROOM.all });
    expect(await store.reserve(large)).toEqual({ kind: 'reserved' });
    const rest = wanted({ bytes: ROOM.unfinished / 2 - 400 });
    expect(await store.reserve(rest)).toEqual({ kind: 'full', limit: 'store' });
    for (const { jobId } of own.slice(0, 2)) await store.release(jobId);
    expect(await store.reserve(last)).toEqual({ kind: 'reserved' });
    for (const { jobId } of own) await store.release(jobId);
    expect(await store.reserve(rest)).toEqual({ kind: 'reserved' });
    await store.release(rest.jobId);
    // Room whose request died is free after its time.
    expect(await store.reserve(large)).toEqual({ kind: 'reserved' });
    await change(
      sql`UPDATE jobs SET created_at = created_at - 40000 WHERE platform = :platform AND job_id = :job_id`.with(
        {
          job_id: large.jobId,
        },
      ),
    );
    const next = wanted({ bytes: 10 * ROOM.all });
    expect(await store.reserve(next)).toEqual({ kind: 'reserved' });
    await expect(store.create(large, definitionOf(large), [], 0)).rejects.toMatchObject({
      body: { code: 'dependency-unavailable' },
    });
    for (const { jobId } of [large, next]) await store.release(jobId);
  });

  it('J7 Imports that have ended take no room of those that wait, and have room of their own', async () => {
    const jobId = await created();
    const takesBytes = (bytes: number) =>
      change(
        sql`UPDATE jobs SET state = 'succeeded', finished_at = created_at, bytes = :bytes
          WHERE platform = :platform AND job_id = :job_id`.with({ job_id: jobId, bytes }),
      );
    await takesBytes(1_000_000);
    const [first, second] = [wanted({ bytes: 400_000 }), wanted({ bytes: 400_000 })];
    expect(await store.reserve(first)).toEqual({ kind: 'reserved' });
    expect(await store.reserve(second)).toEqual({ kind: 'full', limit: 'store' });
    await takesBytes(0);
    expect(await store.reserve(second)).toEqual({ kind: 'reserved' });
    for (const each of [first, second]) await store.release(each.jobId);
  });

  it('J2 A file whose rows took too long to store makes no job, because its enterprise may have another by then', async () => {
    const enterpriseGlobalId = 'ent-slow';
    const [slow, next] = [wanted({ enterpriseGlobalId }), wanted({ enterpriseGlobalId })];
    expect(await store.reserve(slow)).toEqual({ kind: 'reserved' });
    await change(
      sql`UPDATE jobs SET created_at = created_at - 40000 WHERE platform = :platform AND job_id = :job_id`.with(
        { job_id: slow.jobId },
      ),
    );
    expect(await other.reserve(next)).toEqual({ kind: 'reserved' });
    const many = Array.from({ length: 50 }, () => rowsOf(['anna']));
    for (const chunks of [many, many.slice(0, 1)])
      await expect(store.create(slow, definitionOf(slow), chunks, chunks.length)).rejects.toMatchObject({
        body: { code: 'dependency-unavailable' },
      });
    expect(await other.create(next, definitionOf(next), many, many.length)).toMatchObject({ chunks: 50 });
    await store.release(slow.jobId);
    await store.cancel(next.jobId);
  });

  it('A job is read as it was made, and its rows and users are sealed', async () => {
    const chunks = [rowsOf(['anna', 'bert']), rowsOf(['carla'])];
    const given = wanted();
    const jobId = await created(chunks, given);
    const job = await readJob(jobId, other);
    expect(job).toMatchObject({
      ...{
        definition: definitionOf(given),
        state: 'queued',
        total: 2,
        chunks: 2,
        version: 1,
        prepared: false,
      },
      ...{ counts: countsFrom([]), startedAt: null, finishedAt: null, problem: null, isCancelled: false },
    });
    expect(Math.abs(job.createdAt - Date.now())).toBeLessThan(60_000);
    const stored = await other.chunk(jobId, 0);
    expect(stored && unpacked(stored.results)).toMatchObject([{ account: 'anna' }, { account: 'bert' }]);
    expect(stored?.waiting && unpacked(stored.waiting)).toMatchObject([{ at: 0 }, { member: { password } }]);
    expect(await store.chunk(jobId, 2)).toBeUndefined();
    // A repeat of the creation, whose reply was lost, changes nothing.
    expect(await store.create(given, definitionOf(given), chunks, 2)).toEqual(job);
    await store.release(jobId);
    expect(await readJob(jobId)).toEqual(job);
    expect(await stranger().read(jobId)).toBeUndefined();
    await expect(stranger().chunk(jobId, 0)).rejects.toMatchObject({ reason: 'sealed' });
    const rows = await inRows(jobId);
    expect([password, 'anna', 'admin'].filter((word) => rows.includes(word))).toEqual([]);
  });

  it('J19 A job is answered as it was made, without another read of the database', async () => {
    class Unread extends JobStore {
      override read(): Promise<never> {
        return Promise.reject(new DatabaseUnavailable('away'));
      }
    }
    const given = wanted();
    const unread = new Unread(database(), new SealedTexts(encryptionKeys, 'platform'), ROOM);
    expect(await unread.reserve(given)).toEqual({ kind: 'reserved' });
    const chunks = [rowsOf(['anna'])];
    const job = await unread.create(given, definitionOf(given), chunks, 1);
    expect(job).toEqual(await readJob(given.jobId));
  });

  it('O18 A chunk under a key that the gateway lacks is not lost, and the start asks for the key', async () => {
    const jobId = await created([rowsOf(['anna'])]);
    const { redis } = settings({ ENCRYPTION_KEYS: newEncryptionKey('next') });
    const keys = [...redis.encryptionKeys, ...encryptionKeys];
    const next = new JobStore(database(), new SealedTexts(keys, 'platform'), ROOM);
    const { attempt } = await taken(jobId);
    await next.take(jobId, attempt);
    await next.save({ jobId, attempt, chunk: 0, ...rowsOf(['anna']), counts: countsFrom([]) });
    expect(await store.read(jobId)).toMatchObject({ state: 'running' });
    await expect(store.chunk(jobId, 0)).rejects.toMatchObject({ reason: 'sealed' });
    expect(await next.chunk(jobId, 0)).toMatchObject(rowsOf(['anna']));

    let check: (kids: readonly string[]) => Promise<void> = () => Promise.resolve();
    const starting: Pick<Database, 'read'> & { readonly trust: object } = {
      read: (query) => database().read(query),
      trust: { keys: { onLacked: (each: typeof check) => void (check = each) } },
    };
    const start = () => new JobStore(starting as Database, new SealedTexts(encryptionKeys, 'platform'), ROOM);
    start();
    await expect(check(['next'])).rejects.toThrow(
      'ENCRYPTION_KEYS lacks the key next, under which 1 imports are sealed that have not ended: add it at the end',
    );
    await next.cancel(jobId);
    await next.finish(jobId, attempt, 'cancelled', null);
    await check(['next']);
    // After a week the rows count as lost, so that the job can end.
    await change(
      sql`UPDATE jobs SET created_at = created_at - :ms WHERE platform = :platform AND job_id = :job_id`.with(
        { job_id: jobId, ms: KEPT_MS },
      ),
    );
    expect(await store.chunk(jobId, 0)).toBeUndefined();
  });

  it('J19 A creation without a reply is settled: there is a job, or there never will be one, or nobody knows', async () => {
    const lost = new Set(['create an import']);
    let isCarriedOut = true;
    let late = () => Promise.resolve<unknown>(undefined);
    const lossy: Pick<Database, 'step' | 'trust'> = {
      trust: database().trust,
      step: async (step, input) => {
        if (!lost.has(step.name)) return database().step(step, input);
        late = () => database().step(step, input);
        if (isCarriedOut) await late();
        throw new DatabaseUnavailable('unknown');
      },
    };
    const unsure = new JobStore(lossy as Database, new SealedTexts(encryptionKeys, 'platform'), ROOM);
    const createdBy = async (given: ReturnType<typeof wanted>) => {
      expect(await unsure.reserve(given)).toEqual({ kind: 'reserved' });
      return unsure.create(given, definitionOf(given), [rowsOf(['anna'])], 1);
    };
    const [there, never, unknown] = [wanted(), wanted(), wanted()];
    expect(await createdBy(there)).toMatchObject({ state: 'queued', total: 1 });

    isCarriedOut = false;
    await expect(createdBy(never)).rejects.toMatchObject({ reason: 'unknown' });
    // The creation comes after the response, and finds no space.
    expect([await late(), await store.read(never.jobId)]).toEqual([undefined, undefined]);
    expect(await store.reserve({ ...never, jobId: 'next' })).toEqual({ kind: 'reserved' });
    await store.release('next');

    lost.add('release the room of an import');
    expect(await createdBy(unknown)).toBe('unknown');
    await store.release(unknown.jobId);
  });

  it('J23 What is written late for a file that was refused is not kept', async () => {
    const late: (() => Promise<unknown>)[] = [];
    const slow: Pick<Database, 'step' | 'trust'> = {
      trust: database().trust,
      step: (step, input) => {
        if (step.name !== 'upload rows') return database().step(step, input);
        late.push(() => database().step(step, input));
        return Promise.reject(new DatabaseUnavailable('unknown'));
      },
    };
    const unsure = new JobStore(slow as Database, new SealedTexts(encryptionKeys, 'platform'), ROOM);
    const refused = wanted();
    expect(await unsure.reserve(refused)).toEqual({ kind: 'reserved' });
    await expect(
      unsure.create(refused, definitionOf(refused), [rowsOf(['anna']), rowsOf(['bert'])], 2),
    ).rejects.toMatchObject({ reason: 'unknown' });
    await unsure.release(refused.jobId);
    for (const write of late) await write();
    expect(await inRows(refused.jobId)).toBe('[]');
  });

  it('J23 Rows that wait without a job are swept away', async () => {
    const [open, gone] = [await created(), await created([rowsOf(['anna']), rowsOf(['bert'])])];
    await change(
      sql`DELETE FROM jobs WHERE platform = :platform AND job_id = :job_id`.with({ job_id: gone }),
    );
    await store.sweep();
    expect(await inRows(gone)).toBe('[]');
    expect(await waitingIn(open)).toMatchObject([{ chunk: 0 }]);
    await store.cancel(open);
  });

  it('J16 Only the attempt that has the task of a job records calls and results', async () => {
    const jobId = await created();
    const first = await taken(jobId, 1);
    const counts = countsFrom([1]);
    const changeBy = ({ attempt }: typeof first) => ({
      jobId,
      chunk: 0,
      results: packed([]),
      counts,
      attempt,
    });
    const stepsOf = async (each: typeof first) => [
      await store.begin(jobId, each.attempt, 0, 5),
      await store.save(changeBy(each)),
      await store.prepared(jobId, each.attempt, 1, 1),
      await store.finish(jobId, each.attempt, 'succeeded', null),
    ];
    await until('its lease has ended', async () => (await store.take(jobId, first.attempt)).kind === 'lost');
    expect(await store.begin(jobId, first.attempt, 0, 1)).toBe('lost');
    // The results of a call that it sent before are taken until another attempt has the task.
    expect(await store.save({ ...changeBy(first), waiting: packed([{ at: 0 }]) })).toBe('done');

    const second = await taken(jobId);
    expect(await other.take(jobId, second.attempt)).toMatchObject({ kind: 'taken', calls: new Map() });
    expect(await store.begin(jobId, second.attempt, 0, 2)).toBe('done');
    expect(await stepsOf(first)).toEqual(['lost', 'lost', 'lost', 'lost']);
    expect((await store.take(jobId, first.attempt)).kind).toBe('lost');
    expect(await other.take(jobId, second.attempt)).toMatchObject({
      kind: 'taken',
      calls: new Map([[0, 2]]),
    });
    expect(await store.read(jobId)).toMatchObject({ state: 'running', counts });

    await other.cancel(jobId);
    expect(await stepsOf(second)).toEqual(['cancelled', 'cancelled', 'done', 'done']);
    expect(await stepsOf(second)).toEqual(['lost', 'lost', 'lost', 'done']);
    expect((await store.take(jobId, second.attempt)).kind).toBe('ended');
    expect((await store.unfinished()).filter((each) => each.jobId === jobId)).toEqual([]);
    await database().step(end, { ...second.task, inMs: undefined });
  });

  it('J20 Once an operator has confirmed the database, a job is taken anew, and its waiting rows may have been sent', async () => {
    const jobId = await created([rowsOf(['anna']), { results: packed([]) }]);
    const { task, attempt } = await taken(jobId);
    expect(await store.take(jobId, attempt)).toMatchObject({ kind: 'taken', calls: new Map() });
    const confirmed = sql`
      UPDATE identities SET confirmed_at = (SELECT changed_at + 1 FROM jobs WHERE platform = :platform AND job_id = :job_id)
      WHERE platform = :platform`;
    await change(confirmed.with({ job_id: jobId }));
    const counts = countsFrom([1]);
    const lost = [
      await store.begin(jobId, attempt, 0, 1),
      await store.save({ jobId, attempt, chunk: 0, results: packed([]), counts }),
      await store.prepared(jobId, attempt, 1, 1),
      await store.finish(jobId, attempt, 'succeeded', null),
    ];
    expect(lost).toEqual(['lost', 'lost', 'lost', 'lost']);
    // Taking it again counts no further call.
    for (const on of [store, other])
      expect(await on.take(jobId, attempt)).toMatchObject({ kind: 'taken', calls: new Map([[0, 1]]) });
    expect(await store.begin(jobId, attempt, 0, 2)).toBe('done');
    expect(await store.finish(jobId, attempt, 'failed', null)).toBe('done');
    await database().step(end, { ...task, inMs: undefined });
  });

  it('A result that is recorded twice counts once, and rows that are done lose their passwords at once', async () => {
    const jobId = await created([rowsOf(['anna', 'bert']), rowsOf(['carla'])]);
    const { attempt } = await taken(jobId);
    await store.take(jobId, attempt);
    const { results, waiting } = rowsOf(['anna', 'bert']);
    const half = { jobId, attempt, chunk: 0, results, waiting, counts: countsFrom([1]) };
    for (let repeat = 0; repeat < 3; repeat++) await store.save(half);
    await store.begin(jobId, attempt, 1, 4);
    await Promise.all([
      store.save({ jobId, attempt, chunk: 0, results, counts: countsFrom([1, 0, 0, 0, 1]) }),
      store.save({ jobId, attempt, chunk: 1, results: packed([]), waiting, counts: countsFrom([0, 1]) }),
    ]);
    expect(await store.read(jobId)).toMatchObject({ counts: countsFrom([1, 1, 0, 0, 1]) });
    expect(await waitingIn(jobId)).toEqual([{ chunk: 1 }]);
    expect(await store.take(jobId, attempt)).toMatchObject({ calls: new Map([[1, 4]]) });
    // A chunk that the plan adds: members to delete.
    await store.save({ jobId, attempt, chunk: 2, results, waiting, counts: countsFrom([]) });
    await store.prepared(jobId, attempt, 3, 5);
    expect(await store.read(jobId)).toMatchObject({ chunks: 3, total: 5, prepared: true });
  });

  it('The end of a job and its event are one step, after which no password is left', async () => {
    const jobId = await created([rowsOf(['anna']), rowsOf(['bert'])]);
    const { attempt } = await taken(jobId);
    await store.take(jobId, attempt);
    expect(await eventsOf(jobId)).toEqual([]);
    const problem = { code: 'session-expired', title: 'x', detail: 'anna' } as never;
    expect(await store.finish(jobId, attempt, 'failed', problem)).toBe('done');
    expect(await store.finish(jobId, attempt, 'failed', problem)).toBe('done');
    const job = await readJob(jobId);
    expect(job).toMatchObject({ state: 'failed', problem, finishedAt: expect.any(Number) });
    const [event, ...more] = await eventsOf(jobId);
    expect([event, more]).toMatchObject([{ of: 'job', state: 'failed', at: job.finishedAt }, []]);
    expect(event && other.recordIn(event)).toEqual(job);
    expect(String(event?.record)).not.toContain('anna');
    expect(await waitingIn(jobId)).toEqual([]);
    expect((await store.chunk(jobId, 1))?.waiting).toBeUndefined();
  });

  it('A job that is cancelled before it begins ends at once, with its event', async () => {
    const jobId = await created();
    await Promise.all([store.cancel(jobId), other.cancel(jobId)]);
    expect(await store.read(jobId)).toMatchObject({ state: 'cancelled', isCancelled: true });
    expect(await eventsOf(jobId)).toMatchObject([{ state: 'cancelled' }]);
    expect(await waitingIn(jobId)).toEqual([]);
    const { attempt } = await taken(jobId);
    expect((await store.take(jobId, attempt)).kind).toBe('ended');
  });

  it('J18 A job that waits for its next try is due at once when it is cancelled', async () => {
    const jobId = await created();
    const first = await taken(jobId);
    await store.take(jobId, first.attempt);
    const before = await store.read(jobId);
    await database().step(end, { ...first.task, inMs: LONG_MS });
    await other.cancel(jobId);
    const { attempt } = await taken(jobId);
    const job = { isCancelled: true, version: (before?.version ?? 0) + 1 };
    expect(await store.take(jobId, attempt)).toMatchObject({ kind: 'taken', job });
  });

  it('Jobs are listed newest first, by enterprise and by state', async () => {
    const given = ['north', 'south', 'north'].map((enterpriseGlobalId) => wanted({ enterpriseGlobalId }));
    const ids: string[] = [];
    for (const each of given) {
      ids.unshift(await created([rowsOf(['anna'])], each));
      await store.cancel(each.jobId);
      const before = Date.now();
      await until('the clock goes on', () => Date.now() > before + 1);
    }
    const listed = async (enterprises: string[] | undefined, from = 0, state?: 'cancelled' | 'queued') => {
      const query = { enterprises: enterprises && new Set(enterprises), state };
      const { jobs, total } = await store.list(query, from, 2);
      return [total, jobs.map(({ definition }) => definition.jobId)];
    };
    expect(await listed(['north', 'south'])).toEqual([3, ids.slice(0, 2)]);
    expect(await listed(['north', 'south'], 2)).toEqual([3, ids.slice(2)]);
    expect(await listed(['south'])).toEqual([1, [ids[1]]]);
    expect(await listed(['north'], 0, 'cancelled')).toEqual([2, [ids[0], ids[2]]]);
    expect(await listed(['north'], 0, 'queued')).toEqual([0, []]);
    expect((await listed(undefined))[1]).toEqual(ids.slice(0, 2));
    // A job whose key was removed cannot be shown, and is not counted.
    const query = { enterprises: undefined, state: undefined };
    expect(await stranger().list(query, 0, 2)).toEqual({ jobs: [], total: 0 });
  });

  it('S31 reads a page of jobs that keep many members by 1 MiB', async () => {
    const keep = Array.from({ length: 1_000 }, (_, at) => `account${String(at).padStart(5, '0')}`);
    const ids: string[] = [];
    for (let at = 0; at < 80; at++) {
      const given = wanted({ enterpriseGlobalId: `ent-keeps-${at}`, bytes: 1 });
      await store.reserve(given);
      await store.create(given, { ...definitionOf(given), deletes: { most: 1, keep } }, [], 0);
      await store.cancel(given.jobId);
      ids.push(given.jobId);
    }
    const query = { enterprises: new Set(ids.map((_, at) => `ent-keeps-${at}`)), state: undefined };
    let listed: readonly string[] = [];
    const largest = await largestRead(database(), async () => {
      const { jobs } = await store.list(query, 0, 1_000);
      listed = jobs.map(({ definition }) => definition.jobId);
    });
    expect(listed.toSorted()).toEqual(ids.toSorted());
    expect(largest).toBeLessThan(MAX_OF_READ);
  });

  it('J8 Rows that waited for a day are gone but not the record of their calls, and jobs of a week, but none that has not ended', async () => {
    const [young, day, week, open] = [await created(), await created(), await created(), await created()];
    await store.cancel(week);
    const age = (jobId: string, ms: number) =>
      change(
        sql`UPDATE jobs SET created_at = created_at - :ms WHERE platform = :platform AND job_id = :job_id`.with(
          {
            ...{ job_id: jobId, ms },
          },
        ),
      );
    await age(day, WAITING_MS);
    await age(week, KEPT_MS);
    await age(open, KEPT_MS);
    // The chunk is gone even before anything is swept away.
    expect((await store.chunk(day, 0))?.waiting).toBeUndefined();
    expect(await store.read(week)).toBeUndefined();
    expect(await store.read(open)).toMatchObject({ state: 'queued' });
    await Promise.all([store.sweep(), other.sweep()]);
    expect(await Promise.all([young, day, week, open].map(waitingIn))).toMatchObject([
      [{ chunk: 0 }],
      [],
      [],
      [],
    ]);
    expect(await inRows(week)).toBe('[]');
    expect((await store.unfinished()).map(({ jobId }) => jobId)).toEqual(
      expect.arrayContaining([young, day, open]),
    );
    const { attempt } = await taken(day);
    await store.take(day, attempt);
    const { results, waiting } = rowsOf(['anna']);
    await store.begin(day, attempt, 0, 1);
    await store.save({ jobId: day, attempt, chunk: 0, results, waiting, counts: countsFrom([]) });
    expect(await waitingIn(day)).toEqual([]);
    // The rows are still open, and may have been sent.
    expect(await store.take(day, attempt)).toMatchObject({ calls: new Map([[0, 1]]) });
  });

  it.each(['a gateway has its key', 'no gateway has its key'])(
    'J8 A job that has not ended for a week ends, and its enterprise may import again: %s',
    async (what) => {
      const enterpriseGlobalId = `enterprise where ${what}`;
      const jobId = await created([rowsOf(['anna'])], wanted({ enterpriseGlobalId }));
      const age = sql`UPDATE jobs SET created_at = created_at - :ms WHERE platform = :platform AND job_id = :job_id`;
      await change(age.with({ job_id: jobId, ms: KEPT_MS }));
      const next = wanted({ enterpriseGlobalId });
      expect(await store.reserve(next)).toEqual({ kind: 'in-progress', jobId });
      const { attempt } = await taken(jobId);
      if (what === 'no gateway has its key')
        expect((await stranger().take(jobId, attempt)).kind).toBe('ended');
      else {
        expect((await store.take(jobId, attempt)).kind).toBe('taken');
        expect(await store.finish(jobId, attempt, 'completed', null)).toBe('done');
      }
      expect(await store.reserve(next)).toEqual({ kind: 'reserved' });
      await store.release(next.jobId);
    },
  );
});
