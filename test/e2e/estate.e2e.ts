import { parse } from 'csv-parse';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import {
  ageReadings,
  atPlatform,
  ESTATE,
  enterpriseOf,
  enterprisesOf,
  isRead,
  isState,
  LIST,
  namesOf,
  type PlatformState,
  quickTurns,
  REFRESH,
  type Row,
  refresh,
  rowsOf,
  SUMMARY,
} from '../support/estate.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { TestGateway } from '../support/gateway.ts';
import { postgresUrl } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** The copy of what all enterprises have, read from the sandbox by the shipped gateway. */

/** The gateway finds the enterprises of callers with `*` by the channels that entries name. */
const seller = { name: 'seller', enterprises: ['*'], channels: ['crm', 'partner'] };
const ENTERPRISES = 3;
const LONGFELLOW = '9007199254741993';

describe('the estate', () => {
  const sandbox = useSandbox();
  const gateway = new TestGateway([
    seller,
    {
      name: 'harbour',
      ...{ scopes: ['estate:read', 'members:write', 'events:read'], enterprises: ['ent-harbour'] },
      users: ['default'],
    },
    { name: 'reader', scopes: ['orders:read'], enterprises: ['*'] },
    {
      name: 'rival',
      ...{
        scopes: ['locks:write', 'orders:write', 'orders:revoke'],
        enterprises: ['ent-meridian'],
        channels: ['partner'],
      },
    },
  ]);
  let child: GatewayProcess;
  let database: { readonly DATABASE_URL: string; readonly ENCRYPTION_KEYS: string };
  beforeAll(async () => {
    for (const id of ['1006', '1008', '1010', '1011'])
      await sandbox.control('PATCH', `/state/assets/ast-${id}`, { revoked: true });
    // Nobody can be given what has ended or is frozen.
    const ended = { grantable: true, limitEndTime: '2026-01-31T00:00:00.000Z' };
    await sandbox.control('PATCH', '/state/assets/ast-1003', ended);
    await sandbox.control('PATCH', '/state/assets/ast-1004', { freezing: true });
    // A platform in which an id was typed on a machine that takes a letter and its mark apart.
    const { products } = await sandbox.control<PlatformState>('GET', '/state');
    const product = products.find(({ assetId }) => assetId === 'ast-1005');
    await sandbox.control('PATCH', `/state/products/${product?.id}`, { crmProductId: 'CAFE\u0301-5' });
    // A server has a clock of its own.
    database = { DATABASE_URL: await postgresUrl(), ENCRYPTION_KEYS: newEncryptionKey() };
    await gateway.open(sandbox, { ...ESTATE, ...database }, async (all) => {
      child = await startGatewayProcess(all, { disturbed: true });
      return child;
    });
    await quickTurns(database);
    await isRead(gateway, ENTERPRISES);
    // The list of all enterprises may be read last.
    await until('nothing is missing', async () => {
      const [list, summary] = [await gateway.get(LIST), await gateway.get(SUMMARY)];
      return !list.headers.has('x-estate-incomplete') && summary.body['seenAt'] !== null;
    });
  });
  afterAll(() => gateway.stop());
  const harbour = () => gateway.keys['harbour'] as string;
  const stateOf = async (id: string) => (await enterpriseOf(gateway, id))?.state;

  it('has every row of every enterprise once, with its age, and the same as CSV', async () => {
    const { headers, body } = await gateway.get(SUMMARY);
    const rows = await rowsOf(gateway);
    expect(namesOf(rows)).toEqual(await atPlatform(sandbox));
    expect([headers.has('x-estate-incomplete'), body['products']]).toEqual([
      false,
      rows.filter(({ productId }) => productId !== null).length,
    ]);
    expect(rows.every(({ seenAt }) => String(seenAt) >= String(body['seenAt']))).toBe(true);
    const one = rows.find(
      ({ assetId, productUri }) => assetId === 'ast-1002' && productUri === 'cloud.render',
    );
    expect(one).toMatchObject({
      ...{ enterpriseGlobalId: 'ent-harbour', assetNum: '8000001002', licenseType: 'cloud_account' },
      ...{ memberGlobalId: 'mem-harbour-anna', online: true, lent: false, locked: false, frozen: false },
      ...{
        licenseOrderId: 'lic-5002',
        channelOrderId: 'SO-0002',
        lastOnlineAt: expect.any(String) as unknown,
      },
    });
    const csv = await gateway.get(LIST, { headers: { accept: 'text/csv' } });
    expect(csv.headers.get('content-type')).toContain('text/csv');
    const lines = await parse(csv.text, { columns: true }).toArray();
    const cells = (row: object) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, value === null ? '' : String(value)]),
      );
    expect(lines).toEqual(rows.map(cells));
  });

  it('finds a lock by its number and an account by either form, and tells what is unassigned', async () => {
    const found = async (find: string) =>
      new Set((await rowsOf(gateway, `&find=${encodeURIComponent(find)}`)).map(({ assetId }) => assetId));
    expect(await found('8000001005')).toEqual(new Set(['ast-1005']));
    expect(await found('AST-1005')).toEqual(new Set(['ast-1005']));
    expect(await found('Anna@harbour')).toEqual(new Set(['ast-1002']));
    expect(await found('anna')).toEqual(new Set(['ast-1002']));
    expect(await found('so-0003')).toEqual(new Set(['ast-1002']));
    for (const typed of ['cafe\u0301-5', 'caf\u00e9-5', ' CAF\u00c9-5'])
      expect([typed, await found(typed)]).toEqual([typed, new Set(['ast-1005'])]);
    for (const odd of ['%%%', "' OR 1=1 --", '___', 'a'.repeat(255)])
      expect(await found(odd)).toEqual(new Set());
    const unassigned = new Set((await rowsOf(gateway, '&unassigned=true')).map(({ assetId }) => assetId));
    expect(unassigned).toEqual(new Set(['ast-1001', 'ast-1009']));
  });

  it('shows a caller what its enterprises have, and nothing of others', async () => {
    const rows = await rowsOf(gateway, '', harbour());
    expect(new Set(rows.map(({ enterpriseGlobalId }) => enterpriseGlobalId))).toEqual(
      new Set(['ent-harbour']),
    );
    expect((await enterprisesOf(gateway, harbour())).length).toBe(1);
    expect(await rowsOf(gateway, '&find=8000002001', harbour())).toEqual([]);
    expect(await rowsOf(gateway, '&productUri=survey.field', harbour())).toEqual([]);
    const csv = await gateway.get(LIST, { key: harbour(), headers: { accept: 'text/csv' } });
    expect(csv.text).not.toContain('meridian');
    for (const path of [LIST, SUMMARY]) {
      const { status } = await gateway.get(`${path}?enterpriseGlobalId=ent-meridian`, { key: harbour() });
      expect([path, status]).toEqual([path, 403]);
    }
    const other = await gateway.post(REFRESH, { enterpriseGlobalId: 'ent-meridian' }, { key: harbour() });
    expect(other.status).toBe(403);
    expect((await gateway.get(LIST, { key: gateway.keys['reader'] as string })).status).toBe(403);
  });

  it('forgets what a caller names and the platform does not know: it is not missing in the lists of all', async () => {
    await refresh(gateway, 'ent-nowhere');
    await gateway.post('/v1/enterprises/*/locks/disable', { assetNums: ['8000001003'] });
    await gateway.post('/v1/enterprises/ent-mistyped/locks/disable', { assetNums: ['8000001003'] });
    const known = async () =>
      (await enterprisesOf(gateway)).map(({ enterpriseGlobalId }) => enterpriseGlobalId);
    for (const unknown of ['ent-nowhere', 'ent-mistyped']) {
      const asked = async () =>
        (await sandbox.journal('listAssets')).some(({ path }) => path.includes(unknown));
      await until(`the platform was asked for ${unknown}`, asked);
      await until(`${unknown} is forgotten`, async () => !(await known()).includes(unknown));
    }
    expect([(await gateway.get(LIST)).headers.has('x-estate-incomplete'), (await known()).length]).toEqual([
      ...[false, ENTERPRISES],
    ]);
  });

  it('refuses to read `*`, which is no enterprise', async () => {
    const { status, body } = await gateway.post(REFRESH, { enterpriseGlobalId: '*' });
    expect([status, body['errors']]).toEqual([
      400,
      [expect.objectContaining({ pointer: '/enterpriseGlobalId' })],
    ]);
  });

  it.each([
    ['endsAfter=2027-01-01&endsBefore=2026-01-01', 'endsBefore'],
    ['unassigned=true&memberGlobalId=mem-1', 'unassigned'],
    ['find=ab', 'find'],
    [`find=${'a'.repeat(256)}`, 'find'],
    ['sort=price', 'sort'],
    ['sort=endsAt,seenAt', 'sort'],
    ['licenseType=dongle', 'licenseType'],
    ['unassigned=yes', 'unassigned'],
    ['pageSize=1001', 'pageSize'],
  ])('refuses %s by name', async (query, name) => {
    const { status, body } = await gateway.get(`${LIST}?${query}`);
    expect([status, body['code']]).toEqual([400, 'validation-failed']);
    expect(JSON.stringify(body['errors'])).toContain(name);
  });

  const told = async () => {
    const { body } = await gateway.get('/v1/events?type=estate.added,estate.removed,estate.changed', {
      key: harbour(),
    });
    return (body['items'] as { type: string; subject: string; data: Row }[]).map(
      ({ type, subject, data }) => [type, subject, data.assetId, data['memberGlobalId']],
    );
  };

  it('E13 E21 shows what a caller has changed at once, and tells what the platform has changed by itself, also of the same asset', async () => {
    expect(await told()).toEqual([]);
    await ageReadings(database);
    const path = '/v1/enterprises/ent-harbour/members/mem-harbour-anna/asset-nums';
    const { status } = await gateway.request('PATCH', path, { body: { assign: ['8000001009'] } });
    expect(status).toBe(200);
    await until('the copy shows who has it', async () => {
      const [row] = await rowsOf(gateway, '&find=8000001009');
      return row?.['memberGlobalId'] === 'mem-harbour-anna';
    });
    // Writes of another company name the same assets and are refused.
    const rival = { key: gateway.keys['rival'] as string };
    const disable = '/v1/enterprises/ent-meridian/locks/disable';
    const { body } = await gateway.post(disable, { assetNums: ['8000001007', '8000001001'] }, rival);
    expect(body).toMatchObject({ succeeded: 0, failed: 2 });
    const item = {
      ...{ orderType: 'delete_asset', licenseType: 'softkey', allOrders: true },
      customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-meridian' },
      assets: [{ assetNums: ['8000001007'] }],
    };
    const order = { channelCode: 'partner', channelOrderId: 'SO-E13', syncMode: 'async', items: [item] };
    expect((await gateway.post('/v1/license-orders', order, rival)).status).toBe(404);
    // The platform accepts an order of the other company whose labels are equal to numbers of these assets.
    const labels = { crmProductId: '8000001007', parentCrmProductId: 'ast-1001' };
    const bought = {
      ...{ orderType: 'new_buy', licenseType: 'softkey' },
      customer: { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' },
      assets: [{ products: [{ productUri: 'draft.pro', ...labels }] }],
    };
    const labelled = { ...order, channelOrderId: 'SO-E21', items: [bought] };
    expect((await gateway.post('/v1/license-orders', labelled, rival)).status).toBe(202);
    // Somebody takes one away at the platform, and gives two others to a member.
    await sandbox.control('PATCH', '/state/assets/ast-1007', { revoked: true });
    await sandbox.control('PATCH', '/state/assets/ast-1001', { memberGlobalId: 'mem-harbour-bo' });
    await sandbox.control('PATCH', '/state/assets/ast-1009', { memberGlobalId: 'mem-harbour-bo' });
    const askedAt = new Date().toISOString();
    await refresh(gateway, 'ent-harbour');
    await until('the copy lacks it', async () => (await rowsOf(gateway, '&find=8000001007')).length === 0);
    await until('all is told', async () => (await told()).length >= 4);
    const lost = ['estate.removed', 'ent-harbour/ast-1007', 'ast-1007', 'mem-harbour-chen'];
    const given = ['1001', '1009'].map((id) => [
      ...['estate.changed', `ent-harbour/ast-${id}`, `ast-${id}`, 'mem-harbour-bo'],
    ]);
    expect(new Set((await told()).map(String))).toEqual(new Set([lost, ...given].map(String)));
    await isState(gateway, 'ent-harbour', 'whole', askedAt);
  });

  it('E5 shows a product that an order has deleted as gone, and does not tell it, though its asset has not changed', async () => {
    const before = await told();
    await ageReadings(database);
    const item = {
      ...{ orderType: 'delete_product', licenseType: 'softkey', srcLicenseOrderId: 'lic-5001' },
      customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
      assets: [{ assetNums: ['8000001001'], products: [{ productUri: 'draft.view' }] }],
    };
    const order = { channelCode: 'crm', channelOrderId: 'SO-E5', items: [item] };
    expect((await gateway.post('/v1/license-orders', order)).status).toBe(201);
    const urisOf = async (find: string) =>
      (await rowsOf(gateway, `&find=${find}`)).map(({ productUri }) => productUri);
    expect(await urisOf('8000001001')).toContain('draft.pro');
    await until('it is gone', async () => !(await urisOf('8000001001')).includes('draft.view'));
    expect(await told()).toEqual(before);
    // Products that were not read again are as old as they were.
    await until('the products of another asset are older than the last reading', async () => {
      const { seenAt } = (await enterpriseOf(gateway, 'ent-harbour')) ?? {};
      const [other] = await rowsOf(gateway, '&find=8000001005');
      return String(other?.['seenAt']) < String(seenAt);
    });
  });

  it('E7 reads an enterprise next whose assets the platform shows to a caller otherwise than the copy, also with a clock that is behind', async () => {
    // The times of readings are those of the database.
    await ageReadings(database);
    await child.disturb({ clock: -3_600_000 });
    await sandbox.control('PATCH', '/state/assets/ast-1005', { locked: true });
    const path = '/v1/enterprises/ent-harbour/assets';
    expect((await gateway.get(path, { headers: { 'cache-control': 'no-cache' } })).status).toBe(200);
    const isLocked = async () => (await rowsOf(gateway, '&find=8000001005'))[0]?.['locked'] === true;
    await until('the copy shows that it is locked', isLocked);
    await child.disturb({ clock: 0 });
  });

  it('E7 reads an enterprise next whose members have other assets than the copy shows when a caller sees that', async () => {
    await ageReadings(database);
    await sandbox.control('PATCH', '/state/assets/ast-2001', { memberGlobalId: 'mem-meridian-noor' });
    const path = '/v1/enterprises/ent-meridian/asset-nums';
    expect((await gateway.get(path, { headers: { 'cache-control': 'no-cache' } })).status).toBe(200);
    const hasIt = async () => (await rowsOf(gateway, '&find=ast-2001'))[0]?.['memberGlobalId'] !== null;
    await until('the copy shows who has it', hasIt);
  });

  it('shows a new asset together with its products', async () => {
    await ageReadings(database);
    const spoiled = await sandbox.spoiled();
    const match = { path: 'ast-1008' };
    const [id = ''] = await sandbox.fault({
      operation: 'listAssetProducts',
      match,
      action: { delayMs: 3_000 },
    });
    await sandbox.control('PATCH', '/state/assets/ast-1008', { revoked: false });
    const path = '/v1/enterprises/ent-harbour/assets';
    await gateway.get(path, { headers: { 'cache-control': 'no-cache' } });
    await sandbox.untilSpoiled(spoiled + 1);
    expect([(await rowsOf(gateway, '&find=ast-1008')).length, await stateOf('ent-harbour')]).toEqual([
      0,
      'whole',
    ]);
    await until('it is there', async () => (await rowsOf(gateway, '&find=ast-1008')).length > 0);
    const [row] = await rowsOf(gateway, '&find=ast-1008');
    expect(row?.['productUri']).toBe('draft.pro');
    await sandbox.heal([id]);
  });

  it('E7 reads an enterprise next whose assets are all gone when the platform shows them to a caller', async () => {
    await isState(gateway, LONGFELLOW, 'whole');
    const of = `&enterpriseGlobalId=${LONGFELLOW}`;
    expect(await rowsOf(gateway, of)).not.toEqual([]);
    await ageReadings(database);
    await sandbox.control('PATCH', '/state/assets/9007199254743993', { revoked: true });
    const path = `/v1/enterprises/${LONGFELLOW}/assets`;
    const { status, body } = await gateway.get(path, { headers: { 'cache-control': 'no-cache' } });
    expect([status, body['items']]).toEqual([200, []]);
    await until('the copy has none', async () => (await rowsOf(gateway, of)).length === 0);
  });

  it('E2 keeps what was there after a list that is null, lacks an id, or is refused, and says why', async () => {
    const before = await rowsOf(gateway, '&enterpriseGlobalId=ent-meridian');
    const seenAt = (await enterpriseOf(gateway, 'ent-meridian'))?.seenAt ?? '';
    // A write asks for a reading, also where a refresh was asked for less than a minute ago.
    const write = () =>
      gateway.post('/v1/enterprises/ent-meridian/locks/enable', { assetNums: ['8000002002'] });
    // Each list is read before the lists of earlier rounds, which stay as they are: no reading comes whole in between.
    const rounds = [
      { operation: 'listLentLocks', action: { code: '80001' } },
      { operation: 'listAssetNums', action: { odd: { pointer: '/data', value: null } } },
      { operation: 'listAssets', action: { odd: { pointer: '/data/0/id', value: null } } },
      {
        operation: 'listAssetNums',
        action: { odd: { pointer: '/data/0/assetId', value: null } },
        replaces: [2, 1],
      },
    ];
    const faults: (readonly string[])[] = [];
    for (const { operation, action, replaces = [] } of rounds) {
      faults.push(await sandbox.fault({ operation, action }));
      for (const ids of replaces.flatMap((round) => faults.splice(round, 1))) await sandbox.heal(ids);
      await write();
      await until(`${operation} is why`, async () => {
        const { state, reason } = (await enterpriseOf(gateway, 'ent-meridian')) ?? {};
        return state === 'stale' && reason?.includes(operation) === true;
      });
      expect((await enterpriseOf(gateway, 'ent-meridian'))?.seenAt).toBe(seenAt);
      const { headers } = await gateway.get(`${LIST}?enterpriseGlobalId=ent-meridian`);
      expect(headers.get('x-estate-incomplete')).toBe('1');
      expect(namesOf(await rowsOf(gateway, '&enterpriseGlobalId=ent-meridian'))).toEqual(namesOf(before));
    }
    for (const ids of faults) await sandbox.heal(ids);
    await write();
    await isState(gateway, 'ent-meridian', 'whole', seenAt);
  });

  it('reads an enterprise that a caller makes, before any list of the platform tells of it', async () => {
    const customer = { crmCustomerId: 'CRM-9001', customerName: 'Newcomer' };
    const { status, body } = await gateway.post('/v1/enterprises', customer);
    expect(status).toBe(201);
    await isState(gateway, String(body['enterpriseGlobalId']), 'whole');
  });

  it('E10 reads the other assets of an enterprise where the id of one cannot be in a path', async () => {
    const odd = (field: string) => ({ odd: { pointer: `/data/0/${field}`, value: 'ast/1' } });
    await sandbox.fault({ operation: 'listAssets', action: odd('id') });
    await sandbox.fault({ operation: 'listAssetNums', action: odd('assetId') });
    await refresh(gateway, 'ent-meridian');
    await isState(gateway, 'ent-meridian', 'stale');
    const { reason } = (await enterpriseOf(gateway, 'ent-meridian')) ?? {};
    expect(reason).toMatch(/^getAssetProducts: did not come whole, 1 of /);
  });
});
