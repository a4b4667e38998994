import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, engineOf } from '../../src/database/database.ts';
import { NOW, rows, sql } from '../../src/database/sql.ts';
import type { Step } from '../../src/database/step.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { emptyDatabase, type EngineName, engines } from '../support/database.ts';
import { postgresUrl } from '../support/postgres.ts';
import {
  begin,
  BUDGET,
  EVENTS_AFTER,
  giveBudget,
  install,
  move,
  type SampleBegun,
  type SampleOrder,
  setWindow,
} from '../support/sample-store.ts';
import { settings } from '../support/settings.ts';
import { openDatabase, useDatabase } from '../support/use-database.ts';

let orders = 0;
const order = (caller = 'billing'): SampleOrder => {
  const name = `SO-${++orders}`;
  return { name, caller, owner: `owner of ${name}`, record: 'sealed' };
};
const moved = ({ name, owner }: SampleOrder, state = 'succeeded') => ({
  name,
  owner,
  state,
  record: 'sealed',
});

describe.each<EngineName>(['memory', ...engines])('the contract of the database: %s', (engine) => {
  const { url, database: first, other: second, atEnd } = useDatabase(engine);
  let database: Database;
  beforeAll(async () => {
    database = first();
    await database.step(install, undefined);
  });

  const inOrders = async (name: string) => {
    const found = sql`SELECT name, state, owner FROM sample_orders WHERE platform = :platform AND name = :name`;
    const [row] = await database.read<{ state: string; owner: string }>(found.with({ name }));
    return row;
  };

  it('Types of parameters and columns are the same with every engine', async () => {
    const values = sql`
      SELECT CAST(:text AS text) AS text, CAST(:big AS bigint) AS big, CAST(:nothing AS text) AS absent,
        1 < 2 AS yes, 2 < 1 AS no, CAST(:half AS double precision) AS half, count(*) AS counted
      FROM ${rows('items', { name: 'text', size: 'bigint' })} WHERE items.size > :least`;
    const text = `it's "quoted" $1 :name 日本 ${'ä'.repeat(10)}`;
    const items = [
      { name: 'one', size: 1 },
      { name: 'two', size: 2 ** 52 },
      { name: 'three', size: null },
    ];
    const [row] = await database.read(
      values.with({ text, big: 2 ** 52, nothing: null, half: 0.5, items, least: 0 }),
    );
    expect(row).toEqual({ text, big: 2 ** 52, absent: null, yes: 1, no: 0, half: 0.5, counted: 2 });
  });

  it('The time of the database is in milliseconds', async () => {
    const [row] = await database.read<{ now: number }>(sql`SELECT ${NOW} AS now`.with());
    expect(Math.abs(Number(row?.now) - Date.now())).toBeLessThan(60_000);
  });

  it('Orders that begin and move at once get a result each, and an event each whose numbers have no gap', async () => {
    const all = Array.from({ length: 200 }, () => order());
    const begun = await Promise.all(all.map((each) => database.step(begin, each)));
    expect(new Set(begun)).toEqual(new Set(['begun']));
    const numbers = await Promise.all(all.map((each) => database.step(move, moved(each))));
    const sorted = numbers.toSorted((one, other) => one - other);
    expect(sorted).toEqual(all.map((_, at) => (sorted[0] ?? 0) + at));
    const events = await database.read<{ number: number; name: string }>(
      EVENTS_AFTER.with({ after: (sorted[0] ?? 0) - 1 }),
    );
    expect(events.map(({ number }) => number)).toEqual(sorted);
    const named = new Map(events.map(({ name, number }) => [name, number]));
    expect(all.map(({ name }) => named.get(name))).toEqual(numbers);
  });

  it('Several owners begin one order at once: one of them has it', async () => {
    const one = order();
    const owners = Array.from({ length: 30 }, (_, at) => ({ ...one, owner: `owner ${at}` }));
    const begun = await Promise.all(owners.map((each) => database.step(begin, each)));
    expect(begun.filter((each) => each === 'begun')).toHaveLength(1);
    const owner = owners[begun.indexOf('begun')];
    expect((await inOrders(one.name))?.owner).toBe(owner?.owner);
  });

  it('The owner of an order may begin it again, and moves it once', async () => {
    const one = order();
    expect(await database.step(begin, one)).toBe('begun');
    expect(await database.step(begin, one)).toBe('begun');
    expect(await database.step(begin, { ...one, owner: 'another' })).toBe('there');
    expect(await database.step(move, { ...moved(one), owner: 'another' })).toBe(0);
    expect(await database.step(move, moved(one))).toBeGreaterThan(0);
    expect(await database.step(move, moved(one))).toBe(0);
  });

  it('A budget is taken exactly, however many orders begin in one transaction', async () => {
    await database.step(giveBudget, 'thrifty');
    const all = Array.from({ length: BUDGET + 15 }, () => order('thrifty'));
    const begun = await Promise.all(all.map((each) => database.step(begin, each)));
    const counts = Map.groupBy(begun, (each): SampleBegun => each);
    expect([counts.get('begun')?.length, counts.get('exhausted')?.length]).toEqual([BUDGET, 15]);
  });

  it('The time that a step may take does not count while the process is blocked', async () => {
    const quick: typeof begin = { ...begin, withinMs: 500 };
    const begun = database.step(quick, order());
    for (const end = performance.now() + 800; performance.now() < end;);
    expect(await begun).toBe('begun');
  });

  it('No order begins after a step has answered that stops them', async () => {
    const flooding = new AbortController();
    const flood = Array.from({ length: 50 }, async () => {
      while (!flooding.signal.aborted) await database.step(begin, order());
    });
    await database.step(setWindow, 1);
    const begun = () =>
      database.read<{ count: number }>(sql`SELECT count(*) AS count FROM sample_orders`.with());
    const [before] = await begun();
    expect(await database.step(begin, order())).toBe('stopped');
    flooding.abort();
    await Promise.all(flood);
    const [after] = await begun();
    await database.step(setWindow, 0);
    expect(after).toEqual(before);
  });

  it('An input that is wrong fails alone: the others of its transaction are carried out', async () => {
    const good = Array.from({ length: 5 }, () => order());
    const bad = { ...order(), owner: JSON.parse('null') as string };
    const results = await Promise.allSettled([...good, bad].map((each) => database.step(begin, each)));
    expect(results.map(({ status }) => status)).toEqual([...good.map(() => 'fulfilled'), 'rejected']);
    expect(await inOrders(bad.name)).toBeUndefined();
    expect(await Promise.all(good.map(({ name }) => inOrders(name)))).not.toContain(undefined);
  });

  it('A step that fails in its last write has written nothing', async () => {
    const one = order();
    const broken: Step<SampleOrder, undefined> = {
      name: 'broken',
      key: ({ name }) => name,
      guarded: true,
      look: (all) => begin.look?.(all) ?? [],
      decide: (all, found, now) => ({
        writes: [
          ...(begin.decide(all, found, now).writes ?? []),
          sql`INSERT INTO sample_windows VALUES (NULL, NULL)`.with(),
        ],
      }),
    };
    await expect(database.step(broken, one)).rejects.toMatchObject({ reason: 'broken' });
    expect(await inOrders(one.name)).toBeUndefined();
    expect(await database.step(begin, one)).toBe('begun');
  });

  it('Nothing is written by a step whose decision throws, and the next step goes on', async () => {
    const failing: Step<number, undefined> = {
      name: 'failing',
      key: String,
      look: () => [sql`SELECT 1`.with()],
      decide: () => {
        throw new Error('cannot decide');
      },
    };
    await expect(database.step(failing, 1)).rejects.toThrow('cannot decide');
    expect(await database.step(begin, order())).toBe('begun');
  });

  it('A transaction has at most 64 inputs, 1 MiB and one input of a key', async () => {
    const groups: number[] = [];
    const counting = (bytes: number): Step<string, undefined> => ({
      name: 'counting',
      key: (input) => input,
      bytes: () => bytes,
      look: () => [sql`SELECT 1`.with()],
      decide: (inputs) => {
        groups.push(inputs.length);
        return { results: () => inputs.map(() => undefined) };
      },
    });
    const run = async (step: Step<string, undefined>, inputs: readonly string[]) => {
      groups.length = 0;
      await Promise.all(inputs.map((input) => database.step(step, input)));
      return groups.toSorted((one, other) => other - one);
    };
    const inputs = Array.from({ length: 100 }, (_, at) => `input ${at}`);
    expect(await run(counting(0), inputs)).toEqual([64, 36]);
    expect(await run(counting(300 * 1024), inputs.slice(0, 7))).toEqual([3, 3, 1]);
    expect(await run(counting(2 * 1024 * 1024), inputs.slice(0, 2))).toEqual([1, 1]);
    expect(await run(counting(0), ['same', 'same', 'other'])).toEqual([2, 1]);
  });

  it('The inputs of one owner do not hold up that of another', async () => {
    const fair: typeof begin = { ...begin, of: ({ caller }) => caller };
    const ended: string[] = [];
    const callers = [...Array.from({ length: 600 }, () => 'busy'), 'other'];
    const begun = callers.map(async (caller) => {
      await database.step(fair, order(caller));
      ended.push(caller);
    });
    await Promise.all(begun);
    expect(ended.indexOf('other')).toBeLessThan(400);
  });

  it('Waiters wake when a step has moved something, and by themselves', async () => {
    const one = order();
    await database.step(begin, one);
    const woken = database.woken('feed').then(() => 'woken');
    const asked = database.woken('nothing wakes this').then(() => 'asked');
    await database.step(move, moved(one));
    expect(await woken).toBe('woken');
    expect(await asked).toBe('asked');
  });

  it('Of two platforms neither sees rows of the other', async () => {
    if (engine === 'memory') return;
    const stranger = await openDatabase(url(), { UPSTREAM_BASE_URL: 'http://127.0.0.1:8' });
    atEnd(() => stranger.database.close());
    const one = order();
    await database.step(begin, one);
    expect(await stranger.database.step(begin, one)).toBe('begun');
    expect(await stranger.database.read(EVENTS_AFTER.with({ after: 0 }))).toEqual([]);
  });

  it('Two processes that write at once give out numbers in the order of their commits: a reader skips none', async () => {
    if (engine === 'memory') return;
    const [from] = await database.read<{ last: number }>(
      sql`SELECT coalesce(max(number), 0) AS last FROM sample_events WHERE platform = :platform`.with(),
    );
    const seen: number[] = [];
    let after = Number(from?.last);
    let isOver = false;
    const reading = (async () => {
      for (;;) {
        const isLast = isOver;
        const found = await database.read<{ number: number }>(EVENTS_AFTER.with({ after }));
        seen.push(...found.map(({ number }) => number));
        after = seen.at(-1) ?? after;
        if (isLast && found.length === 0) return;
        await wait(1);
      }
    })();
    const writes = async (through: Database) => {
      for (let round = 0; round < 20; round++) {
        const all = Array.from({ length: 10 }, () => order());
        await Promise.all(all.map((each) => through.step(begin, each)));
        await Promise.all(all.map((each) => through.step(move, moved(each))));
      }
    };
    await Promise.all([writes(database), writes(second())]);
    isOver = true;
    await reading;
    expect(seen).toEqual(Array.from({ length: 400 }, (_, at) => Number(from?.last) + 1 + at));
  });
});

it('A notice that a transaction of one process gives out reaches another one that listens, with PostgreSQL', async () => {
  const { database: config } = settings({
    DATABASE_URL: await postgresUrl(),
    ENCRYPTION_KEYS: newEncryptionKey(),
  });
  const [speaker, listener] = [engineOf(config), engineOf(config)];
  const heard = new Promise<string>((resolve) => listener.listen(resolve));
  await listener.open();
  const notice = speaker.notice('feed');
  await speaker.transact([], () => (notice ? [notice] : []));
  expect(await heard).toBe('feed');
  await Promise.all([speaker.close(), listener.close()]);
});

it.each<EngineName>(['memory', ...engines])(
  'Transactions of one process that begin at once are all carried out: %s',
  async (name) => {
    const { url, remove } = await emptyDatabase(name);
    const { database: config } = settings({ DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey() });
    const engine = engineOf(config);
    await engine.open();
    const write = sql`INSERT INTO numbers (platform, name, value) VALUES (:platform, :name, 1) RETURNING name`;
    await engine.transact([], () => [
      sql`CREATE TABLE numbers (platform text, name text, value bigint, PRIMARY KEY (platform, name))`.with(),
    ]);
    const names = Array.from({ length: 10 }, (_, at) => `number-${at}`);
    const written = await Promise.all(
      names.map((each, at) =>
        engine.transact(at % 2 === 0 ? [sql`SELECT 1 AS one`.with()] : [], () => [
          write.with({ name: each }),
        ]),
      ),
    );
    expect(written.map(([rowsOfOne]) => rowsOfOne?.[0]?.['name'])).toEqual(names);
    await engine.close();
    await remove();
  },
);
