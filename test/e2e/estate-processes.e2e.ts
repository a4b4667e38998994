import { describe, expect, it } from '@jest/globals';
import { Licensing, responseOf } from '../../client/src/licensing.ts';
import { runCommand } from '../../client/test/support/run-command.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { databaseInit, emptyDatabase } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import {
  ageReadings,
  atPlatform,
  ESTATE,
  enterpriseOf,
  isRead,
  LIST,
  namesOf,
  quickTurns,
  REFRESH,
  type Row,
  refresh,
  rowsOf,
  isState,
  SUMMARY,
} from '../support/estate.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { type NamedCaller, TestGateway } from '../support/gateway.ts';
import { askDatabase } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { useStack } from '../support/stack.ts';

/** The copy of the estate by several processes, of a platform that shows little, and where it is off. */

const { ended, atEnd } = endings();

/** The environment of a gateway whose tables a test can change. */
async function onPostgres() {
  const { url, remove } = await emptyDatabase('postgres');
  atEnd(remove);
  return { ...ESTATE, DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey() };
}

/** A gateway whose calls for the estate wait for no turn. */
async function startQuick(sandbox: TestSandbox, callers: readonly NamedCaller[]) {
  const environment = await onPostgres();
  const gateway = ended(await TestGateway.start(sandbox, environment, callers));
  await quickTurns(environment);
  return { gateway, environment };
}

/** Lets tasks of the estate run now that are not running: the look for enterprises, or the readings. */
async function runNow(
  { DATABASE_URL }: { readonly DATABASE_URL: string },
  kind: 'estate-looks' | 'estate',
): Promise<void> {
  const NOW = `UPDATE tasks SET due_at = 0 WHERE kind = '${kind}' AND lease_until = 0 RETURNING name`;
  await until('no task is under way', async () => (await askDatabase(DATABASE_URL, NOW)).length > 0);
}

describe('the estate of a platform whose users see their own enterprise only', () => {
  const { gateway } = useStack({
    environment: ESTATE,
    callers: [{ name: 'seller', scopes: ['estate:read'], enterprises: ['ent-meridian'] }],
    sandbox: { profile: { usersSee: 'own' } },
  });

  it('has assets only where no user is shown the rest, and says so', async () => {
    await refresh(gateway, 'ent-meridian');
    await isState(gateway, 'ent-meridian', 'assets-only');
    const rows = await rowsOf(gateway, '&enterpriseGlobalId=ent-meridian');
    expect(rows.map(({ assetId, productId }) => [assetId, productId])).toEqual([
      ['ast-2001', null],
      ['ast-2002', null],
    ]);
    expect(await rowsOf(gateway, '&enterpriseGlobalId=ent-meridian&unassigned=true')).toEqual([]);
    const { headers } = await gateway.get(LIST);
    expect(Number(headers.get('x-estate-incomplete'))).toBeGreaterThan(0);
    expect((await enterpriseOf(gateway, 'ent-meridian'))?.reason).toMatch(/^listAssetNums: /);
  });

  it('E16 tells nothing of an asset that an order of a caller has made', async () => {
    await isState(gateway, 'ent-meridian', 'assets-only');
    const before = (await rowsOf(gateway)).length;
    const item = {
      ...{ orderType: 'new_buy', licenseType: 'softkey' },
      customer: { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' },
      assets: [{ products: [{ productUri: 'draft.pro' }] }],
    };
    const order = { channelCode: 'partner', channelOrderId: 'SO-E16', items: [item] };
    expect((await gateway.post('/v1/license-orders', order)).status).toBe(201);
    await until('the copy has it', async () => (await rowsOf(gateway)).length > before);
    expect((await gateway.get('/v1/events?type=estate.added')).body['items']).toEqual([]);
  });

  it('shows callers of the package and of the command that rows may be missing', async () => {
    await refresh(gateway, 'ent-meridian');
    await isState(gateway, 'ent-meridian', 'assets-only');
    const apiKey = gateway.keys['seller'] as string;
    const licensing = new Licensing({ baseUrl: gateway.url, apiKey });
    for (const [find, found] of [
      ['8000002001', ['ast-2001']],
      ['no-such-number', []],
    ] as const) {
      const counts: (number | undefined)[] = [];
      const seen: string[] = [];
      const onPage = (page: object) => counts.push(responseOf(page)?.incomplete);
      for await (const { assetId } of licensing.estate.each({ find }, { onPage })) seen.push(assetId);
      expect([counts, seen]).toEqual([[1], found]);
    }

    const env = { LICENSING_URL: gateway.url, LICENSING_API_KEY: apiKey };
    const command = (...words: string[]) => runCommand(env, words);
    const told = 'Rows of 1 enterprise may be missing: licensing estate summary shows which\n';
    expect(await command('estate', 'list')).toMatchObject({
      code: 0,
      out: expect.stringContaining('8000002001'),
      err: told,
    });
    expect(await command('find', '8000002001')).toMatchObject({ code: 0, err: told });
    expect(await command('find', 'no-such-number')).toMatchObject({ code: 3, err: told });
    const json = await command('find', 'no-such-number', '--json');
    expect([json.code, json.out, JSON.parse(json.err)]).toEqual([
      3,
      '',
      expect.objectContaining({ incomplete: 1 }),
    ]);
  });
});

it('E5 E16 shows what an order changed that names its customer by a number of a CRM, and tells nothing of it', async () => {
  const sandbox = await TestSandbox.start({ profile: { usersSee: 'own' } });
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['*'], channels: ['crm', 'partner'] }];
  const { gateway, environment } = await startQuick(sandbox, callers);
  const place = async (channelCode: string, crmCustomerId: string, item: object) => {
    const items = [{ ...item, customer: { crmCustomerId } }];
    const order = {
      channelCode,
      channelOrderId: `SO-${crmCustomerId}-${JSON.stringify(item).length}`,
      items,
    };
    expect((await gateway.post('/v1/license-orders', order)).status).toBe(201);
  };
  const numbersOf = async (enterprise: string) =>
    new Set((await rowsOf(gateway, `&enterpriseGlobalId=${enterprise}`)).map((row) => row['assetNum']));
  await isState(gateway, 'ent-harbour', 'whole');
  await isState(gateway, 'ent-meridian', 'assets-only');
  await ageReadings(environment);
  const before = (await numbersOf('ent-meridian')).size;
  const bought = { orderType: 'new_buy', licenseType: 'cloud_account' };
  await place('partner', 'CRM-2001', { ...bought, assets: [{ products: [{ productUri: 'draft.pro' }] }] });
  await until('it is bought', async () => (await numbersOf('ent-meridian')).size > before);
  const deleted = { orderType: 'delete_product', licenseType: 'normal_recover_usbkey', allOrders: true };
  const assets = [{ assetNums: ['8000001003'], products: [{ productUri: 'draft.pro' }] }];
  await place('crm', 'CRM-1001', { ...deleted, assets });
  // The deletion also takes the product from a lock of the customer that it does not name.
  await until('it is deleted', async () => !(await numbersOf('ent-harbour')).has('8000001006'));
  const told = '/v1/events?type=estate.added,estate.removed,estate.changed';
  expect((await gateway.get(told)).body['items']).toEqual([]);
});

it('E1 A call that is repeated after a failure waits until two calls a second allow it', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const gateway = ended(await TestGateway.start(sandbox, ESTATE, callers));
  await isState(gateway, 'ent-meridian', 'whole');
  await sandbox.control('DELETE', '/journal');
  await sandbox.fault({ operation: 'listAssets', times: 1, action: { code: '80001' } });
  await refresh(gateway, 'ent-meridian');
  const times = async () => (await sandbox.journal('listAssets')).map(({ at }) => Date.parse(at));
  await until('it is repeated', async () => (await times()).length === 2);
  const [first = 0, second = 0] = await times();
  // 500 ms, less the way of the first call.
  expect(second - first).toBeGreaterThan(250);
});

it('tells that rows are missing of an enterprise whose reading ends while its list is read', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const { gateway, environment } = await startQuick(sandbox, callers);
  const ask = (query: string) => askDatabase(environment.DATABASE_URL, query);
  await isState(gateway, 'ent-meridian', 'whole');
  const rows = (await rowsOf(gateway)).length;
  await ask(`CREATE TABLE kept AS SELECT * FROM estate_rows; DELETE FROM estate_rows;
    UPDATE estate_enterprises SET state = 'unread'; UPDATE estate_turns SET version = version + 1`);
  // The reading ends when the list waits for the states of enterprises.
  const waits = (is: string) =>
    `SELECT 1 FROM pg_locks WHERE relation = 'estate_enterprises'::regclass AND ${is}`;
  const reading = ask(`DO $$ BEGIN LOCK TABLE estate_enterprises;
    WHILE NOT EXISTS (${waits('NOT granted')}) LOOP PERFORM pg_sleep(0.01); END LOOP;
    INSERT INTO estate_rows SELECT * FROM kept; UPDATE estate_enterprises SET state = 'whole';
    UPDATE estate_turns SET version = version + 1; END $$`);
  const locked = waits("granted AND mode = 'AccessExclusiveLock'");
  await until('the table is locked', async () => (await ask(locked)).length > 0);
  const { body, headers } = await gateway.get(LIST);
  await reading;
  const missing = rows - Number(body['total']);
  expect([missing > 0, headers.has('x-estate-incomplete')]).not.toEqual([true, false]);
});

it('E2 keeps what the list of assets said of an asset that it lacks, but the list of numbers has, and reads the others', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const { gateway, environment } = await startQuick(sandbox, callers);
  const find = async (id: string) => (await rowsOf(gateway, `&find=${id}`))[0];
  await isState(gateway, 'ent-harbour', 'whole');
  const before = await find('ast-1001');
  const cut = { odd: { pointer: '/data/0' } };
  const ids = await sandbox.fault({ operation: 'listAssets', action: cut });
  await sandbox.control('PATCH', '/state/assets/ast-1001', { memberGlobalId: 'mem-harbour-bo' });
  await sandbox.control('PATCH', '/state/assets/ast-1005', { locked: true });
  await ageReadings(environment);
  await refresh(gateway, 'ent-harbour');
  await isState(gateway, 'ent-harbour', 'stale');
  const { seenAt, ...kept } = (await find('ast-1001')) as Row;
  expect({ ...before, ...kept, memberGlobalId: null }).toEqual({ ...before });
  expect([kept['memberGlobalId'], String(seenAt) <= String(before?.['seenAt'])]).toEqual([
    'mem-harbour-bo',
    true,
  ]);
  expect((await find('ast-1005'))?.['locked']).toBe(true);
  const reason = 'listAssets: did not come whole, 1 of 12 assets';
  expect((await enterpriseOf(gateway, 'ent-harbour'))?.reason).toBe(reason);
  await sandbox.heal(ids);
  await ageReadings(environment);
  await refresh(gateway, 'ent-harbour');
  await isState(gateway, 'ent-harbour', 'whole');
});

it('E2 An enterprise is stale while the platform gives no tokens', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const { gateway } = await startQuick(sandbox, callers);
  await isState(gateway, 'ent-meridian', 'whole');
  await sandbox.fault({ operation: 'token', action: { httpStatus: 503 } });
  await sandbox.revokeTokens();
  await refresh(gateway, 'ent-meridian');
  await isState(gateway, 'ent-meridian', 'stale');
  expect((await enterpriseOf(gateway, 'ent-meridian'))?.reason).toBe('token: unavailable');
});

it('asks for each channel once in a while, also where the platform refuses another one', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  await sandbox.fault({ operation: 'queryCustomers', times: 1, action: { code: '13004' } });
  const callers = [{ name: 'seller', enterprises: ['*'], channels: ['nowhere', 'partner'] }];
  const { gateway, environment } = await startQuick(sandbox, callers);
  const asked = async () =>
    (await sandbox.journal('queryCustomers')).map(({ query }) => query['channelCode'] ?? '').toSorted();
  await isState(gateway, 'ent-meridian', 'whole');
  // The next look finds this entry, before it asks for channels.
  const key = gateway.addCaller({
    name: 'newcomer',
    scopes: ['estate:read'],
    enterprises: ['ent-tidewater'],
  });
  gateway.writeCallers();
  await until('the entry counts', async () => (await gateway.get(LIST, { key })).status === 200);
  await runNow(environment, 'estate-looks');
  await isState(gateway, 'ent-tidewater', 'whole');
  expect(await asked()).toEqual(['nowhere', 'partner']);
  expect((await gateway.get(LIST)).headers.has('x-estate-incomplete')).toBe(false);
});

it('forgets a misspelt enterprise of a refresh where the platform shows empty lists of it', async () => {
  const sandbox = await TestSandbox.start({ profile: { unknownEnterprise: 'empty' } });
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const { gateway } = await startQuick(sandbox, callers);
  await refresh(gateway, 'ent-nowhere');
  const isKnown = async () => (await enterpriseOf(gateway, 'ent-nowhere')) !== undefined;
  expect(await isKnown()).toBe(true);
  await until('it is forgotten', async () => !(await isKnown()));
  expect((await sandbox.journal('listAssets')).some(({ path }) => path.includes('ent-nowhere'))).toBe(true);
});

it('finds an account without what the platform appends where the members do not show what that is', async () => {
  const sandbox = await TestSandbox.start({ profile: { accountSuffix: 'dotted' } });
  atEnd(() => sandbox.close());
  const odd = { pointer: '/data/list/0/userName', value: 'somebody' };
  await sandbox.fault({ operation: 'listMembers', action: { odd } });
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const { gateway } = await startQuick(sandbox, callers);
  await isState(gateway, 'ent-harbour', 'whole');
  for (const find of ['anna.harbour', 'anna']) {
    const found = (await rowsOf(gateway, `&find=${find}`)).map(({ assetId }) => assetId);
    expect([find, new Set(found)]).toEqual([find, new Set(['ast-1002'])]);
  }
});

it('finds an account without a joined code where many members show the code', async () => {
  const sandbox = await TestSandbox.start({ profile: { accountSuffix: 'joined' } });
  atEnd(() => sandbox.close());
  const state = await sandbox.control<{ employees: { globalId: string }[] }>('GET', '/state');
  const anna = state.employees.find(({ globalId }) => globalId === 'mem-harbour-anna');
  const more = ['gus', 'ivo', 'kofi', 'lars', 'mia', 'nils'].map((account, index) => ({
    ...{ ...anna, id: `${70_000 + index}`, userId: `${80_000 + index}`, globalId: `mem-own-${index}` },
    userName: `${account}@harbour`,
  }));
  await sandbox.control('PUT', '/state', { ...state, employees: [...state.employees, ...more] });
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const { gateway } = await startQuick(sandbox, callers);
  await isState(gateway, 'ent-harbour', 'whole');
  for (const [find, ids] of [
    ['annaharbour', ['ast-1002']],
    ['Anna', ['ast-1002']],
    ['annah', []],
  ] as const) {
    const found = (await rowsOf(gateway, `&find=${find}`)).map(({ assetId }) => assetId);
    expect([find, new Set(found)]).toEqual([find, new Set(ids)]);
  }
});

describe('the estate of a platform that lists virtual assets only', () => {
  const stack = useStack({
    environment: ESTATE,
    callers: [{ name: 'seller', enterprises: ['ent-harbour'] }],
    database: 'postgres',
    sandbox: { profile: { assetList: 'virtual' } },
  });
  const { sandbox, gateway } = stack;

  it('E9 keeps what only the lists of members had when they are not shown any more, and tells nothing', async () => {
    await quickTurns({ DATABASE_URL: stack.databaseUrl() });
    await isRead(gateway, 1);
    const before = namesOf(await rowsOf(gateway));
    expect(before.join()).toContain('ast-1005');
    await sandbox.fault({ operation: 'listAssetNums', action: { code: '60017' } });
    // The list of assets had these two.
    await sandbox.control('PATCH', '/state/assets/ast-1001', { revoked: true });
    await sandbox.control('PATCH', '/state/assets/ast-1002', { memberGlobalId: 'mem-harbour-bo' });
    expect(await rowsOf(gateway, '&find=anna')).not.toEqual([]);
    await refresh(gateway, 'ent-harbour');
    await isState(gateway, 'ent-harbour', 'assets-only');
    const isThere = (name: string) => !name.includes('ast-1001');
    expect(namesOf(await rowsOf(gateway))).toEqual(before.filter(isThere));
    expect(await rowsOf(gateway, '&find=anna')).toEqual([]);
    const { body } = await gateway.get('/v1/events?type=estate.removed');
    const removed = (body['items'] as { subject: string }[]).map(({ subject }) => subject);
    expect(new Set(removed)).toEqual(new Set(['ent-harbour/ast-1001']));
  });
});

it('E16 tells nothing of the assets that only a user is shown, from when on a user is shown them', async () => {
  const sandbox = await TestSandbox.start({ profile: { assetList: 'virtual' } });
  atEnd(() => sandbox.close());
  const hidden = await sandbox.fault({ operation: 'listAssetNums', action: { code: '60017' } });
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const { gateway } = await startQuick(sandbox, callers);
  await isState(gateway, 'ent-harbour', 'assets-only');
  const before = (await rowsOf(gateway)).map(({ assetId }) => assetId);
  expect(before).not.toContain('ast-1005');
  await sandbox.heal(hidden);
  await refresh(gateway, 'ent-harbour');
  await isState(gateway, 'ent-harbour', 'whole');
  expect((await rowsOf(gateway)).map(({ assetId }) => assetId)).toContain('ast-1005');
  expect((await gateway.get('/v1/events?type=estate.added')).body['items']).toEqual([]);
});

it('E14 reads the assets of an enterprise that no user serves, also where one is listed twice or lacks a time', async () => {
  const sandbox = await TestSandbox.start({ profile: { usersSee: 'own' } });
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const odd = { pointer: '/data/0/updateTime', value: null };
  const untimed = await sandbox.fault({ operation: 'listAssets', action: { odd } });
  const { gateway, environment } = await startQuick(sandbox, callers);
  await isState(gateway, 'ent-meridian', 'assets-only');
  const ids = async () => (await rowsOf(gateway)).map(({ assetId }) => assetId);
  expect(await ids()).toEqual(['ast-2001', 'ast-2002']);
  await sandbox.heal(untimed);
  const twice = { pointer: '/data/1/id', value: 'ast-2001' };
  const doubled = await sandbox.fault({ operation: 'listAssets', action: { odd: twice } });
  const seenAt = (await enterpriseOf(gateway, 'ent-meridian'))?.seenAt ?? '';
  await refresh(gateway, 'ent-meridian');
  await isState(gateway, 'ent-meridian', 'assets-only', seenAt);
  expect(await ids()).toEqual(['ast-2001']);
  await sandbox.heal(doubled);
  await sandbox.control('PATCH', '/state/assets/ast-2001', { revoked: true });
  await ageReadings(environment);
  await gateway.post('/v1/enterprises/ent-meridian/locks/disable', { assetNums: ['8000001003'] });
  await until('the one that is gone is gone', async () => (await ids()).join() === 'ast-2002');
});

it('E19 has all that the platform shows of an asset that comes while the lists of the enterprise are read', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  // The assets come after the first list, and before those of the members.
  const none = { odd: { pointer: '/data', value: [] } };
  await sandbox.fault({ operation: 'listAssets', times: 1, action: none });
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const { gateway } = await startQuick(sandbox, callers);
  await isState(gateway, 'ent-harbour', 'whole');
  const rows = await rowsOf(gateway);
  expect(rows.map(({ assetId }) => assetId)).toEqual(expect.arrayContaining(['ast-1001', 'ast-1005']));
  const partly = rows.filter((row) => row['licenseType'] === null || row['locked'] === null);
  expect(partly).toEqual([]);
});

it('E15 A copy whose encryption key was removed is incomplete until it is read again, and makes no events', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const environment = await onPostgres();
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const first = await TestGateway.start(sandbox, environment, callers);
  await quickTurns(environment);
  await isState(first, 'ent-meridian', 'whole');
  await first.stop();
  await sandbox.control('PATCH', '/state/assets/ast-2002', { revoked: true });
  const ids = await sandbox.fault({ operation: 'listAssets', action: { code: '80001' } });
  const rekeyed = { ...environment, ENCRYPTION_KEYS: newEncryptionKey('k2') };
  const second = ended(await TestGateway.start(sandbox, rekeyed, callers));
  expect((await second.get(LIST)).headers.get('x-estate-incomplete')).toBe('1');
  await sandbox.heal(ids);
  await refresh(second, 'ent-meridian');
  await isState(second, 'ent-meridian', 'whole');
  const own = (name: string) => name.startsWith('ent-meridian');
  expect(namesOf(await rowsOf(second))).toEqual((await atPlatform(sandbox)).filter(own));
  const { body } = await second.get('/v1/events?type=estate.added,estate.changed,estate.removed');
  expect(body['items']).toEqual([]);
});

it('E17 A write that ends while the database is away is read, and not told, once the database is back', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const environment = await onPostgres();
  const { hostname, port } = new URL(environment.DATABASE_URL);
  const proxy = await FaultProxy.start(Number(port), hostname);
  atEnd(() => proxy.close());
  const address = Object.assign(new URL(environment.DATABASE_URL), {
    hostname: '127.0.0.1',
    port: String(proxy.port),
  });
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const through = { ...environment, DATABASE_URL: address.href };
  const gateway = ended(await TestGateway.start(sandbox, through, callers));
  await quickTurns(environment);
  await isState(gateway, 'ent-harbour', 'whole');
  await ageReadings(environment);
  await proxy.add({ toxic: 'down' });
  const path = '/v1/enterprises/ent-harbour/members/mem-harbour-anna/asset-nums';
  expect((await gateway.request('PATCH', path, { body: { assign: ['8000001009'] } })).status).toBe(200);
  await until('a note was lost', async () => (await gateway.get(LIST)).status === 503);
  await proxy.clear();
  await until('the copy shows who has it', async () => {
    const { status, body } = await gateway.get(`${LIST}?find=8000001009`);
    return (
      status === 200 &&
      (body['items'] as { memberGlobalId: unknown }[])[0]?.memberGlobalId === 'mem-harbour-anna'
    );
  });
  expect((await gateway.get('/v1/events?type=estate.changed')).body['items']).toEqual([]);
});

it('E5 tells nothing of what a deletion from all orders takes from locks that the list of assets does not show', async () => {
  const sandbox = await TestSandbox.start({ profile: { assetList: 'virtual' } });
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'], channels: ['crm'] }];
  const { gateway, environment } = await startQuick(sandbox, callers);
  await isState(gateway, 'ent-harbour', 'whole');
  await ageReadings(environment);
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  const item = {
    ...{ orderType: 'delete_product', licenseType: 'normal_recover_usbkey', allOrders: true, customer },
    assets: [{ assetNums: ['8000001003'], products: [{ productUri: 'draft.pro' }] }],
  };
  const order = { channelCode: 'crm', channelOrderId: 'SO-E5-locks', items: [item] };
  expect((await gateway.post('/v1/license-orders', order)).status).toBe(201);
  await until('another lock is gone', async () => (await rowsOf(gateway, '&find=8000001006')).length === 0);
  expect((await gateway.get('/v1/events?type=estate.removed,estate.changed')).body['items']).toEqual([]);
});

it('E5 reads the products of a loan that ends because a caller deletes the member who has it, and tells nothing', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const { gateway, environment } = await startQuick(sandbox, callers);
  const productsOf = async (id: string) => (await rowsOf(gateway, `&find=${id}`)).length;
  await isState(gateway, 'ent-harbour', 'whole');
  const lent = await productsOf('ast-1007');
  const { assets } = await sandbox.control<{ assets: { id: string; updateTime: number }[] }>('GET', '/state');
  expect(
    (await gateway.request('DELETE', '/v1/enterprises/ent-harbour/members/mem-harbour-chen')).status,
  ).toBe(204);
  // The platform does not show that the products of these assets have changed.
  for (const { id, updateTime } of assets.filter((each) => ['ast-1007', 'ast-1012'].includes(each.id)))
    await sandbox.control('PATCH', `/state/assets/${id}`, { updateTime });
  await ageReadings(environment);
  const askedAt = new Date().toISOString();
  expect(
    (await gateway.post('/v1/enterprises/ent-harbour/locks/enable', { assetNums: ['8000001003'] })).status,
  ).toBe(200);
  await isState(gateway, 'ent-harbour', 'whole', askedAt);
  expect(await productsOf('ast-1007')).toBeLessThan(lent);
  const { body } = await gateway.get('/v1/events?type=estate.added,estate.removed,estate.changed');
  expect(body['items']).toEqual([]);
});

it('E17 A write that ends shortly before the encryption keys are rotated is not told', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const environment = await onPostgres();
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const first = await TestGateway.start(sandbox, environment, callers);
  await quickTurns(environment);
  await isState(first, 'ent-harbour', 'whole');
  const path = '/v1/enterprises/ent-harbour/members/mem-harbour-anna/asset-nums';
  const { status } = await first.request('PATCH', path, { body: { assign: ['8000001009'] } });
  expect(status).toBe(200);
  await first.stop();
  const keys = `${newEncryptionKey('k2')},${environment.ENCRYPTION_KEYS}`;
  const second = ended(await TestGateway.start(sandbox, { ...environment, ENCRYPTION_KEYS: keys }, callers));
  await refresh(second, 'ent-harbour');
  await until('the copy shows who has it', async () => {
    const [row] = await rowsOf(second, '&find=8000001009');
    return row?.['memberGlobalId'] === 'mem-harbour-anna';
  });
  const { body } = await second.get('/v1/events?type=estate.changed');
  expect(body['items']).toEqual([]);
});

it('E18 An enterprise that the platform does not know any more is incomplete for a day, and then forgotten', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const environment = await onPostgres();
  const callers = [{ name: 'seller', enterprises: ['*'], channels: [] }];
  const gateway = ended(await TestGateway.start(sandbox, environment, callers));
  await sandbox.control('POST', '/snapshots/before');
  const made = await gateway.post('/v1/enterprises', { crmCustomerId: 'CRM-9018', customerName: 'Passing' });
  const id = String(made.body['enterpriseGlobalId']);
  await isState(gateway, id, 'whole');
  await sandbox.control('POST', '/snapshots/before/restore');
  await ageReadings(environment);
  const ask = (statement: string) => askDatabase(environment.DATABASE_URL, statement);
  await runNow(environment, 'estate');
  const gone = async () => (await enterpriseOf(gateway, id))?.reason ?? 'forgotten';
  await until('it is missed', async () => (await gone()).startsWith('The platform does not know it since 2'));
  expect((await gateway.get(LIST)).headers.get('x-estate-incomplete')).not.toBeNull();
  await ask(
    `UPDATE estate_enterprises SET reason = 'The platform does not know it since 2026-01-01T00:00:00.000Z'`,
  );
  await runNow(environment, 'estate');
  await until('it is forgotten', async () => (await gone()) === 'forgotten');
});

it('E10 reads the other assets where the products of one are refused, and tells what changes of them', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const match = { path: 'ast-1001' };
  const ids = await sandbox.fault({ operation: 'listAssetProducts', match, action: { code: '13004' } });
  const callers = [{ name: 'seller', enterprises: ['ent-harbour'] }];
  const { gateway, environment } = await startQuick(sandbox, callers);
  await isState(gateway, 'ent-harbour', 'stale');
  const harbour = async () => (await enterpriseOf(gateway, 'ent-harbour'))?.reason;
  expect(await harbour()).toMatch(/^getAssetProducts: refused 13004, 1 of \d+ assets$/);
  const rest = (name: string) => name.startsWith('ent-harbour') && !name.includes('ast-1001');
  expect(namesOf(await rowsOf(gateway)).filter(rest)).toEqual((await atPlatform(sandbox)).filter(rest));
  await sandbox.control('PATCH', '/state/assets/ast-1009', { revoked: true });
  await refresh(gateway, 'ent-harbour');
  await until('the loss of another asset is told', async () => {
    const { body } = await gateway.get('/v1/events?type=estate.removed');
    return (body['items'] as { subject: string }[]).some(({ subject }) => subject === 'ent-harbour/ast-1009');
  });
  await sandbox.heal(ids);
  await runNow(environment, 'estate');
  await isState(gateway, 'ent-harbour', 'whole');
  const own = (name: string) => name.startsWith('ent-harbour');
  expect(namesOf(await rowsOf(gateway))).toEqual((await atPlatform(sandbox)).filter(own));
});

it('keeps what no caller may see any more for a day, also where each enterprise is read more rarely', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const { url, remove } = await emptyDatabase('postgres');
  atEnd(remove);
  const environment = { ESTATE_REFRESH: '48h', DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey() };
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const first = await TestGateway.start(sandbox, environment, callers);
  await isState(first, 'ent-meridian', 'whole');
  await first.stop();
  const ask = (statement: string) => askDatabase(url, statement);
  await ask('UPDATE estate_enterprises SET seen_at = seen_at - 172800000, added_at = added_at - 172800000');
  await ask(`UPDATE tasks SET due_at = 0 WHERE kind = 'estate'`);
  const second = new TestGateway();
  for (const caller of second.callers) caller.enterprises = ['ent-tidewater'];
  await second.open(sandbox, environment);
  atEnd(() => second.stop());
  const reason = async () => {
    const [row] = await ask(`SELECT reason FROM estate_enterprises WHERE enterprise = 'ent-meridian'`);
    return row === undefined ? 'forgotten' : String(row['reason']);
  };
  await until('the gateway has looked at it', async () => (await reason()) !== 'null');
  expect(await reason()).toMatch(/^No caller may see it since 2/);
  await ask(`UPDATE estate_enterprises SET reason = 'No caller may see it since 2026-01-01T00:00:00.000Z'`);
  await ask(`UPDATE tasks SET due_at = 0 WHERE kind = 'estate'`);
  await until('it is forgotten', async () => (await reason()) === 'forgotten');
});

it('E11 An end that comes near is told in a maintenance of all calls', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const environment = await onPostgres();
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const HOUR_MS = 3_600_000;
  const limitEndTime = Date.now() + 60 * 24 * HOUR_MS + HOUR_MS;
  await sandbox.control('PATCH', '/state/assets/ast-2002', { limitEndTime });
  const first = await TestGateway.start(sandbox, environment, callers);
  await isState(first, 'ent-meridian', 'whole');
  const terms = { stops: 'all', until: new Date(Date.now() + HOUR_MS).toISOString(), reason: 'an update' };
  expect((await first.request('PUT', '/v1/maintenance', { body: terms })).status).toBe(200);
  await first.stop();
  const COME_NEAR = "UPDATE estate_rows SET ends_at = ends_at - $1 WHERE asset_id = 'ast-2002'";
  await askDatabase(environment.DATABASE_URL, COME_NEAR, HOUR_MS);
  const second = ended(await TestGateway.start(sandbox, environment, callers));
  await until('it is told', async () => {
    const { body } = await second.get('/v1/events?type=estate.ending');
    return (body['items'] as { subject: string }[]).some(
      ({ subject }) => subject === 'ent-meridian/ast-2002',
    );
  });
});

describe('a gateway without ESTATE_REFRESH', () => {
  const { sandbox, gateway } = useStack();

  it('answers 409 estate-off, and reads nothing by itself', async () => {
    const answers = [
      await gateway.get(LIST),
      await gateway.get(SUMMARY),
      await gateway.post(REFRESH, { enterpriseGlobalId: 'ent-harbour' }),
    ];
    expect(answers.map(({ status, body }) => [status, body['code']])).toEqual(
      answers.map(() => [409, 'estate-off']),
    );
    expect(await sandbox.calls()).toEqual([]);
  });
});

it('E8 A gateway that starts before its tables are there reads the estate once they are', async () => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const { url, remove } = await emptyDatabase('file');
  atEnd(remove);
  const database = { DATABASE_URL: url, DATABASE_INIT: 'manual', ENCRYPTION_KEYS: newEncryptionKey() };
  const callers = [{ name: 'seller', enterprises: ['ent-meridian'] }];
  const gateway = ended(await TestGateway.start(sandbox, { ...ESTATE, ...database }, callers));
  expect((await gateway.get(LIST)).status).toBe(503);
  const init = await databaseInit({ ...gateway.environment(sandbox), ...database }, '--yes');
  expect(init).toMatchObject({ code: 0 });
  await isState(gateway, 'ent-meridian', 'whole');
});

it.each([
  ['cannot be asked', { code: '80001' }],
  ['is refused by a code that nobody knows', { code: '99999' }],
  ['has null for its customers', { code: '0', codeAs: 'integer', status: 200, data: null }],
])('E8 A list of all enterprises is incomplete while a channel %s', async (_, action) => {
  const sandbox = await TestSandbox.start();
  atEnd(() => sandbox.close());
  const busy = await sandbox.fault({ operation: 'queryCustomers', action });
  const callers = [{ name: 'seller', enterprises: ['*'], channels: ['partner'] }];
  const { gateway, environment } = await startQuick(sandbox, callers);
  await refresh(gateway, 'ent-meridian');
  await isState(gateway, 'ent-meridian', 'whole');
  await until('the channel was asked', async () => (await sandbox.journal('queryCustomers')).length > 0);
  const missing = async () => (await gateway.get(LIST)).headers.get('x-estate-incomplete');
  expect([await missing(), (await gateway.get(SUMMARY)).body['seenAt']]).toEqual(['1', null]);
  const one = await gateway.get(`${LIST}?enterpriseGlobalId=ent-meridian`);
  expect(one.headers.has('x-estate-incomplete')).toBe(false);
  await sandbox.heal(busy);
  await runNow(environment, 'estate-looks');
  await isState(gateway, 'ent-harbour', 'whole');
  await until('nothing is missing', async () => (await missing()) === null);
});

describe('several processes', () => {
  const ASSETS = 8;

  it('E1 Two processes, one of which is killed, read each asset once, with two calls a second at most', async () => {
    const sandbox = await TestSandbox.start({ companies: { enterprises: 1, assets: ASSETS, products: 1 } });
    const { url, remove } = await emptyDatabase('postgres');
    atEnd(() => sandbox.close());
    atEnd(remove);
    const callers = [{ name: 'seller', enterprises: ['ent-0001'] }];
    const environment = { ...ESTATE, DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey() };
    const first = new TestGateway(callers);
    let process: Awaited<ReturnType<typeof startGatewayProcess>> | undefined;
    await first.open(sandbox, environment, async (all) => (process = await startGatewayProcess(all)));
    const second = ended(await TestGateway.start(sandbox, environment, callers));
    const productCalls = async () => (await sandbox.journal('listAssetProducts')).map(({ path }) => path);
    await until('some assets are read', async () => (await productCalls()).length >= 2);
    process?.child.kill('SIGKILL');
    await process?.ended;
    await isRead(second, 1);
    const own = (name: string) => name.startsWith('ent-0001');
    expect(namesOf(await rowsOf(second))).toEqual((await atPlatform(sandbox)).filter(own));
    const paths = await productCalls();
    expect(new Set(paths).size).toBe(ASSETS);
    // The one that was under way may be asked for again.
    expect(paths.length).toBeLessThanOrEqual(ASSETS + 1);
    const times = (await sandbox.calls()).map(({ at }) => Date.parse(at));
    const lasted = Math.max(...times) - Math.min(...times);
    // The first call may have come late.
    expect((times.length - 1) * 500).toBeLessThanOrEqual(lasted + 5_000);
    await first.stop();
  });
});
