import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { ProfileFile } from '../support/profile-file.ts';
import { useStack } from '../support/stack.ts';

/** What the gateway does where the interface is silent, by what the profile of the platform says. */

const profile = new ProfileFile();

const { sandbox, gateway } = useStack({
  environment: { PLATFORM_PROFILE_FILE: profile.path },
  callers: [
    {
      name: 'bound',
      scopes: ['orders:read', 'orders:write', 'orders:revoke', 'locks:write'],
      enterprises: ['ent-harbour'],
      channels: ['crm'],
      users: ['default'],
    },
  ],
});

/** Lets the gateway know, and the sandbox do, what the readings say. */
async function know(readings: object, played: object = readings): Promise<void> {
  await sandbox.control('PUT', '/profile', played);
  await profile.tell(gateway, { readings });
}

const DORA = '/v1/enterprises/ent-harbour/members/mem-harbour-dora';
const CRM = '/v1/crm-customers/CRM-1001';
const orders = '/v1/license-orders';

interface Rows {
  readonly employees: readonly Record<string, unknown>[];
  readonly customers: readonly Record<string, unknown>[];
}
const state = () => sandbox.control<Rows>('GET', '/state');
const dora = async () => (await state()).employees.find(({ globalId }) => globalId === 'mem-harbour-dora');
const harbour = async () =>
  (await state()).customers.find(({ customerId }) => customerId === 'cus-harbour-default');

describe('C32 an edit of a member', () => {
  const shown = {
    departmentId: '10',
    departmentName: 'Design',
    remark: 'at the pier',
    passwordMobile: '13800000007',
  };
  const edit = { account: 'dora', name: 'Dora Two' };
  const refused = (field: string) => ({
    code: 'validation-failed',
    errors: [{ pointer: `/${field}`, detail: expect.stringContaining('memberEdit') }],
  });

  beforeEach(async () => {
    await sandbox.control('PATCH', '/state/employees/mem-harbour-dora', shown).catch(() => undefined);
    const row = (await dora()) as { id: string };
    await sandbox.control('PATCH', `/state/employees/${row.id}`, shown);
  });

  it('keeps what it leaves out, whatever the platform does with it, while that is not known', async () => {
    for (const memberEdit of ['keeps', 'clears']) {
      await know({}, { memberEdit });
      for (const name of [`Dora ${memberEdit}`, `Dora ${memberEdit} again`]) {
        expect((await gateway.request('PATCH', DORA, { body: { ...edit, name } })).status).toBe(204);
        expect(await dora()).toMatchObject({ ...shown, name });
      }
      const renamed = { account: `dora${memberEdit}`, name: 'Dora' };
      expect((await gateway.request('PATCH', DORA, { body: renamed })).status).toBe(204);
      expect(await dora()).toMatchObject({ ...shown, userName: `dora${memberEdit}@harbour` });
    }
    const { status, body } = await gateway.request('PATCH', DORA, { body: { ...edit, remark: null } });
    expect([status, body]).toMatchObject([400, refused('remark')]);
    expect(await dora()).toMatchObject(shown);
  });

  it('is sent as it is where the platform keeps what is left out', async () => {
    await know({ memberEdit: 'keeps' });
    expect((await gateway.request('PATCH', DORA, { body: edit })).status).toBe(204);
    expect((await sandbox.calls()).map(({ operation, body }) => [operation, body])).toEqual([
      ['editMember', { userName: 'dora', name: 'Dora Two' }],
    ]);
    expect(await dora()).toMatchObject(shown);
    const { status, body } = await gateway.request('PATCH', DORA, { body: { ...edit, departmentId: null } });
    expect([status, body]).toMatchObject([400, refused('departmentId')]);
  });

  it('clears by null where the platform clears what is left out, and nothing else', async () => {
    await know({ memberEdit: 'clears' });
    expect((await gateway.request('PATCH', DORA, { body: { ...edit, remark: null } })).status).toBe(204);
    expect(await dora()).toMatchObject({ ...shown, remark: null });
    const all = { departmentId: null, remark: null, passwordMobile: null };
    expect((await gateway.request('PATCH', DORA, { body: { ...edit, ...all } })).status).toBe(204);
    expect(await dora()).toMatchObject(all);
    const { status } = await gateway.request('PATCH', DORA, { body: { ...edit, name: null } });
    expect(status).toBe(400);
  });

  it('of a member who is not there is 404', async () => {
    await know({ memberEdit: 'clears' });
    const path = '/v1/enterprises/ent-harbour/members/mem-nowhere';
    const { status, body } = await gateway.request('PATCH', path, { body: edit });
    expect([status, body['code']]).toEqual([404, 'member-not-found']);
  });
});

describe('an edit of a customer', () => {
  it('takes null only where the platform clears what is left out', async () => {
    await know({}, { customerEdit: 'clears' });
    const { status, body } = await gateway.request('PATCH', CRM, { body: { address: null } });
    expect([status, body['errors']]).toMatchObject([400, [{ pointer: '/address' }]]);
    await know({ customerEdit: 'clears' });
    const branchName = 'Coast';
    const edit = { customerName: 'Harbour', branchName, address: null };
    expect((await gateway.request('PATCH', CRM, { body: edit })).status).toBe(204);
    expect(await harbour()).toMatchObject({ customerName: 'Harbour', branchName, address: null });
  });
});

describe('C33 packages in a deletion of products', () => {
  const packages = [{ merchandiseNum: 'PKG-SUITE' }];
  const deletion = (number: string, asset: object) =>
    orderOf(number, {
      items: [
        {
          ...{ orderType: 'delete_product', licenseType: 'cloud_account', srcLicenseOrderId: 'lic-5002' },
          customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
          assets: [{ assetNums: ['8000001002'], ...asset }],
        },
      ],
    });

  it('are refused without products while the platform is not known to take them, also by a dry run', async () => {
    await know({});
    for (const path of [orders, `${orders}/dry-run`]) {
      const { status, body } = await gateway.post(path, deletion('SO-P1', { merchandises: packages }));
      const errors = ['products', 'merchandises'].map((field) => ({
        pointer: `/items/0/assets/0/${field}`,
        detail: expect.stringContaining('packages'),
      }));
      expect([path, status, body]).toMatchObject([path, 400, { code: 'validation-failed', errors }]);
    }
    expect((await gateway.get(`${orders}/crm/SO-P1`)).status).toBe(404);
    expect(await sandbox.journal('batchOrder')).toEqual([]);
  });

  it('are refused where one names nothing, also where the platform takes packages', async () => {
    await know({ packagesInDeletion: 'taken' });
    const nothing = [{ merchandiseName: 'a name' }, { merchandiseNum: 'PKG-SUITE', children: [{}] }];
    const { status, body } = await gateway.post(orders, deletion('SO-P0', { merchandises: nothing }));
    const merchandises = '/items/0/assets/0/merchandises';
    expect([status, body['errors']]).toMatchObject([
      400,
      [{ pointer: `${merchandises}/0` }, { pointer: `${merchandises}/1/children/0` }],
    ]);
    expect(await sandbox.journal('batchOrder')).toEqual([]);
  });

  it('go with all that is in them where the platform takes them, as a dry run says', async () => {
    await know({ packagesInDeletion: 'taken' });
    const order = deletion('SO-P2', { merchandises: packages });
    const { body: preview } = await gateway.post(`${orders}/dry-run`, order);
    const named = (preview['effects'] as { productUri: string }[]).map(({ productUri }) => productUri);
    expect(named).toEqual(expect.arrayContaining(['cloud.render', 'cloud.share']));
    expect((await gateway.post(orders, order)).status).toBe(201);
    const { products } = await sandbox.control<{
      products: { productUri: string; assetId: string; removed: boolean }[];
    }>('GET', '/state');
    const left = products.filter(({ assetId, removed }) => assetId === 'ast-1002' && !removed);
    expect(left.map(({ productUri }) => productUri)).not.toEqual(expect.arrayContaining(named));
  });
});

describe('a dry run of locks', () => {
  const HARBOUR = '/v1/enterprises/ent-harbour';
  const shown = async (...assetNums: string[]) => {
    const { body } = await gateway.post(`${HARBOUR}/locks/disable/dry-run`, { assetNums });
    return (body['effects'] as { assetNum: string; readable: boolean }[]).map(({ assetNum, readable }) => [
      assetNum,
      readable,
    ]);
  };

  it('shows a lock that is not listed as unreadable, unless the list is known to have all assets', async () => {
    await know({ assetList: 'virtual' });
    expect(await shown('8000001003')).toEqual([['8000001003', false]]);
    await know({}, { assetList: 'virtual' });
    expect(await shown('8000001003')).toEqual([['8000001003', false]]);
    await know({ assetList: 'all' });
    expect(await shown('8000001003', '8000009999')).toEqual([['8000001003', true]]);
  });
});

describe('a lock', () => {
  const HARBOUR = '/v1/enterprises/ent-harbour';
  const LOCK = `${HARBOUR}/assets/ast-1003`;
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  const bound = () => ({ key: gateway.keys['bound'] as string });
  let last = 0;
  const orderFor = (assetNum: string, licenseType: string, over: object = {}) => {
    const products = [{ productUri: 'draft.pro' }];
    const item = {
      orderType: 'new_buy',
      licenseType,
      customer,
      assets: [{ assetNums: [assetNum], products }],
    };
    return orderOf(`SO-LOCK-${++last}`, { items: [{ ...item, ...over }] });
  };
  const deletion = { orderType: 'delete_product', srcLicenseOrderId: 'lic-1003' };
  const bought = async (...[assetNum, licenseType]: [string, string]) => {
    const order = orderFor(assetNum, licenseType);
    expect((await gateway.post(orders, order)).status).toBe(201);
    return `${orders}/crm/${order.channelOrderId}/assets`;
  };
  const lists = async () => (await sandbox.journal('listAssetNums')).length;

  it.each<[string, object]>([
    ['known to', { assetList: 'virtual' }],
    ['not known not to', {}],
  ])('is found in the member center where the list of assets is %s lack it', async (_, readings) => {
    await know(readings, { assetList: 'virtual' });
    const path = await bought('8000001003', 'normal_recover_usbkey');
    const of = { assetId: 'ast-1003', assetNum: '8000001003' };
    expect(await gateway.get(path)).toMatchObject({ status: 200, body: { total: 1, items: [of] } });
    expect(await gateway.get(LOCK)).toMatchObject({ status: 200, body: { ...of, locked: null } });
    expect(await gateway.get(`${HARBOUR}/assets/ast-nowhere`)).toMatchObject({ status: 404 });
    const order = orderFor('8000001003', 'normal_recover_usbkey', deletion);
    expect(await gateway.post(orders, order, bound())).toMatchObject({ status: 201 });
    const none = { ...deletion, srcLicenseOrderId: 'lic-none' };
    const missing = await gateway.post(
      orders,
      orderFor('8000001003', 'normal_recover_usbkey', none),
      bound(),
    );
    expect(missing).toMatchObject({ status: 404, body: { code: 'order-not-found' } });
  });

  it('is not told as missing where the member center does not show its list', async () => {
    await know({}, { assetList: 'virtual' });
    const path = await bought('8000001003', 'normal_recover_usbkey');
    for (const action of [{ code: '60017' }, { code: 0, codeAs: 'integer', status: 200, data: null }]) {
      await sandbox.fault({ operation: 'listAssetNums', action });
      expect(await gateway.get(LOCK)).toMatchObject({
        status: 502,
        body: { code: 'upstream-contract-violation' },
      });
      const order = orderFor('8000001003', 'normal_recover_usbkey', deletion);
      const answers = [await gateway.get(path), await gateway.post(orders, order, bound())];
      for (const { status, body } of answers) {
        expect(status).toBeGreaterThan(400);
        expect(body['code']).not.toMatch(/not-found/);
      }
      await sandbox.control('DELETE', '/faults');
    }
  });

  it('is not told as missing where no user sees the list of the member center', async () => {
    await know({}, { assetList: 'virtual' });
    const enabled = () => gateway.post(`${HARBOUR}/locks/enable`, { assetNums: ['8000001011'] }, bound());
    const before = readFileSync(gateway.usersFile, 'utf8');
    const other = { username: 'admin@meridian', password: sandbox.seedPassword };
    const told = async (users: string) => {
      const reloaded = gateway.logged('users-reloaded');
      writeFileSync(gateway.usersFile, users);
      await reloaded;
    };
    await told(JSON.stringify({ other: { ...other, enterprises: ['ent-meridian'] } }));
    const unasked = await enabled();
    await told(before);
    expect(unasked).toMatchObject({ status: 502, body: { code: 'upstream-contract-violation' } });
    expect(await sandbox.journal('enableLocks')).toEqual([]);
    expect(await enabled()).toMatchObject({ status: 200, body: { succeeded: 1 } });
  });

  it('costs no call where the list of assets has it, or has what is looked for', async () => {
    await know({ assetList: 'all' });
    const path = await bought('8000001003', 'normal_recover_usbkey');
    expect(await gateway.get(path)).toMatchObject({ status: 200, body: { total: 1 } });
    expect(await gateway.get(LOCK)).toMatchObject({ status: 200, body: { locked: false } });
    expect(await gateway.get(`${HARBOUR}/assets/ast-nowhere`)).toMatchObject({ status: 404 });
    await know({}, { assetList: 'virtual' });
    expect(await gateway.get(await bought('8000001009', 'cloud_account'))).toMatchObject({
      body: { total: 1 },
    });
    expect(await gateway.get(`${HARBOUR}/assets/ast-1009`)).toMatchObject({ status: 200 });
    const own = { ...deletion, srcLicenseOrderId: 'lic-1009' };
    const named = { assets: [{ assetNums: ['8000001009'], products: [{ productUri: 'draft.pro' }] }] };
    const order = orderFor('8000001009', 'cloud_account', { ...own, ...named });
    expect(await gateway.post(orders, order, bound())).toMatchObject({ status: 201 });
    expect(await lists()).toBe(0);
  });
});

describe('C34 a platform that takes fewer at once', () => {
  it('is asked for numbers and locks by several calls, and a longer batch is refused', async () => {
    await know({ maxAssetNums: 3, maxLocksPerCall: 2, maxOrdersPerBatch: 1 });
    const numbers = await gateway.post('/v1/asset-num-reservations', { size: 8 });
    expect([numbers.status, (numbers.body['items'] as object[]).length]).toEqual([201, 8]);
    const sizes = (await sandbox.journal('obtainAssetNums')).map(
      ({ body }) => (body as { size: number }).size,
    );
    expect(sizes).toEqual([3, 3, 2]);

    const assetNums = ['8000001003', '8000001008', '8000009999', '8000001001', '8000001011'];
    const { status, body } = await gateway.post('/v1/enterprises/ent-harbour/locks/disable', { assetNums });
    const items = body['items'] as { assetNum: string; status: string }[];
    expect([status, items.map(({ assetNum }) => assetNum)]).toEqual([207, assetNums]);
    expect(items[2]?.status).toBe('not_found');
    expect(items.some(({ status: each }) => each === 'unknown')).toBe(false);
    expect(await sandbox.journal('disableLocks')).toHaveLength(3);

    const [item] = orderOf('').items;
    const order = orderOf('SO-B1', { items: [item, item] });
    const refused = await gateway.post(orders, order);
    expect([refused.status, refused.body['errors']]).toMatchObject([400, [{ pointer: '/items' }]]);
    expect(await sandbox.journal('batchOrder')).toEqual([]);
  });

  it('has what was done so far told where a later call fails', async () => {
    await know({ maxAssetNums: 3, maxLocksPerCall: 2 });
    for (const operation of ['obtainAssetNums', 'disableLocks'])
      await sandbox.fault({ operation, skip: 1, action: { code: '13004' } });
    const numbers = await gateway.post('/v1/asset-num-reservations', { size: 8 });
    expect([numbers.status, (numbers.body['items'] as object[]).length]).toEqual([201, 3]);
    const assetNums = ['8000001003', '8000001008', '8000009999'];
    const { body } = await gateway.post('/v1/enterprises/ent-harbour/locks/disable', { assetNums });
    expect((body['items'] as { status: string }[]).at(-1)?.status).toBe('unknown');
  });

  it('says nothing of a lock in its response to the call for another lock', async () => {
    await know({ maxLocksPerCall: 1 });
    const assetNums = ['8000001003', '8000001005'];
    const data = assetNums.map((assetNum) => ({ assetNum, status: 1 }));
    await sandbox.fault([
      { operation: 'disableLocks', times: 1, phase: 'after', action: { patch: { data } } },
      { operation: 'disableLocks', action: { code: '500' } },
    ]);
    const disabled = await gateway.post('/v1/enterprises/ent-harbour/locks/disable', { assetNums });
    expect(disabled).toMatchObject({ status: 207, body: { succeeded: 1, failed: 1 } });
    expect(disabled.body['items']).toMatchObject([{ status: 'succeeded' }, { status: 'unknown' }]);
  });
});

describe('the file of the profile', () => {
  it.each<[string, object, object, string]>([
    [
      'an unknown reading',
      { pages: 3 },
      {},
      'readings.pages: is no reading; known: maxPageSize, largerPages,',
    ],
    ['an unknown value', { largerPages: 'drop' }, {}, 'readings.largerPages: must be one of refuse, cut'],
    ['a number beyond', { maxPageSize: 0 }, {}, 'readings.maxPageSize: must be a whole number from 1'],
    ['another version', {}, { version: 2 }, 'version: must be 1'],
    ['another unit of times', { timestampUnit: 's' }, {}, 'readings.timestampUnit: a change needs a restart'],
  ])('with %s is refused by name, and the last one stays', async (_, readings, more, reason) => {
    await know({ memberEdit: 'keeps' });
    const rejected = gateway.logged('profile-rejected');
    profile.write({ readings: { memberEdit: 'clears', ...readings }, ...more });
    await rejected;
    expect(gateway.logLines.findLast((line) => line.includes('profile-rejected'))).toContain(
      JSON.stringify(reason).slice(1, -1),
    );
    const edit = { account: 'dora', name: 'Dora', remark: null };
    expect((await gateway.request('PATCH', DORA, { body: edit })).status).toBe(400);
  });

  it.each<[string, object, Record<string, string>, string]>([
    [
      'is not there',
      {},
      { PLATFORM_PROFILE_FILE: '/nowhere' },
      'PLATFORM_PROFILE_FILE must be the path of a usable file: ',
    ],
    ['has a fault', { pages: 3 }, {}, 'readings.pages: is no reading'],
    [
      'contradicts the variable of an earlier version',
      {},
      { UPSTREAM_TIMESTAMP_UNIT: 's' },
      'UPSTREAM_TIMESTAMP_UNIT must not be set: the unit of times is the reading timestampUnit',
    ],
  ])('ends the start where it %s', async (_, readings, environment, reason) => {
    profile.write({ readings });
    const other = TestGateway.start(sandbox, { PLATFORM_PROFILE_FILE: profile.path, ...environment });
    await expect(other).rejects.toThrow(reason);
  });

  it('gives the unit of times', async () => {
    await sandbox.control('PUT', '/profile', { timestampUnit: 's' });
    profile.write({ readings: { timestampUnit: 's' } });
    const other = await TestGateway.start(sandbox, { PLATFORM_PROFILE_FILE: profile.path });
    const { body } = await other.get('/v1/enterprises/ent-harbour/assets/ast-1002');
    await other.stop();
    expect(body['createdAt']).toMatch(/^2026-/);
  });
});
