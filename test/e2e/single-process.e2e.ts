import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { json } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { initEnvironment, runProgram } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { postgresUrl } from '../support/postgres.ts';
import { serverFolder, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** A gateway with a file as its database, and no other server. */

const ORDERS = '/v1/license-orders';
const IMPORTS = '/v1/enterprises/ent-harbour/member-imports';
const WEBHOOKS = '/v1/webhooks';
const ENCRYPTION_KEYS = newEncryptionKey();
const sandbox = useSandbox();
const { ended, atEnd } = endings();
afterEach(() => sandbox.reset());

/** Gateways on one file, each of which can be killed and started again. */
function newPlace() {
  const folder = serverFolder('single-process-');
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'gateway.db');
  const environment = {
    DATABASE_URL: `sqlite:${path}`,
    ENCRYPTION_KEYS,
    // The lease of an order ends five seconds later.
    UPSTREAM_ORDER_DEADLINE_MS: '2000',
    WEBHOOK_HOSTS: '127.0.0.1',
    ALLOW_INSECURE_WEBHOOKS: 'true',
  };
  async function start() {
    let running: GatewayProcess | undefined;
    const launch = async (all: Record<string, string>) => (running = await startGatewayProcess(all));
    const gateway = ended(await TestGateway.start(sandbox, environment, [], launch));
    return {
      gateway,
      kill: async () => {
        running?.child.kill('SIGKILL');
        await running?.ended;
      },
      stop: async () => running?.stop(),
      restart: () => gateway.open(sandbox, environment, launch),
    };
  }
  /** A program of the build, for the database and the platform of these gateways. */
  const run = (gateway: TestGateway, name: 'database-init' | 'database-backup', ...options: string[]) =>
    runProgram(name, { ...gateway.environment(sandbox), ...environment }, ...options);
  return { folder, path, start, run };
}

let last = 0;
function newOrder() {
  const order = orderOf(`SO-S${++last}`);
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  return { ...order, items: order.items.map((item) => ({ ...item, customer })) };
}
type Order = ReturnType<typeof newOrder>;

const place = (gateway: TestGateway, order: Order) => onceServed(() => gateway.post(ORDERS, order));
const recordOf = async (gateway: TestGateway, { channelOrderId }: Order) =>
  (await onceServed(() => gateway.get(`${ORDERS}/crm/${channelOrderId}`))).body;
const sendsOf = async ({ channelOrderId }: Order) =>
  (await sandbox.journal('batchOrder')).filter(({ body }) =>
    JSON.stringify(body).includes(`"${channelOrderId}"`),
  ).length;
const eventsOf = async (gateway: TestGateway) =>
  (await gateway.get('/v1/events')).body['items'] as Readonly<Record<string, unknown>>[];

describe('D27 after a kill and a restart', () => {
  it('the gateway tells the same orders and events, and an order that was being sent is in doubt and not sent again', async () => {
    const { gateway, kill, restart } = await newPlace().start();
    const [placed, sent] = [newOrder(), newOrder()];
    expect((await place(gateway, placed)).status).toBe(201);
    const slow = await sandbox.fault({ operation: 'batchOrder', phase: 'after', action: { hang: true } });
    const answer = gateway.post(ORDERS, sent).catch(() => 'no answer');
    await until('it is being sent', async () => (await sendsOf(sent)) === 1);
    const [record, events] = [await recordOf(gateway, placed), await eventsOf(gateway)];
    await kill();
    expect(await answer).toBe('no answer');
    await sandbox.heal(slow);
    await restart();
    expect(await recordOf(gateway, placed)).toEqual(record);
    // The lease may have ended before this read, and then the order in doubt has an event too.
    expect((await eventsOf(gateway)).slice(0, events.length)).toEqual(events);
    await until('its lease has ended', async () => (await recordOf(gateway, sent))['state'] !== 'sending');
    expect(['in_doubt', 'succeeded']).toContain((await recordOf(gateway, sent))['state']);
    await place(gateway, placed);
    await place(gateway, sent);
    expect([await sendsOf(placed), await sendsOf(sent)]).toEqual([1, 1]);
    expect((await eventsOf(gateway)).slice(0, events.length)).toEqual(events);
  });

  it('an import goes on to its end, and each row has its result once', async () => {
    const { gateway, kill, restart } = await newPlace().start();
    const rows = Array.from({ length: 300 }, (_, at) => `single${at},${newSecret('m')},Name ${at}`);
    const slow = await sandbox.fault({
      ...{ operation: 'addMembers', skip: 1, phase: 'after' },
      action: { hang: true },
    });
    const { status, headers } = await gateway.request('POST', IMPORTS, {
      body: ['account,password,name', ...rows, ''].join('\n'),
      headers: { 'content-type': 'text/csv' },
    });
    expect(status).toBe(202);
    await until('calls are under way', async () => (await sandbox.journal('addMembers')).length > 2);
    await kill();
    await sandbox.heal(slow);
    await restart();
    const job = headers.get('location') as string;
    await until('it has ended', async () => (await gateway.get(job)).body['finishedAt'] !== null);
    const { text } = await gateway.get(`${job}/rows`, { headers: { accept: 'application/x-ndjson' } });
    const results = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { status: string; account: string });
    expect(new Set(results.map(({ account }) => account)).size).toBe(rows.length);
    expect(Map.groupBy(results, (row) => row.status).get('added')).toHaveLength(rows.length);
  });

  it('a webhook is there, and its receiver gets what happens next', async () => {
    const { gateway, kill, restart } = await newPlace().start();
    const received: unknown[] = [];
    const server = createServer((request, response) => {
      void json(request).then((event) => {
        received.push((event as { subject: string }).subject);
        response.writeHead(204).end();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const made = await onceServed(() => gateway.post(WEBHOOKS, { url, types: ['*'] }));
    expect(made.status).toBe(201);
    const shown = async () =>
      (await onceServed(() => gateway.get(`${WEBHOOKS}/${String(made.body['webhookId'])}`))).body;
    const before = await shown();
    await kill();
    await restart();
    expect(await shown()).toEqual(before);
    const order = newOrder();
    expect((await place(gateway, order)).status).toBe(201);
    await until('its receiver has the order', () => received.includes(`crm/${order.channelOrderId}`));
  });
});

it('D28 Two processes on one file both place orders, see those of the other, and never place one twice', async () => {
  const { start } = newPlace();
  const [one, two] = [await start(), await start()];
  const orders = Array.from({ length: 20 }, newOrder);
  const answers = await Promise.all(
    orders.flatMap((order) => [place(one.gateway, order), place(two.gateway, order)]),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect(await Promise.all(orders.map(sendsOf))).toEqual(orders.map(() => 1));
  const shared = newOrder();
  expect((await place(one.gateway, shared)).status).toBe(201);
  expect((await recordOf(two.gateway, shared))['state']).toBe('succeeded');
  await one.kill();
  const alone = newOrder();
  expect((await place(two.gateway, alone)).status).toBe(201);
  await one.restart();
  expect((await recordOf(one.gateway, alone))['state']).toBe('succeeded');
  expect(await eventsOf(one.gateway)).toEqual(await eventsOf(two.gateway));
});

describe('database-backup', () => {
  it('D29 copies the file while the gateway runs, and a restored copy that lacks orders stops them until an operator confirms it', async () => {
    const { folder, path, start, run } = newPlace();
    const { gateway, stop, restart } = await start();
    const [kept, lost, next] = [newOrder(), newOrder(), newOrder()];
    expect((await place(gateway, kept)).status).toBe(201);
    const copy = join(folder, 'copy.db');
    expect(await run(gateway, 'database-backup', copy)).toEqual({
      code: 0,
      output: expect.stringMatching(/copy\.db has the database as it is now \(\d+ bytes\)\.\n$/),
    });
    expect((await place(gateway, lost)).status).toBe(201);
    await stop();
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    copyFileSync(copy, path);
    await restart();
    const refused = await gateway.post(ORDERS, next);
    expect([refused.status, refused.body]).toMatchObject([
      503,
      { code: 'dependency-unavailable', outcome: 'not_processed' },
    ]);
    expect(gateway.logLines.join('\n')).toContain('"event":"database-stopped"');
    const confirmed = await run(gateway, 'database-init', '--yes');
    expect([confirmed.code, confirmed.output]).toEqual([
      0,
      expect.stringMatching(/2 writes that began, and the database knows of 1: 1 are missing/),
    ]);
    await until('orders go on', async () => (await place(gateway, next)).status === 201);
    expect((await recordOf(gateway, kept))['state']).toBe('succeeded');
    expect((await gateway.get(`${ORDERS}/crm/${lost.channelOrderId}`)).status).toBe(404);
  });

  it('copies the file of a gateway that does not run, and nobody has to confirm a copy that lacks nothing', async () => {
    const { folder, path, start, run } = newPlace();
    const { gateway, stop, restart } = await start();
    const order = newOrder();
    expect((await place(gateway, order)).status).toBe(201);
    await stop();
    const copy = join(folder, 'copy.db');
    expect((await run(gateway, 'database-backup', copy)).code).toBe(0);
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    copyFileSync(copy, path);
    await restart();
    expect((await recordOf(gateway, order))['state']).toBe('succeeded');
    expect((await place(gateway, newOrder())).status).toBe(201);
  });

  it('makes a copy that those who cannot read the file cannot read either, from its first byte on', async () => {
    const { folder, path } = newPlace();
    const file = new DatabaseSync(path);
    atEnd(() => file.close());
    // The command waits for the lock before it copies.
    file.exec('CREATE TABLE one (two); BEGIN EXCLUSIVE');
    chmodSync(path, 0o600);
    const modeOf = (name: string) => statSync(join(folder, name)).mode & 0o777;
    const copying = runProgram('database-backup', initEnvironment(`sqlite:${path}`), join(folder, 'copy.db'));
    let part = '';
    await until('the copy begins', () => {
      part = readdirSync(folder).find((name) => name.startsWith('copy.db.part-')) ?? '';
      return part !== '';
    });
    expect(modeOf(part)).toBe(0o600);
    file.exec('COMMIT');
    expect(await copying).toMatchObject({ code: 0 });
    expect(modeOf('copy.db')).toBe(0o600);
  });

  it.each<[string, () => Promise<string> | string, (folder: string) => string[], RegExp]>([
    ['no file', () => 'sqlite:/nowhere/gateway.db', () => [], /^usage: npm run database-backup -- <file>\n$/],
    ['two files', () => 'sqlite:/nowhere/gateway.db', () => ['a', 'b'], /^usage/],
    ['a database in memory', () => 'sqlite::memory:', () => ['a'], /forgotten with the process/],
    ['PostgreSQL', postgresUrl, () => ['a'], /is a PostgreSQL: back it up with pg_dump/],
    [
      'a database that is not there',
      () => 'sqlite:/nowhere/gateway.db',
      () => ['a'],
      /file of DATABASE_URL is not there: \/nowhere\/gateway\.db/,
    ],
    ['a file that is there', () => `sqlite:${here}`, () => [here], /package\.json is there already/],
    [
      'a folder that is not there',
      () => `sqlite:${here}`,
      (folder) => [join(folder, 'none', 'copy.db')],
      /^The folder .*none is not there or not writable/,
    ],
    [
      'a file that is no database',
      () => `sqlite:${here}`,
      (folder) => [join(folder, 'copy.db')],
      /^The backup failed: file is not a database\n$/,
    ],
  ])('refuses %s, and says why', async (_, url, options, said) => {
    const { folder } = newPlace();
    const environment = { ...initEnvironment(await url()), ENCRYPTION_KEYS };
    expect(await runProgram('database-backup', environment, ...options(folder))).toEqual({
      code: 1,
      output: expect.stringMatching(said),
    });
    expect(existsSync(join(folder, 'copy.db'))).toBe(false);
  });
});

/** A file that is no database. */
const here = join(process.cwd(), 'package.json');
