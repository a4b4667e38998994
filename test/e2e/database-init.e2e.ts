import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { newSecret } from '../support/canary.ts';
import { databaseInit, emptyDatabase, initEnvironment } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { askDatabase, startPostgres } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { openDatabase } from '../support/use-database.ts';

/** database-init, as an operator calls it. */

const { atEnd, ended } = endings();

describe.each(['file', 'postgres'] as const)('database-init: %s', (engine) => {
  it('An operator makes an empty database ready, once, and a gateway with DATABASE_INIT=manual waits for it', async () => {
    const { url, remove } = await emptyDatabase(engine);
    atEnd(remove);
    const { database } = await openDatabase(url, { DATABASE_INIT: 'manual' });
    atEnd(() => database.close());
    expect(database.trust.trouble).toMatchObject({
      stopped: 'unready',
      reason: expect.stringContaining(
        'was never made ready: orders are refused until `npm run database-init` is run',
      ),
    });
    for (const [options, said] of [
      [[], /give --yes/],
      [['--restored'], /give --yes/],
      [['--force'], /^usage/],
      [['--migrate', '--yes'], /^usage/],
    ] as const)
      expect(await databaseInit(url, ...options)).toEqual({ code: 1, output: expect.stringMatching(said) });
    expect(database.trust.status).toBe('down');

    const { PATH = '', HOME = '' } = process.env;
    const { status, stdout } = spawnSync('npm', ['run', '--silent', 'database-init', '--', '--yes'], {
      env: { PATH, HOME, ...initEnvironment(url) },
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([
      0,
      expect.stringMatching(/no tables of the gateway[^]*version \d[^]*Ready/),
    ]);
    await until('the gateway takes notice', () => database.trust.status === 'up');
    const second = await databaseInit(url, '--yes');
    expect(second).toEqual({ code: 0, output: expect.stringContaining('nothing else to do') });
  });

  it('An operator who changes the address of the platform is told whose records are there, and a pipeline does not go on', async () => {
    const { url, remove } = await emptyDatabase(engine);
    atEnd(remove);
    expect((await databaseInit(url, '--migrate')).code).toBe(0);
    const moved = { UPSTREAM_BASE_URL: 'http://127.0.0.1:9/moved' };
    const init = (option: string) => databaseInit({ ...initEnvironment(url), ...moved }, option);
    const { database } = await openDatabase(url, { ...moved, DATABASE_INIT: 'manual' });
    atEnd(() => database.close());
    const told = 'has records of 127.0.0.1:9, and none of';
    expect(database.trust.trouble).toMatchObject({
      stopped: 'unready',
      reason: expect.stringContaining(told),
    });
    expect(await init('--migrate')).toEqual({
      code: 2,
      output: expect.stringMatching(/ and none of 127\.0\.0\.1:9\/moved, [^]*Nothing was changed/),
    });
    expect(database.trust.status).toBe('down');
    const confirmed = await init('--yes');
    expect(confirmed).toEqual({ code: 0, output: expect.stringMatching(`${told}[^]*Ready`) });
    await until('the gateway takes notice', () => database.trust.status === 'up');
    for (const each of [init('--migrate'), databaseInit(url, '--migrate')])
      expect(await each).toEqual({ code: 0, output: expect.stringContaining('nothing else to do') });
  });

  it('A pipeline makes it ready before each new version, without a question', async () => {
    const { url, remove } = await emptyDatabase(engine);
    atEnd(remove);
    for (const said of [/no tables of the gateway[^]*version \d[^]*Ready/, /nothing else to do/])
      expect(await databaseInit(url, '--migrate')).toEqual({ code: 0, output: expect.stringMatching(said) });
    const { database } = await openDatabase(url, { DATABASE_INIT: 'manual' });
    atEnd(() => database.close());
    expect(database.trust.trouble).toEqual({ stopped: 'none', reason: undefined });
  });
});

it('An operator confirms a database although an earlier confirmation has a later time, because a clock was ahead', async () => {
  const { url, remove } = await emptyDatabase('file');
  atEnd(remove);
  expect((await databaseInit(url, '--yes')).code).toBe(0);
  const path = url.slice('sqlite:'.length);
  const file = new DatabaseSync(path);
  file.exec('UPDATE identities SET confirmed_at = confirmed_at + 86400000');
  file.close();
  const { database: earlier } = await openDatabase(url);
  await earlier.close();
  rmSync(path);
  const { database } = await openDatabase(url);
  atEnd(() => database.close());
  expect(database.trust.trouble.reason).toContain('was emptied');
  expect((await databaseInit(url, '--yes')).code).toBe(0);
  await until('the gateway takes notice', () => database.trust.status === 'up');
});

it('There is nothing to make ready in memory, and a server that is away is named with its variable', async () => {
  expect(await databaseInit('sqlite::memory:', '--yes')).toEqual({
    code: 1,
    output: expect.stringContaining('forgotten with the process'),
  });
  expect(await databaseInit('postgres://user@127.0.0.1:1/orders', '--yes')).toEqual({
    code: 1,
    output: expect.stringMatching(/server of DATABASE_URL does not answer \(ECONNREFUSED\)/),
  });
});

it('A database that cannot keep every character is refused before it has tables: a maintenance could not be set there for some reasons', async () => {
  const server = ended(await startPostgres());
  await server.ask(`CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
  const url = `postgres://tests:${server.password}@127.0.0.1:${server.port}/latin`;
  const sentence = /DATABASE_URL names a database with the encoding LATIN1: .*ENCODING 'UTF8'/;
  expect(await databaseInit(url, '--yes')).toEqual({ code: 1, output: expect.stringMatching(sentence) });
  await expect(openDatabase(url)).rejects.toThrow(sentence);
});

it('Two versions that are deployed at once wait for the migration of another, however long it takes', async () => {
  const server = ended(await startPostgres());
  const url = await server.newUrl();
  const other = new Client(url);
  await other.connect();
  atEnd(() => other.end());
  await other.query('BEGIN; SELECT pg_advisory_xact_lock(5454365402)');
  const both = Promise.all([databaseInit(url, '--migrate'), databaseInit(url, '--migrate')]);
  // A statement of a gateway otherwise has four seconds.
  const WAITING = `SELECT 1 FROM pg_stat_activity
    WHERE wait_event = 'advisory' AND clock_timestamp() - query_start > interval '5 s'`;
  await Promise.race([both, until('both wait', async () => (await server.ask(WAITING)).length === 2)]);
  await other.query('COMMIT');
  const isDone = { code: 0, output: expect.stringMatching(/Ready|nothing else to do/) };
  expect(await both).toEqual([isDone, isDone]);
});

it('With the roles of the manual, database-init makes the tables, and a gateway that cannot change them is ready for orders', async () => {
  const server = ended(await startPostgres());
  const password = newSecret('c');
  const manual = readFileSync('docs/operating.md', 'utf8');
  const [, block = ''] = /^```sql\n(.*?)^```$/ms.exec(manual) ?? [];
  const statements = block.replaceAll('…', password).trim().split(';\n');
  const asRole = (role: string, secret: string) =>
    `postgres://${role}:${secret}@127.0.0.1:${server.port}/licensing`;
  for (const statement of statements.slice(0, -1)) await server.ask(statement);
  await askDatabase(asRole('tests', server.password), statements.at(-1) ?? '');

  const url = asRole('licensing', password);
  const early = await databaseInit(url, '--yes');
  expect(early).toEqual({ code: 1, output: expect.stringContaining('lacks CREATE on the schema public') });
  expect(await databaseInit(asRole('licensing_owner', password), '--yes')).toMatchObject({ code: 0 });
  const { database } = await openDatabase(url, { DATABASE_INIT: 'manual' });
  atEnd(() => database.close());
  expect(database.trust.trouble).toEqual({ stopped: 'none', reason: undefined });
  await expect(askDatabase(url, 'DROP TABLE writes')).rejects.toThrow('must be owner of table writes');
});
