import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Database } from '../../src/database/database.ts';
import { sql } from '../../src/database/sql.ts';
import { SealedTexts } from '../../src/database/sealed-texts.ts';
import { SqliteFile } from '../../src/database/sqlite-engine.ts';
import type { Step } from '../../src/database/step.ts';
import type { Begin } from '../../src/order-ledger/write-steps.ts';
import { WriteRecords } from '../../src/order-ledger/write-rows.ts';
import { WriteStore } from '../../src/order-ledger/write-store.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { makeCertificates } from '../support/certificates.ts';
import { databaseInit, emptyDatabase } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { Blackhole, FaultProxy } from '../support/fault-proxy.ts';
import { ledgerBegin } from '../support/ledger-order.ts';
import { startPooler } from '../support/pooler.ts';
import {
  askDatabase,
  followServer,
  postgresUrl,
  type RunningPostgres,
  startPostgres,
  subscribe,
  throughPort,
} from '../support/postgres.ts';
import { freePort, serverFolder, until } from '../support/redis.ts';
import { begin, EVENTS_AFTER, install, move, type SampleOrder } from '../support/sample-store.ts';
import { RecordedLog, settings } from '../support/settings.ts';
import { openDatabase } from '../support/use-database.ts';

const { ended, atEnd } = endings();

const ENCRYPTION_KEYS = newEncryptionKey();
let orders = 0;
const order = (): SampleOrder => {
  const name = `SO-${++orders}`;
  return { name, caller: 'billing', owner: `owner of ${name}`, record: 'sealed' };
};
/** What a step decides on. */
const timeOfStep: Step<undefined, number> = {
  name: 'tell the time',
  look: () => [sql`SELECT 1 AS one`.with()],
  decide: (_, __, now) => ({ results: () => [now] }),
};
const moved = ({ name, owner }: SampleOrder) => ({ name, owner, state: 'succeeded', record: 'sealed' });

async function opened(url: string, environment: Readonly<Record<string, string>> = {}) {
  const { database, log } = await openDatabase(url, environment);
  atEnd(() => database.close());
  return { database, log };
}

async function installed(url: string) {
  const both = await opened(url);
  await both.database.step(install, undefined);
  return both;
}

async function newFile(): Promise<string> {
  const { url, remove } = await emptyDatabase('file');
  atEnd(remove);
  return url.slice('sqlite:'.length);
}

/** The records of orders and keyed writes. */
function storeIn(database: Database): WriteStore {
  const texts = new SealedTexts(settings({ ENCRYPTION_KEYS }).database.encryptionKeys, 'platform');
  return new WriteStore(database, new WriteRecords(texts, new RecordedLog().log));
}

/** Begins an order as often as it takes: a slow machine may take longer than the gateway waits for a begin. */
async function beginPatiently(store: WriteStore, write: Begin): Promise<string> {
  let kind = '';
  await until(`${write.name} begins`, async () => {
    const begun = await store.begin(write).catch(() => undefined);
    kind = begun?.kind ?? '';
    return begun !== undefined;
  });
  return kind;
}

const isUp = (database: Database) => until('the database is trusted', () => database.trust.status === 'up');
const isDown = (database: Database, stopped: string) =>
  until(`orders stop: ${stopped}`, () => database.trust.trouble.stopped === stopped);

/** Begins and moves orders until `end` is called, and gives what each order was told. */
function flood(database: Database) {
  const flooding = new AbortController();
  const begun: string[] = [];
  const numbers: number[] = [];
  const faults: string[] = [];
  const work = async () => {
    while (!flooding.signal.aborted) {
      const one = order();
      try {
        if ((await database.step(begin, one)) === 'begun') begun.push(one.name);
        numbers.push(await database.step(move, moved(one)));
      } catch (error) {
        faults.push((error as { reason?: string }).reason ?? String(error));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const working = Promise.all(Array.from({ length: 20 }, work));
  return {
    begun,
    numbers,
    faults,
    end: async () => {
      flooding.abort();
      await working;
    },
  };
}

async function expectNothingLost(
  database: Database,
  { begun, numbers }: Pick<ReturnType<typeof flood>, 'begun' | 'numbers'>,
) {
  const names = sql`SELECT name FROM sample_orders WHERE platform = :platform`;
  const kept = new Set((await database.read<{ name: string }>(names.with())).map(({ name }) => name));
  expect(begun.filter((name) => !kept.has(name))).toEqual([]);
  const counted = sql`SELECT count(*) AS count, max(number) AS last FROM sample_events WHERE platform = :platform`;
  const [events] = await database.read<{ count: number; last: number }>(counted.with());
  // Numbers without a gap; some of them nobody was told.
  expect(events?.count).toBe(events?.last);
  expect(new Set(numbers.filter((number) => number > 0)).size).toBe(
    numbers.filter((number) => number > 0).length,
  );
}

describe('a server of PostgreSQL', () => {
  let server: RunningPostgres;
  beforeAll(async () => {
    server = await startPostgres(['restart_after_crash=on']);
  });
  afterAll(() => server.stop());

  it('D1 It crashes while orders begin and move, three times: what it acknowledged is there, and orders go on by themselves', async () => {
    const { database } = await installed(await server.newUrl());
    const flooding = flood(database);
    for (let crash = 0; crash < 3; crash++) {
      const before = flooding.numbers.length;
      await until('orders move', () => flooding.numbers.length > before + 20);
      if (crash === 1) {
        // One process of the server is killed, and it starts all of them again.
        const [backend] = await server.ask(
          "SELECT pid FROM pg_stat_activity WHERE application_name = 'licensing-gateway' ORDER BY random() LIMIT 1",
        );
        process.kill(Number(backend?.['pid']), 'SIGKILL');
      } else {
        await server.kill();
        await isDown(database, 'away');
        await server.start();
      }
      await isUp(database);
    }
    const before = flooding.numbers.length;
    await until('orders move', () => flooding.numbers.length > before + 20);
    await flooding.end();
    await expectNothingLost(database, flooding);
    expect(flooding.faults.every((reason) => ['away', 'unknown', 'still-away'].includes(reason))).toBe(true);
  });

  it('D2 An administrator ends every connection, again and again: steps that may be repeated are, and nothing is lost', async () => {
    const { database } = await installed(await server.newUrl());
    const flooding = flood(database);
    for (let round = 0; round < 5; round++) {
      const before = flooding.numbers.length;
      await until('orders move', () => flooding.numbers.length > before + 5);
      await server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'licensing-gateway'",
      );
    }
    const before = flooding.numbers.length;
    await until('orders move', () => flooding.numbers.length > before + 5);
    await flooding.end();
    await expectNothingLost(database, flooding);
  });

  it('D3 The reply to a commit is lost: a step that recognises its work runs again, and another says that it does not know', async () => {
    const url = await server.newUrl();
    const proxy = await FaultProxy.start(server.port);
    atEnd(() => proxy.close());
    const { database } = await installed(throughPort(url, proxy.port));
    const seen = await opened(url);
    const cutting = <Output>(step: Step<SampleOrder, Output>): Step<SampleOrder, Output> => {
      let isCut = false;
      return {
        ...step,
        decide: (inputs, found, now) => {
          if (!isCut) void proxy.add({ toxic: 'timeout', ms: 0 });
          isCut = true;
          return step.decide(inputs, found, now);
        },
      };
    };
    const committed = async (name: string) => {
      const found = sql`SELECT name FROM sample_orders WHERE platform = :platform AND name = :name`;
      await until(
        'it is committed',
        async () => (await seen.database.read(found.with({ name }))).length === 1,
      );
      await proxy.clear();
    };
    const [one, other] = [order(), order()];
    const repeated = database.step(cutting(begin), one);
    await committed(one.name);
    expect(await repeated).toBe('begun');

    const lost = database.step(
      cutting({ ...begin, repeatable: undefined } as unknown as typeof begin),
      other,
    );
    const told = lost.catch((fault: unknown) => fault);
    await committed(other.name);
    expect(await told).toMatchObject({ reason: 'unknown' });
  });

  it('D5 It is set to lose what it acknowledges: orders stop, and one line says which setting to change', async () => {
    const { database, log } = await installed(await server.newUrl());
    const stopped = log.next('database-stopped');
    await server.ask('ALTER SYSTEM SET fsync = off');
    await server.ask('SELECT pg_reload_conf()');
    expect((await stopped)['msg']).toMatch(/fsync = off, so it loses what it has acknowledged: switch it on/);
    await expect(database.step(begin, order())).rejects.toMatchObject({ reason: 'stopped' });
    await server.ask('ALTER SYSTEM RESET fsync');
    await server.ask('SELECT pg_reload_conf()');
    await isUp(database);
    expect(await database.step(begin, order())).toBe('begun');
  });

  it('D6 The role lacks a right: one line names right and table, orders are refused, and go on once it is granted', async () => {
    const url = await server.newUrl();
    const owner = new URL(url).username;
    const { database } = await installed(url);
    const reader = await server.newUrl();
    const role = new URL(reader).username;
    await server.ask(
      `GRANT USAGE ON SCHEMA ${owner} TO ${role}; ALTER ROLE ${role} SET search_path = ${owner};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${owner} TO ${role}; REVOKE UPDATE ON ${owner}.numbers FROM ${role};
       CREATE TABLE ${owner}.of_a_tool (one bigint)`,
    );
    const { database: limited } = await opened(reader);
    // A table of others in the schema does not matter.
    expect(limited.trust.trouble.reason).toContain(`no right to UPDATE on numbers: GRANT`);
    await expect(limited.step(begin, order())).rejects.toMatchObject({ reason: 'stopped' });
    await server.ask(`GRANT UPDATE ON ${owner}.numbers TO ${role}`);
    await isUp(limited);
    const one = order();
    expect(await limited.step(begin, one)).toBe('begun');
    expect(database.trust.status).toBe('up');

    // Taken away while it runs: writes to other tables do not end it.
    await server.ask(`REVOKE UPDATE ON ${owner}.numbers FROM ${role}`);
    await expect(limited.step(move, moved(one))).rejects.toMatchObject({ reason: 'rights' });
    for (let look = 0; look < 3; look++) {
      await limited.trust.check();
      expect(limited.trust.trouble.reason).toContain('no right to UPDATE on numbers: GRANT');
    }
    await server.ask(`GRANT UPDATE ON ${owner}.numbers TO ${role}`);
    await isUp(limited);
    expect(await limited.step(move, moved(one))).toBeGreaterThan(0);

    const none = await server.newUrl();
    await server.ask(`REVOKE CREATE ON SCHEMA ${new URL(none).username} FROM ${new URL(none).username}`);
    await server.ask(`ALTER SCHEMA ${new URL(none).username} OWNER TO tests`);
    await server.ask(`GRANT USAGE ON SCHEMA ${new URL(none).username} TO ${new URL(none).username}`);
    const { database: empty } = await opened(none);
    expect(empty.trust.trouble.reason).toMatch(/lacks CREATE on the schema .*: GRANT CREATE ON SCHEMA/);
  });

  it('D7 The database went back: every gateway stops, also one that had not seen what is lost, until an operator confirms it', async () => {
    const url = await server.newUrl();
    const { database } = await installed(url);
    const { database: other } = await opened(url);
    const first = order();
    await database.step(begin, first);
    await database.step(move, moved(first));
    const name = new URL(url).username;
    await server.ask(`UPDATE ${name}.numbers SET value = value - 1; DELETE FROM ${name}.sample_events`);
    await expect(database.step(begin, order())).rejects.toMatchObject({ reason: 'stopped' });
    await isDown(other, 'numbers');
    const { database: late } = await opened(url);
    expect(late.trust.trouble.reason).toContain('has lost commits');
    // An update of the schema confirms nothing.
    expect(await databaseInit(url, '--migrate')).toEqual({
      code: 2,
      output: expect.stringMatching(/the database knows of 0: 1 are missing\.[^]*Nothing was changed/),
    });
    expect(late.trust.trouble.reason).toContain('has lost commits');
    const said = await databaseInit(url, '--yes');
    expect(said).toEqual({
      code: 0,
      output: expect.stringMatching(
        /seen 1 moves of orders and jobs, and the database knows of 0: 1 are missing\.[^]*noticed it at 20[^]*Ready/,
      ),
    });
    for (const each of [database, other, late]) await isUp(each);
    const next = order();
    await database.step(begin, next);
    // A number that somebody has seen is not given out again.
    expect(await database.step(move, moved(next))).toBeGreaterThan(1);
  });

  it('D7 The database went back while orders were sent: their moves are recorded under numbers that nobody has seen, and the loss is shown', async () => {
    const url = await server.newUrl();
    const { database } = await installed(url);
    const { database: other } = await opened(url);
    const [lost, here, there] = [order(), order(), order()];
    for (const each of [lost, here, there]) await database.step(begin, each);
    await other.step(begin, order());
    const seen = await database.step(move, moved(lost));
    const name = new URL(url).username;
    await server.ask(
      `UPDATE ${name}.numbers SET value = value - 1 WHERE name = 'feed'; DELETE FROM ${name}.sample_events`,
    );
    const numbers = [await database.step(move, moved(here)), await other.step(move, moved(there))];
    expect(Math.min(...numbers)).toBeGreaterThan(seen);
    expect(new Set(numbers).size).toBe(2);
    for (const each of [database, other]) {
      await expect(each.step(begin, order())).rejects.toMatchObject({ reason: 'stopped' });
      await isDown(each, 'numbers');
    }
    expect(await databaseInit(url, '--yes')).toEqual({
      code: 0,
      output: expect.stringContaining(
        'seen 1 moves of orders and jobs, and the database knows of 0: 1 are missing.',
      ),
    });
    for (const each of [database, other]) await isUp(each);
    const next = order();
    await other.step(begin, next);
    expect(await other.step(move, moved(next))).toBeGreaterThan(Math.max(...numbers));
  });

  it('D8 The tables are gone: orders stop until an operator confirms, though an empty database may be made ready at a start', async () => {
    const url = await server.newUrl();
    const { database } = await installed(url);
    await database.step(begin, order());
    const name = new URL(url).username;
    await server.ask(`DROP SCHEMA ${name} CASCADE; CREATE SCHEMA AUTHORIZATION ${name}`);
    await isDown(database, 'unready');
    await expect(database.step(begin, order())).rejects.toMatchObject({ reason: 'stopped' });
    const { database: late } = await opened(url);
    await isDown(database, 'identity');
    await isDown(late, 'numbers');
    expect(await databaseInit(url, '--yes')).toMatchObject({ code: 0 });
    await isUp(database);
    await isUp(late);
  });

  it('D8 The tables are gone, and an operator makes them anew where nothing remembers the old ones: the feed goes on after what a gateway has seen', async () => {
    const url = await server.newUrl();
    const { database } = await installed(url);
    await database.close();
    const { database: manual } = await opened(url, { DATABASE_INIT: 'manual' });
    const [first, second] = [order(), order()];
    await manual.step(begin, first);
    const seen = await manual.step(move, moved(first));
    const name = new URL(url).username;
    await server.ask(`DROP SCHEMA ${name} CASCADE; CREATE SCHEMA AUTHORIZATION ${name}`);
    await isDown(manual, 'unready');
    expect(await databaseInit(url, '--yes')).toMatchObject({ code: 0 });
    await isUp(manual);
    await manual.step(install, undefined);
    await manual.step(begin, second);
    expect(await manual.step(move, moved(second))).toBeGreaterThan(seen);
  });

  it('D9 A pooler gives each transaction another session: steps, numbers and waiting work, and nothing is prepared', async () => {
    const url = await server.newUrl();
    const pooler = ended(await startPooler(server, url));
    const { database } = await installed(pooler.url);
    const { database: direct } = await opened(url);
    const flooding = flood(database);
    await until('orders move', () => flooding.numbers.length > 200);
    await flooding.end();
    expect(flooding.faults).toEqual([]);
    await expectNothingLost(direct, flooding);
    const one = order();
    await direct.step(begin, one);
    const woken = database.woken('feed');
    await direct.step(move, moved(one));
    await woken;
  });

  it('D10 Of several hosts the one that takes writes is used: others are away, or only read', async () => {
    const standby = ended(await startPostgres());
    const url = await server.newUrl();
    const away = await freePort();
    const { username, password } = new URL(url);
    await standby.ask(`CREATE ROLE ${username} LOGIN PASSWORD '${password}'`);
    await standby.ask('ALTER SYSTEM SET default_transaction_read_only = on');
    await standby.ask('SELECT pg_reload_conf()');
    const hosts = [away, standby.port, server.port].map((port) => `127.0.0.1:${port}`).join();
    const { database } = await installed(url.replace(/@[^/]*/, `@${hosts}`));
    expect(database.trust.trouble).toEqual({ stopped: 'none', reason: undefined });
    expect(await database.step(begin, order())).toBe('begun');
  });

  it('D11 A server that takes the connection and says nothing at the start: the gateway waits, says so, and goes on when it answers', async () => {
    const url = await server.newUrl();
    const hole = await Blackhole.start();
    const { database, log } = await opened(throughPort(url, hole.port));
    expect(log.lines).toContainEqual(
      expect.objectContaining({ event: 'database-away', msg: expect.stringContaining('does not answer') }),
    );
    expect(database.trust.status).toBe('down');
    await hole.close();
    const proxy = await FaultProxy.start(server.port);
    atEnd(() => proxy.close());
    await proxy.add({ toxic: 'down' });
    const { database: second } = await opened(throughPort(url, proxy.port));
    expect(second.trust.status).toBe('down');
    await proxy.clear();
    await isUp(second);
  });

  it.each([
    [
      'the password is wrong',
      (url: string) => url.replace(/:[^:]*@/, ':wrong@'),
      /does not accept the password: correct it/,
    ],
    [
      'there is no database of that name',
      (url: string) => url.replace(/postgres$/, 'absent'),
      /has no database of that name: create it/,
    ],
  ])('D12 One sentence says what to do where %s, and has no secret', async (_, change, sentence) => {
    const url = await server.newUrl();
    const { database, log } = await opened(change(url));
    expect(database.trust.trouble.reason).toMatch(sentence);
    expect(log.text).not.toContain(new URL(url).password);
    expect(await databaseInit(change(url), '--yes')).toEqual({
      code: 1,
      output: expect.stringMatching(sentence),
    });
  });

  it('D13 A database of a newer version: the start is refused with both numbers', async () => {
    const url = await server.newUrl();
    await opened(url);
    await server.ask(`INSERT INTO ${new URL(url).username}.schema_versions VALUES (999, 0)`);
    await expect(openDatabase(url)).rejects.toThrow(
      /^configuration: DATABASE_URL leads to a database of version 999, and this build knows \d+: /,
    );
    expect(await databaseInit(url, '--yes')).toEqual({
      code: 1,
      output: expect.stringContaining('version 999'),
    });
  });

  it('D56 A newer version changes tables under a gateway that runs: its reads and steps go on', async () => {
    const url = await server.newUrl();
    const { database } = await installed(url);
    const reads = () =>
      Promise.all(
        Array.from({ length: 4 }, () =>
          database.read(sql`SELECT name FROM numbers WHERE name = 'feed' AND platform = :platform`.with()),
        ),
      );
    const read = await reads();
    await database.step(begin, order());
    const { username } = new URL(url);
    await server.ask(`ALTER TABLE ${username}.numbers ALTER name TYPE varchar COLLATE "C";
      ALTER TABLE ${username}.sample_orders ALTER name TYPE varchar COLLATE "C"`);
    expect(await reads()).toEqual(read);
    expect(await database.step(begin, order())).toBe('begun');
    expect(database.trust.status).toBe('up');
  });

  it('D25 It has a standby that is not synchronous: one line warns that a failover may lose commits, and orders go on', async () => {
    const url = await server.newUrl();
    const folder = serverFolder('postgres-standby-');
    atEnd(() => rmSync(folder, { recursive: true }));
    const standby = followServer(server, folder);
    atEnd(() => standby.kill());
    const replicas = 'SELECT 1 FROM pg_stat_replication';
    await until('the standby follows', async () => (await server.ask(replicas)).length === 1);
    const { database, log } = await opened(url);
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        event: 'database-weak',
        msg: expect.stringMatching(/standbys that are not synchronous/),
      }),
    );
    expect(database.trust.status).toBe('up');
  });

  it('D25 A client of logical replication is no standby: nothing warns', async () => {
    const publisher = ended(await startPostgres(['wal_level=logical']));
    const subscriber = await subscribe(publisher, publisher.folder);
    atEnd(() => subscriber.kill());
    const replicas = 'SELECT 1 FROM pg_stat_replication';
    await until('the subscriber follows', async () => (await publisher.ask(replicas)).length === 1);
    const { database, log } = await opened(await publisher.newUrl());
    expect([database.trust.status, database.trust.isWeak]).toEqual(['up', false]);
    expect(log.lines.map(({ event }) => event)).not.toContain('database-weak');
  });

  it('D22 Others hold a lock for longer than a step has: its caller hears that the outcome is open, and one that had not begun that nothing was done', async () => {
    const url = await server.newUrl();
    const { database } = await installed(url);
    const [one, other] = [order(), order()];
    await database.step(begin, one);
    await database.step(begin, other);
    ended(await lockOf(url, one.name));
    const hasty = { ...move, withinMs: 150 };
    const inLanes = Array.from({ length: 2 }, (_, at) =>
      database.step({ ...hasty, name: `${at}` }, moved(one)),
    );
    const reasons = inLanes.map((step) =>
      step.catch((fault: unknown) => (fault as { reason: string }).reason),
    );
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE usename = '${new URL(url).username}' AND wait_event_type = 'Lock'`;
    await until('both wait for the lock', async () => (await server.ask(waiting)).length === 2);
    const queued = database.step(hasty, moved(other));
    await expect(queued).rejects.toMatchObject({ reason: 'away' });
    expect(await Promise.all(reasons)).toEqual(['unknown', 'unknown']);
  });

  it('D23 Reads take long: steps and the trust go on', async () => {
    const { database } = await installed(await server.newUrl());
    const slow = database.read(sql`SELECT 1 AS one FROM pg_sleep(1.5)`.with());
    let isOver = false;
    void slow.then(() => (isOver = true));
    for (let at = 0; at < 20; at++) expect(await database.step(begin, order())).toBe('begun');
    expect(isOver).toBe(false);
    expect(database.trust.status).toBe('up');
    await slow;
  });

  it('D23 Many reads wait for a server that is slow: those of the watches and orders go on, and one that waits too long is refused', async () => {
    const { database } = await installed(await server.newUrl());
    let isOver = false;
    const results = Array.from({ length: 10 }, () =>
      database
        .read(sql`SELECT 1 AS one FROM pg_sleep(3.5)`.with())
        .then(
          () => 'read',
          (error: { reason?: string }) => error.reason,
        )
        .finally(() => (isOver = true)),
    );
    await database.trust.check();
    await database.read(sql`SELECT 1 AS one`.with(), { isUrgent: true });
    const store = storeIn(database);
    const sent = ledgerBegin('SO-slow-reads');
    expect(await beginPatiently(store, sent)).toBe('begun');
    // Right before an order is sent.
    expect(await store.holds(sent.name, sent.owner)).toBe(true);
    expect([isOver, database.trust.status]).toEqual([false, 'up']);
    const ends = await Promise.all(results);
    expect(ends.slice(0, 2)).toEqual(['read', 'read']);
    expect(ends.slice(4)).toEqual(Array.from({ length: 6 }, () => 'away'));
    expect(await database.read(sql`SELECT 1 AS one`.with())).toEqual([{ one: 1 }]);
  });

  it('D55 An update of its system changes the order of texts: every order is found by its name, and none begins again', async () => {
    const url = await server.newUrl();
    const named = `other_order_${++orders}`;
    await server.ask(
      `CREATE DATABASE ${named} OWNER ${new URL(url).username} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
    );
    const inNamed = url.replace(/postgres$/, named);
    const begunIn = async (database: Database) => {
      const kinds: string[] = [];
      for (let at = 1; at <= 40; at++)
        kinds.push(await beginPatiently(storeIn(database), ledgerBegin(`SO-${at}`)));
      return kinds;
    };
    const before = await opened(inNamed, { ENCRYPTION_KEYS });
    await begunIn(before.database);
    await before.database.close();
    // Since version 17 the column has another name. From now on SO-10 comes after SO-9, and not after SO-1.
    const [column] = await server.ask(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'pg_database'::regclass AND attname IN ('daticulocale', 'datlocale')`,
    );
    await server.ask(
      `UPDATE pg_database SET ${String(column?.['name'])} = 'en-US-u-kn-true' WHERE datname = '${named}'`,
    );
    const { database } = await opened(inNamed, { ENCRYPTION_KEYS });
    expect(new Set(await begunIn(database))).toEqual(new Set(['there']));
    // No other key depends on an order that may change either.
    expect(
      await askDatabase(
        inNamed,
        `SELECT indexrelid::regclass::text AS index, collname FROM pg_index CROSS JOIN unnest(indcollation::oid[]) AS collation_of
           JOIN pg_collation ON pg_collation.oid = collation_of JOIN pg_class ON pg_class.oid = indrelid
         WHERE relnamespace = 'public'::regnamespace AND collname <> 'C'`,
      ),
    ).toEqual([]);
  });

  it('D14 TLS: certificate and name are checked, whatever the server shows', async () => {
    const { ca, good, wrongName } = await makeCertificates();
    const folder = serverFolder('postgres-tls-');
    atEnd(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'ca.pem');
    writeFileSync(file, ca);
    const secure = ended(await startPostgres([], good));
    const url = `${await secure.newUrl()}?sslmode=verify-full`;
    const { database } = await opened(url, { DATABASE_CA_FILE: file });
    expect(database.trust.trouble).toEqual({ stopped: 'none', reason: undefined });
    const { database: unknown } = await opened(url);
    expect(unknown.trust.trouble.reason).toMatch(/certificate .* cannot be trusted .*DATABASE_CA_FILE/);
    const other = ended(await startPostgres([], wrongName));
    const { database: misnamed } = await opened(`${await other.newUrl()}?sslmode=verify-full`, {
      DATABASE_CA_FILE: file,
    });
    expect(misnamed.trust.trouble.reason).toMatch(/cannot be trusted \(ERR_TLS_CERT_ALTNAME_INVALID\)/);
    const { database: plain } = await opened(`${await server.newUrl()}?sslmode=verify-full`);
    expect(plain.trust.trouble.reason).toMatch(/does not speak TLS: switch it on/);
  });
});

describe('a file of SQLite', () => {
  it('D15 It is deleted while the gateway runs: nothing is written any more, since it would be lost with the process', async () => {
    const path = await newFile();
    const { database } = await installed(`sqlite:${path}`);
    const begun = order();
    expect(await database.step(begin, begun)).toBe('begun');
    renameSync(path, `${path}.away`);
    await isDown(database, 'settings');
    expect(database.trust.trouble.reason).toContain('deleted or replaced');
    await expect(database.step(begin, order())).rejects.toMatchObject({ reason: 'stopped' });
    await expect(database.step(move, moved(begun))).rejects.toMatchObject({ reason: 'stopped' });
    expect(await database.read(sql`SELECT 1 AS one`.with())).toEqual([{ one: 1 }]);
    renameSync(`${path}.away`, path);
    await isUp(database);
    await database.step(move, moved(begun));
  });

  it('D16 A copy was put back, or the file is gone after a restart: orders stop until an operator confirms, who is told what is missing', async () => {
    const path = await newFile();
    const { database } = await openDatabase(`sqlite:${path}`);
    await database.step(install, undefined);
    const [first, second] = [order(), order()];
    await database.step(begin, first);
    await database.close();
    copyFileSync(path, `${path}.copy`);
    const again = await openDatabase(`sqlite:${path}`);
    await again.database.step(begin, second);
    await again.database.close();
    copyFileSync(`${path}.copy`, path);
    const { database: restored } = await opened(`sqlite:${path}`);
    expect(restored.trust.trouble).toMatchObject({ stopped: 'numbers' });
    const said = await databaseInit(`sqlite:${path}`, '--yes');
    expect(said.output).toContain('seen 2 writes that began, and the database knows of 1: 1 are missing.');
    await isUp(restored);
    await restored.close();
    rmSync(path);
    const { database: emptied } = await opened(`sqlite:${path}`);
    expect(emptied.trust.trouble).toMatchObject({
      stopped: 'unready',
      reason: expect.stringContaining('was emptied'),
    });
  });

  it('D18 Another process holds its lock: steps wait for it in their thread, and the event loop does not; their time is that at which they have it', async () => {
    const path = await newFile();
    const { database } = await installed(`sqlite:${path}`);
    const holder = spawn(process.execPath, ['-e', HOLD, path], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    const told = database.step(timeOfStep, undefined);
    const begun = database.step(begin, order());
    let turns = 0;
    const turning = setInterval(() => turns++, 1);
    await until('the process goes on meanwhile', () => turns > 50);
    clearInterval(turning);
    const gone = once(holder, 'exit');
    const freedAt = Date.now();
    holder.stdin.end();
    expect(await begun).toBe('begun');
    expect(await told).toBeGreaterThanOrEqual(freedAt);
    await gone;
  });

  it('D18 Another process keeps its lock: orders stop until it frees the lock, and one line says so', async () => {
    const path = await newFile();
    const { database, log } = await installed(`sqlite:${path}`);
    const holder = spawn(process.execPath, ['-e', HOLD, path], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    await isDown(database, 'away');
    const seen = new Set<string>();
    const watching = setInterval(() => seen.add(database.trust.status), 1);
    for (let checks = 0; checks < 2; checks++) await database.trust.check();
    clearInterval(watching);
    expect([...seen]).toEqual(['down']);
    expect(log.lines.filter(({ event }) => event === 'database-away')).toHaveLength(1);
    holder.stdin.end();
    await isUp(database);
  });

  it('Its thread fails: what it was doing is unknown, and the next steps run in another thread, also one that comes before the end of the first', async () => {
    const posted = jest.spyOn(Worker.prototype, 'postMessage');
    const engine = new SqliteFile(await newFile(), 'platform');
    await engine.open();
    atEnd(() => engine.close());
    const look = [sql`SELECT 1 AS one`.with()];
    const write = () =>
      engine.transact(look, () => [sql`CREATE TABLE IF NOT EXISTS tried (one bigint)`.with()]);
    await write();
    const writer = posted.mock.contexts.at(-1) as Worker;
    posted.mockRestore();
    const next = Promise.withResolvers<unknown>();
    writer.once('error', () => next.resolve(write()));
    // No message of the engine: the thread throws.
    writer.postMessage(null, []);
    await expect(write()).rejects.toMatchObject({ reason: 'unknown' });
    await next.promise;
    await write();
  });

  it('D24 A read takes long: steps, the check of an order and the reads of watches go on, and so does the event loop', async () => {
    const { database } = await installed(`sqlite:${await newFile()}`);
    const counting = sql`
      WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < :most)
      SELECT count(*) AS count FROM counted`;
    const slow = database.read(counting.with({ most: 20_000_000 }));
    let isOver = false;
    void slow.then(() => (isOver = true));
    for (let at = 0; at < 20; at++) expect(await database.step(begin, order())).toBe('begun');
    const store = storeIn(database);
    const sent = ledgerBegin('SO-slow-read');
    expect(await beginPatiently(store, sent)).toBe('begun');
    expect(await store.holds(sent.name, sent.owner)).toBe(true);
    expect(await database.read(sql`SELECT 1 AS one`.with(), { isUrgent: true })).toEqual([{ one: 1 }]);
    expect(isOver).toBe(false);
    await slow;
  });

  it('D19 Two processes write one file at once: each order is there, and numbers have no gap', async () => {
    const path = await newFile();
    const { database } = await installed(`sqlite:${path}`);
    const { database: other } = await opened(`sqlite:${path}`);
    const both = [flood(database), flood(other)];
    await until('both move orders', () => both.every(({ numbers }) => numbers.length > 100));
    for (const each of both) await each.end();
    expect(both.flatMap(({ faults }) => faults)).toEqual([]);
    await expectNothingLost(database, {
      begun: both.flatMap(({ begun }) => begun),
      numbers: both.flatMap(({ numbers }) => numbers),
    });
  });

  it.each([
    [
      'in a folder that is not there',
      async () => join(await newFile(), 'absent', 'gateway.db'),
      /is not there or not writable: make the folder/,
    ],
    [
      'that is no database',
      async () => {
        const path = await newFile();
        writeFileSync(path, 'This is a letter to the operator. '.repeat(100));
        return path;
      },
      /damaged, or no database of SQLite: restore a backup/,
    ],
    ['that is a folder', async () => dirname(await newFile()), /is no file: name one in a folder/],
    ['that is a device', async () => '/dev/null', /is no file: name one in a folder/],
    [
      'that cannot be made',
      async () => {
        const path = await newFile();
        symlinkSync(join(path, 'absent', 'gateway.db'), path);
        return path;
      },
      /cannot be made or opened/,
    ],
    [
      'whose name is too long',
      async () => `${await newFile()}${'x'.repeat(300)}`,
      /cannot be made or opened/,
    ],
  ])('D20 The start is refused in one sentence for a file %s', async (_, pathOf, sentence) => {
    const path = await pathOf();
    await expect(openDatabase(`sqlite:${path}`)).rejects.toThrow(sentence);
    const refused = await databaseInit(`sqlite:${path}`, '--yes');
    expect(refused).toEqual({ code: 1, output: expect.stringMatching(sentence) });
    expect(refused.output).not.toContain(path);
  });
});

it('D21 Several gateways start at once on an empty database: each is ready, and they know one identity', async () => {
  const url = await postgresUrl();
  const all = await Promise.all(Array.from({ length: 4 }, () => opened(url)));
  for (const { database } of all) await isUp(database);
  const identities = sql`SELECT identity FROM identities WHERE platform = :platform`;
  const found = await Promise.all(all.map(({ database }) => database.read(identities.with())));
  expect(new Set(found.map((rows) => JSON.stringify(rows))).size).toBe(1);
  expect(await all[0]?.database.read(EVENTS_AFTER.with({ after: 0 })).catch(() => [])).toEqual([]);
});

it.each(['file', 'postgres'] as const)(
  'D26 Processes that write are killed, again and again: what they were told is there, and numbers have no gap (%s)',
  async (engine) => {
    const { url, remove } = await emptyDatabase(engine);
    atEnd(remove);
    const { database } = await openDatabase(url);
    await database.step(install, undefined);
    await database.close();
    const told: string[] = [];
    for (let run = 0; run < 4; run++) {
      const lines = await killedWriter(url, `run-${run}`);
      told.push(...lines);
    }
    const { database: after } = await opened(url);
    expect(after.trust.trouble).toEqual({ stopped: 'none', reason: undefined });
    const events = await after.read<{ number: number; name: string }>(
      sql`SELECT number, name FROM sample_events WHERE platform = :platform ORDER BY number`.with(),
    );
    expect(events.map(({ number }) => number)).toEqual(events.map((_, at) => at + 1));
    const kept = new Set(events.map(({ name, number }) => `${name} ${number}`));
    expect(told.length).toBeGreaterThan(50);
    expect(told.filter((line) => !kept.has(line))).toEqual([]);
  },
);

/** Runs a process that writes until it has told of some orders, kills it, and gives what it told. */
async function killedWriter(url: string, run: string): Promise<readonly string[]> {
  const { platform } = settings().database;
  const program = ['--experimental-transform-types', '--no-warnings', 'test/support/sample-writer.ts'];
  const writer = spawn(process.execPath, [...program, url, platform, run], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const gone = once(writer, 'close');
  createInterface({ input: writer.stdout }).on('line', (line) => {
    lines.push(line);
    if (lines.length > 20) writer.kill('SIGKILL');
  });
  expect(await gone).toEqual([null, 'SIGKILL']);
  // The last line may be cut.
  return lines.slice(0, -1);
}

/** Locks an order until it is stopped. */
async function lockOf(url: string, name: string) {
  const client = new Client(url);
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM sample_orders WHERE name = $1 FOR UPDATE', [name]);
  return { stop: () => client.end() };
}

/** Holds the lock of a file until its input ends. */
const HOLD = `
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(process.argv[1]);
database.exec('BEGIN IMMEDIATE');
process.stdout.write('held');
process.stdin.on('end', () => { database.exec('COMMIT'); process.exit(); }).resume();`;
