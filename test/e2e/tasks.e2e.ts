import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from '@jest/globals';
import { sql } from '../../src/database/sql.ts';
import type { Step } from '../../src/database/step.ts';
import { reportFaults } from '../../src/shared/edge.ts';
import { add, end, heldTasks, holdIn, renew, takeBy, type TakenTask } from '../../src/tasks/task-store.ts';
import { type TaskHold, TaskWorker } from '../../src/tasks/task-worker.ts';
import { engines } from '../support/database.ts';
import { until } from '../support/redis.ts';
import { settings } from '../support/settings.ts';
import { LONG_MS, useDatabase } from '../support/use-database.ts';

const take = takeBy();

describe.each(engines)('the contract of tasks: %s', (engine) => {
  const { database, other, url, change, atEnd } = useDatabase(engine);
  let kinds = 0;
  let attempts = 0;
  const newKind = () => `kind-${++kinds}`;

  const addAll = (kind: string, names: readonly string[]) =>
    Promise.all(names.map((name) => database().step(add, { kind, name })));
  const taken = (kind: string, count: number, { by = database(), leaseMs = LONG_MS } = {}) =>
    by.step(take, { kind, attempt: `attempt-${++attempts}`, count, leaseMs });
  const takenOne = async (kind: string, leaseMs = LONG_MS): Promise<TakenTask> => {
    let found: readonly TakenTask[] = [];
    await until('a task is due', async () => (found = await taken(kind, 1, { leaseMs })).length === 1);
    return found[0] as TakenTask;
  };
  const rowsOf = (kind: string) =>
    database().read<{ name: string; attempt: string; lease_until: number }>(
      sql`SELECT name, attempt, lease_until FROM tasks WHERE platform = :platform AND kind = :kind ORDER BY name`.with(
        { kind },
      ),
    );
  const worker = (
    kind: string,
    run: (hold: TaskHold) => Promise<number | undefined>,
    { by = database(), concurrency = 4, isPaused = (): boolean => false } = {},
  ) => {
    const made = new TaskWorker(by, { kind, concurrency, run, isPaused });
    made.start();
    atEnd(() => made.close());
    return made;
  };

  it('Processes that take at once get different tasks, and each task once', async () => {
    const kind = newKind();
    const names = Array.from({ length: 60 }, (_, at) => `task-${at}`);
    await addAll(kind, names);
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, at) => taken(kind, 3, { by: at % 2 === 0 ? database() : other() })),
    );
    // A process passes over what another one is taking.
    while (all.flat().length < names.length) all.push(await taken(kind, 3));
    const got = all.flat().map(({ name }) => name);
    expect(got.toSorted()).toEqual(names.toSorted());
    expect(await taken(kind, 3)).toEqual([]);
  });

  it('What has been due the longest is taken first, and nothing before it is due', async () => {
    const kind = newKind();
    await addAll(kind, ['later']);
    await database().step(end, { ...(await takenOne(kind)), inMs: LONG_MS });
    const order = ['third', 'first', 'second'];
    for (const name of order) {
      await addAll(kind, [name]);
      // Each is due in a millisecond of its own.
      const before = Date.now();
      await until('the clock goes on', () => Date.now() > before + 1);
    }
    for (const name of order) expect(await taken(kind, 1)).toMatchObject([{ name }]);
    expect(await taken(kind, 9)).toEqual([]);
    await addAll(kind, ['later']);
    expect(await taken(kind, 9)).toMatchObject([{ name: 'later' }]);
  });

  it('A lease that ended is not renewed, and its attempt records nothing once another one has the task', async () => {
    const kind = newKind();
    await addAll(kind, ['task']);
    const first = await takenOne(kind, 1);
    await until('the lease has ended', async () => !(await database().step(renew, { ...first, leaseMs: 1 })));
    const record: Step<TakenTask, string> = {
      name: 'record',
      look: ([{ name }]) => [heldTasks(kind, [name])],
      decide: ([{ name, attempt }], [found]) => ({ results: () => [holdIn(found, name, attempt)] }),
    };
    expect(await database().step(record, first)).toBe('ended');
    const second = await takenOne(kind);
    expect(await database().step(renew, { ...first, leaseMs: LONG_MS })).toBe(false);
    expect(await other().step(renew, { ...second, leaseMs: LONG_MS })).toBe(true);
    expect([await database().step(record, first), await database().step(record, second)]).toEqual([
      'lost',
      'live',
    ]);
    await database().step(end, { ...first, inMs: undefined });
    expect(await rowsOf(kind)).toMatchObject([{ attempt: second.attempt }]);
    await database().step(end, { ...second, inMs: undefined });
    expect(await rowsOf(kind)).toEqual([]);
    // The attempt of a task that was done has no part in a new task of the same name.
    await addAll(kind, ['task']);
    expect(await database().step(record, second)).toBe('lost');
    expect(await database().step(renew, { ...second, leaseMs: LONG_MS })).toBe(false);
  });

  it('A lease that ends later than any lease can, because the clock has stepped back, has ended', async () => {
    const kind = newKind();
    await addAll(kind, ['task']);
    await takenOne(kind);
    expect(await taken(kind, 1)).toEqual([]);
    await change(
      sql`UPDATE tasks SET lease_until = lease_until + :ms WHERE platform = :platform AND kind = :kind`.with({
        kind,
        ms: 24 * 3_600_000,
      }),
    );
    expect(await taken(kind, 1)).toMatchObject([{ name: 'task' }]);
    expect(await taken(kind, 1)).toEqual([]);
  });

  it('A task that is added while it is held runs once more', async () => {
    const kind = newKind();
    await addAll(kind, ['done', 'later']);
    const [one, two] = (await taken(kind, 2)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    await addAll(kind, ['done', 'later']);
    expect(await taken(kind, 2)).toEqual([]);
    await database().step(end, { ...(one as TakenTask), inMs: undefined });
    await database().step(end, { ...(two as TakenTask), inMs: LONG_MS });
    expect((await taken(kind, 2)).map(({ name }) => name).toSorted()).toEqual(['done', 'later']);
  });

  it('A worker takes another task after each one that is to be first', async () => {
    const kind = newKind();
    await addAll(kind, ['first', 'other']);
    const runs: string[] = [];
    const run = async ({ name }: TaskHold) => {
      runs.push(name);
      await new Promise((resolve) => setImmediate(resolve));
      return name === 'first' ? -2 * LONG_MS : 0;
    };
    const made = new TaskWorker(database(), { kind, concurrency: 1, firstMs: LONG_MS, run });
    made.start();
    atEnd(() => made.close());
    await until('both run again and again', () => runs.filter((name) => name === 'other').length > 3);
    const later = runs.slice(2, 6);
    expect(later).toEqual(
      later.map((_, at) => ((later[0] === 'first') === (at % 2 === 0) ? 'first' : 'other')),
    );
  });

  it('Owners take turns: the many tasks of one do not hold up those of others', async () => {
    const kind = newKind();
    const names = ['a-0', 'a-1', 'a-2', 'a-3', 'a-4', 'b-0', 'b-1', 'c-0'];
    for (const name of names) await addAll(kind, [name]);
    const seen: string[] = [];
    const run = async ({ name }: TaskHold) => void seen.push(name);
    const made = new TaskWorker(database(), {
      kind,
      concurrency: 1,
      owner: sql`substr(tasks.name, 1, 1)`,
      run,
    });
    made.start();
    atEnd(() => made.close());
    await until('all are done', () => seen.length === names.length);
    expect(
      seen
        .slice(0, 3)
        .map((name) => name.charAt(0))
        .toSorted(),
    ).toEqual(['a', 'b', 'c']);
    expect(seen.toSorted()).toEqual(names);
  });

  it('The end of an attempt says when the task is due again', async () => {
    const kind = newKind();
    await addAll(kind, ['task']);
    await database().step(end, { ...(await takenOne(kind)), inMs: LONG_MS });
    expect(await taken(kind, 1)).toEqual([]);
    await addAll(kind, ['task']);
    await database().step(end, { ...(await takenOne(kind)), inMs: 1 });
    await takenOne(kind);
  });

  it('A worker has its number of tasks at a time, also where another process adds them, and runs each to its end', async () => {
    const kind = newKind();
    const faults: unknown[] = [];
    reportFaults((_, fault) => void faults.push(fault));
    let running = 0;
    let most = 0;
    const runs = new Map<string, number>();
    worker(
      kind,
      async ({ name }) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        const run = (runs.get(name) ?? 0) + 1;
        runs.set(name, run);
        if (run === 1) throw new Error('tried again');
        return run === 2 ? 0 : undefined;
      },
      { concurrency: 2 },
    );
    const names = Array.from({ length: 6 }, (_, at) => `task-${at}`);
    await Promise.all(names.map((name) => other().step(add, { kind, name })));
    await until('all are done', async () => (await rowsOf(kind)).length === 0);
    expect([...runs.values()]).toEqual(names.map(() => 3));
    expect(most).toBe(2);
    expect(faults).toHaveLength(names.length);
  });

  it('A run that names a fraction of a millisecond is repeated after it, and not only when its lease has ended', async () => {
    const kind = newKind();
    const faults: unknown[] = [];
    reportFaults((_, fault) => void faults.push(fault));
    let runs = 0;
    worker(kind, async () => (++runs === 1 ? 0.5 : undefined));
    await addAll(kind, ['task']);
    await until('it is done', async () => (await rowsOf(kind)).length === 0);
    expect([runs, faults]).toEqual([2, []]);
  });

  it('A run that asks for short pauses gets them, though the database is asked once a second only', async () => {
    const kind = newKind();
    const runs: number[] = [];
    worker(kind, () => Promise.resolve(runs.push(performance.now()) < 15 ? 20 : undefined));
    await addAll(kind, ['task']);
    await until('it has run fifteen times', () => runs.length === 15);
    expect((runs.at(-1) ?? 0) - (runs[0] ?? 0)).toBeLessThan(7_000);
  });

  it('A worker takes nothing while it is paused', async () => {
    const kind = newKind();
    let paused = true;
    const seen: string[] = [];
    const run = async ({ name }: TaskHold) => void seen.push(name);
    worker(kind, run, { isPaused: () => paused });
    await addAll(kind, ['task']);
    await database().woken('nothing wakes this');
    expect(seen).toEqual([]);
    paused = false;
    await until('it runs', () => seen.length === 1);
  });

  it('A worker that closes gives back what is not done: another one has it at once', async () => {
    const kind = newKind();
    const begun = Promise.withResolvers<void>();
    const leaving = worker(kind, async ({ over }) => {
      begun.resolve();
      await once(over, 'abort');
      return LONG_MS;
    });
    await addAll(kind, ['task']);
    await begun.promise;
    await leaving.close();
    expect(await taken(kind, 1)).toMatchObject([{ name: 'task' }]);
  });

  it('A worker that lost its task is told, and runs it no second time beside the run that has not ended', async () => {
    const kind = newKind();
    const lost = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let runs = 0;
    worker(kind, async ({ over }) => {
      if (++runs > 1) return undefined;
      if (!over.aborted) await once(over, 'abort');
      lost.resolve();
      await goOn.promise;
      return undefined;
    });
    await addAll(kind, ['task']);
    await until('it is held', async () => (await rowsOf(kind))[0]?.attempt !== '');
    const [first] = await rowsOf(kind);
    // The process seems to have stood still for longer than its lease.
    const letGo = sql`UPDATE tasks SET lease_until = 1 WHERE platform = :platform AND kind = :kind`;
    await change(letGo.with({ kind }));
    await lost.promise;
    await until('it is taken again', async () => (await rowsOf(kind))[0]?.attempt !== first?.attempt);
    expect(runs).toBe(1);
    goOn.resolve();
    await until('it is done', async () => (await rowsOf(kind)).length === 0);
    expect(runs).toBe(2);
  });

  it('The tasks of a process that is killed are taken by another one when its leases have ended', async () => {
    if (engine === 'memory') return;
    const kind = newKind();
    const names = ['one', 'two', 'three'];
    await addAll(kind, names);
    const program = ['--experimental-transform-types', '--no-warnings', 'test/support/task-taker.ts'];
    const { platform } = settings().database;
    const dying = spawn(process.execPath, [...program, url(), kind, platform], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const had: string[] = [];
    const gone = once(dying, 'exit');
    createInterface({ input: dying.stdout }).on('line', (line) => had.push(line));
    await until('it has two', () => had.length === 2);
    dying.kill('SIGKILL');
    await gone;
    const seen: string[] = [];
    worker(kind, async ({ name }) => void seen.push(name));
    await until('all are done', async () => (await rowsOf(kind)).length === 0);
    expect(seen.toSorted()).toEqual(names.toSorted());
    // Nobody had it, so it came first.
    expect(seen[0]).toBe(names.find((name) => !had.includes(name)));
  });
});
