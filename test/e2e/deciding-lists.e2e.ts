import { describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { orderOf } from '../support/order-body.ts';
import { ProfileFile } from '../support/profile-file.ts';
import { until } from '../support/redis.ts';
import { TestGateway } from '../support/gateway.ts';
import { useStack } from '../support/stack.ts';

/** A list that did not come is not an empty one: where the gateway decides by what a list lacks, the list has to have come whole. */

interface Employee {
  readonly globalId: string;
  readonly deleted: boolean;
}

const profile = new ProfileFile();

const BOUND = {
  name: 'bound',
  scopes: ['orders:read', 'orders:write', 'orders:revoke', 'members:read', 'members:write', 'locks:write'],
  enterprises: ['ent-harbour'],
  channels: ['crm'],
  users: ['default'],
};
const { sandbox, gateway } = useStack({
  environment: { PLATFORM_PROFILE_FILE: profile.path },
  callers: [BOUND],
});
const bound = () => ({ key: gateway.keys['bound'] as string });

async function know(readings: object): Promise<void> {
  await profile.tell(gateway, { readings });
}

const HARBOUR = '/v1/enterprises/ent-harbour';
const ANNA = `${HARBOUR}/members/mem-harbour-anna`;
const NUMS = `${ANNA}/asset-nums`;
const VIOLATION = { code: 'upstream-contract-violation', outcome: 'not_processed' };
const ofList = (operation: string) => ({ ...VIOLATION, upstream: { operation, status: 200 } });

/** Responses of a list that are no whole list, by what is wrong. */
const NOT_WHOLE: readonly (readonly [string, object])[] = [
  ['null', { code: 0, codeAs: 'integer', status: 200, data: null }],
  ['no data', { raw: { text: '{"code":0,"message":"success"}' } }],
];
const answer = (operation: string, action: object) => sandbox.fault({ operation, action });
const lists = (operation: string, data: unknown) =>
  answer(operation, { code: 0, codeAs: 'integer', status: 200, data });
const put = (path: string, body: object, options: object = {}) =>
  gateway.request('PUT', path, { body, ...options });

describe('the asset numbers of a member', () => {
  it.each(NOT_WHOLE)('are not changed by a list that is %s: 502, and nothing is sent', async (_, action) => {
    await answer('listAssetNums', action);
    for (const [method, body] of [
      ['PUT', { assetNums: [] }],
      ['PUT', { assetNums: ['8000001009'] }],
      ['PATCH', { assign: [], withdraw: ['8000001001'] }],
    ] as const) {
      const { status, body: problem } = await gateway.request(method, NUMS, { body });
      expect([status, problem]).toMatchObject([502, ofList('listAssetNums')]);
    }
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });

  it('are not changed where a number comes without its member, or an item cannot be read', async () => {
    for (const item of [
      { assetNum: '8000001001', assetId: 'ast-1001', borrowedFlag: false },
      { assetNum: '8000001001', assetId: 'ast-1001', cloudAccountGlobalId: true, borrowedFlag: false },
      { assetId: 'x' },
      7,
    ]) {
      await lists('listAssetNums', [item]);
      const { status, body } = await put(NUMS, { assetNums: [] });
      expect([item, status, body]).toMatchObject([item, 502, VIOLATION]);
      await sandbox.control('DELETE', '/faults');
    }
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });

  it('are set where null is known to be an empty list', async () => {
    await know({ emptyLists: 'null' });
    await lists('listAssetNums', null);
    const { status, body } = await put(NUMS, { assetNums: [] });
    expect([status, body]).toEqual([200, { assigned: [], withdrawn: [], kept: [] }]);
    await know({});
  });

  it('are set with a kept response as soon as null is known to be an empty list', async () => {
    const environment = { PLATFORM_PROFILE_FILE: profile.path, CACHE_TTL_MS: '60000' };
    const cached = await TestGateway.start(sandbox, environment);
    await lists('listAssetNums', null);
    const set = async () => (await cached.request('PUT', NUMS, { body: { assetNums: [] } })).status;
    expect((await cached.get(`${HARBOUR}/asset-nums`)).status).toBe(200);
    expect(await set()).toBe(502);
    await profile.tell(gateway, { readings: { emptyLists: 'null' } }, cached);
    expect(await set()).toBe(200);
    await cached.stop();
    await know({});
  });

  it('keep a lent lock whose flag is a number or missing', async () => {
    const num = { assetNum: '8000001007', assetId: 'ast-1007', cloudAccountGlobalId: 'mem-harbour-anna' };
    for (const flag of [{ borrowedFlag: 1 }, {}]) {
      await sandbox.control('DELETE', '/faults');
      await lists('listAssetNums', [{ ...num, ...flag }]);
      await lists('listLentLocks', [{ ...num, borrowedFlag: true }]);
      const { status, body } = await put(NUMS, { assetNums: [] });
      expect([flag, status, body]).toMatchObject([flag, 200, { withdrawn: [] }]);
      await lists('listLentLocks', null);
      await sandbox.control('DELETE', '/faults');
      await lists('listAssetNums', [{ ...num, ...flag }]);
      await lists('listLentLocks', null);
      expect(await put(NUMS, { assetNums: [] })).toMatchObject({ status: 502, body: VIOLATION });
    }
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });

  it('are filtered by their member, or by what is free, only where each says whose it is', async () => {
    const path = `${HARBOUR}/asset-nums`;
    await lists('listAssetNums', [{ assetNum: '8000001001', assetId: 'ast-1001' }]);
    expect(await gateway.get(path)).toMatchObject({ status: 200, body: { total: 1 } });
    for (const filter of ['free=true', 'memberGlobalId=mem-harbour-anna'])
      expect(await gateway.get(`${path}?${filter}`)).toMatchObject({ status: 502, body: VIOLATION });
  });

  it('C16 are lent where the flag is a text that says so, and undecided where it says neither', async () => {
    const path = `${HARBOUR}/asset-nums`;
    const num = { assetNum: '8000001001', assetId: 'ast-1001', cloudAccountGlobalId: null, onlineFlag: 'no' };
    const totals = async (borrowedFlag: unknown, ...filters: string[]) => {
      await sandbox.control('DELETE', '/faults');
      await lists('listAssetNums', [{ ...num, borrowedFlag }]);
      const answers = filters.map((filter) => gateway.get(`${path}?${filter}`));
      return (await Promise.all(answers)).map(({ status, body }) =>
        status === 200 ? body['total'] : status,
      );
    };
    expect(await totals('true', 'free=true', 'lent=true', 'lent=false')).toEqual([0, 1, 0]);
    expect(await totals('false', 'free=true', 'lent=true', 'lent=false')).toEqual([1, 0, 1]);
    expect(await totals('lent', 'free=true', 'lent=true', 'lent=false', 'page=1')).toEqual([
      502, 502, 502, 1,
    ]);
    expect(await totals(false, 'online=true', 'online=false', 'free=true')).toEqual([502, 502, 1]);
    const { body } = await gateway.get(`${HARBOUR}/overview`);
    expect(body).toMatchObject({ assetNums: null, unreachable: [{ section: 'assetNums' }] });
  });
});

describe('lent locks', () => {
  const path = `${HARBOUR}/lent-locks`;
  const lock = { assetId: 'ast-1007', assetNum: '8000001007' };

  it.each<[string, object, readonly number[]]>([
    ['neither the flag nor the member', {}, [502, 502]],
    ['no member', { borrowedFlag: true }, [200, 502]],
    ['a flag that says nothing', { borrowedFlag: 'lent', cloudAccountGlobalId: null }, [502, 200]],
    ['all of it', { borrowedFlag: true, cloudAccountGlobalId: 'mem-harbour-chen' }, [200, 200]],
  ])('with %s are shown, and filtered only by what each of them says', async (_, said, statuses) => {
    await lists('listLentLocks', [{ ...lock, ...said }]);
    expect(await gateway.get(path)).toMatchObject({ status: 200, body: { total: 1 } });
    for (const [at, filter] of ['lent=true', 'memberGlobalId=mem-harbour-chen'].entries()) {
      const { status, body } = await gateway.get(`${path}?${filter}`);
      expect([filter, status]).toEqual([filter, statuses[at]]);
      if (status === 502) expect(body).toMatchObject(VIOLATION);
    }
  });
});

describe('the customers of a channel', () => {
  const CUSTOMERS = '/v1/customers?channelCode=crm';

  it.each([undefined, {}])(
    'are no answer for a bound caller where the enterprise of one is %j, which may be its own',
    async (value) => {
      await answer('queryCustomers', { odd: { pointer: '/data/0/enterpriseGlobalId', value } });
      const { status, body } = await gateway.get(CUSTOMERS, bound());
      expect([status, body]).toMatchObject([502, ofList('queryCustomers')]);
      expect((await gateway.get(CUSTOMERS)).body).toMatchObject({ total: 3 });
    },
  );

  it('are those of the bound caller where one has no enterprise', async () => {
    await answer('queryCustomers', { odd: { pointer: '/data/0/enterpriseGlobalId', value: null } });
    expect((await gateway.get(CUSTOMERS, bound())).body).toMatchObject({
      items: [{ customerId: 'cus-harbour-yard' }],
      total: 1,
    });
  });
});

describe('the assets of an enterprise', () => {
  const path = `${HARBOUR}/assets`;
  const row = {
    ...{ id: 'ast-1001', assetNum: '8000001001', licenseType: 'cloud_account', customerId: 'cus-1' },
    ...{
      limitEndTime: null,
      assignStatus: { assignMemberId: null },
      borrowedUsbKey: false,
      assetExtends: [],
    },
  };
  const FILTERS = {
    assetNum: 'assetNum=8000001001',
    licenseType: 'licenseType=cloud_account',
    member: 'memberGlobalId=mem-harbour-anna',
    lent: 'lentLock=true',
    ends: 'endsBefore=2030-01-01T00:00:00Z',
  };

  it.each<[string, object, readonly (keyof typeof FILTERS)[]]>([
    ['no number', { assetNum: undefined }, ['assetNum']],
    ['no licence type', { licenseType: undefined }, ['licenseType']],
    ['no assignment', { assignStatus: undefined }, ['member']],
    ['an assignment without its member', { assignStatus: { id: 'ast-1001' } }, ['member']],
    ['an assignment that is a text', { assignStatus: 'assigned' }, ['member']],
    ['no flag', { borrowedUsbKey: undefined }, ['lent']],
    ['a flag that says nothing', { borrowedUsbKey: 'lent' }, ['lent']],
    ['no end', { limitEndTime: undefined }, ['ends']],
    ['an end of another form', { limitEndTime: '2026-05-01' }, ['ends']],
    ['null for what an asset may lack', { limitEndTime: null, assignStatus: null }, []],
  ])('with %s are shown, and filtered only by what each of them says', async (_, said, undecided) => {
    await lists('listAssets', [{ ...row, ...said }]);
    expect(await gateway.get(path)).toMatchObject({ status: 200, body: { total: 1 } });
    for (const [name, filter] of Object.entries(FILTERS)) {
      const isUndecided = undecided.some((each) => each === name);
      const { status, body } = await gateway.get(`${path}?${filter}`);
      expect([filter, status]).toEqual([filter, isUndecided ? 502 : 200]);
      if (isUndecided) expect(body).toMatchObject(ofList('listAssets'));
    }
  });

  it('are filtered by a property of theirs only where each shows its properties', async () => {
    await know({ extendCode: 'nothing' });
    await lists('listAssets', [{ ...row, assetExtends: undefined }]);
    expect(await gateway.get(`${path}?extendCode=site`)).toMatchObject({ status: 502, body: VIOLATION });
    await know({});
  });
});

describe('a list of members with a row that has no id', () => {
  const rows = (...list: object[]) =>
    lists('listMembers', {
      list,
      total: list.length,
      pages: 1,
      pageNum: 1,
      isFirstPage: true,
      isLastPage: true,
    });
  const nameless = { userName: 'dora@harbour', name: 'Dora', departmentId: null, remark: null };

  it('tells no member as missing', async () => {
    await rows(nameless, { ...nameless, userName: 'bo@harbour', globalId: 'mem-harbour-bo' });
    const password = { body: { password: newSecret('m') } };
    for (const refused of [
      await gateway.get(`${HARBOUR}/members/mem-harbour-dora`),
      await gateway.request('PATCH', `${HARBOUR}/members/mem-harbour-dora`, {
        body: { account: 'dora', name: 'Dora Two' },
      }),
      await gateway.request('PUT', `${ANNA}/password`, { ...password, ...bound() }),
    ])
      expect(refused).toMatchObject({ status: 502, body: VIOLATION });
    for (const operation of ['editMember', 'resetPassword'])
      expect(await sandbox.journal(operation)).toEqual([]);
  });

  const IMPORTS = `${HARBOUR}/member-imports`;
  const CSV = { 'content-type': 'text/csv' };
  const upsert = (query: string, ...all: string[]) =>
    gateway.request('POST', `${IMPORTS}${query}`, {
      body: ['account,password,name', ...all, ''].join('\r\n'),
      headers: CSV,
    });
  /** The rows of the import when it has ended. */
  const rowsOf = async ({ status, text, headers }: Awaited<ReturnType<typeof upsert>>) => {
    expect([status, status === 202 ? '' : text]).toEqual([202, '']);
    const job = String(headers.get('location'));
    await until('the job has ended', async () => (await gateway.get(job)).body['finishedAt'] !== null);
    const accept = 'application/x-ndjson';
    const lines = (await gateway.get(`${job}/rows`, { headers: { accept } })).text.trim().split('\n');
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  /** The call is answered by nothing, once the platform shows the list in this form. */
  const loses = async (operation: string, phase: string, list: () => Promise<unknown>) => {
    const hangs = await sandbox.fault({ operation, phase, times: 1, action: { hang: true } });
    return async () => {
      await until('the call is sent', async () => (await sandbox.journal(operation)).length > 0);
      await list();
      await sandbox.heal(hangs);
      await sandbox.control('PUT', '/state', await sandbox.control<object>('GET', '/state'));
    };
  };
  const bo = { ...nameless, userName: 'bo@harbour', name: 'Bo', globalId: 'mem-harbour-bo' };

  it.each([
    ['an id', nameless],
    ['a user name', { globalId: 'mem-harbour-dora', userName: null, name: 'Dora' }],
  ])('deletes nobody whom a file lacks, where a member has not %s', async (_, dora) => {
    await rows(dora, bo, { ...bo, userName: 'anna@harbour', globalId: 'mem-harbour-anna' });
    for (const path of ['', '/dry-run']) {
      const refused = await upsert(`${path}?mode=upsert&deleteMissing=true&maxDeletes=9`, 'anna,,Bo');
      expect(refused).toMatchObject({ status: 502, body: VIOLATION });
      expect(refused.body['detail']).toContain('nobody is deleted');
    }
    expect(await sandbox.journal('deleteMember')).toEqual([]);
    const added = await upsert('?mode=upsert', `zoe,${newSecret('m')},Zoe`, 'bo,,Bo');
    expect((await rowsOf(added)).map(({ status }) => status)).toEqual(['added', 'unchanged']);
  });

  it('does not tell a member as deleted', async () => {
    const lost = await loses('deleteMember', 'before', () => rows(nameless, bo));
    const keep = ['admin', 'anna', 'bo', 'chen', 'petra'].join(',');
    const query = `?mode=upsert&deleteMissing=true&maxDeletes=1&keep=${keep}`;
    const accepted = await upsert(query, `zoe,${newSecret('m')},Zoe`);
    await lost();
    const [, dora] = await rowsOf(accepted);
    expect(dora).toMatchObject({ account: 'dora', status: 'deleted' });
    const state = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
    expect(state.employees.find(({ globalId }) => globalId === 'mem-harbour-dora')?.deleted).toBe(true);
  });

  it('has the row failed of a member whose id cannot be in a path, and carries out the others', async () => {
    const { body } = await gateway.get(`${HARBOUR}/members`);
    const [odd, other] = body['items'] as { userName: string }[];
    await sandbox.fault({
      operation: 'listMembers',
      action: { odd: { pointer: '/data/list/0/globalId', value: 'mem/1' } },
    });
    const renamed = [odd, other].map((each) => `${each?.userName.replace(/@.*/, '')},,Renamed`);
    expect(await rowsOf(await upsert('?mode=upsert', ...renamed))).toMatchObject([
      { status: 'failed', code: 'upstream-contract-violation' },
      { status: 'updated' },
    ]);
  });

  it('does not tell a row as without effect whose member may be there', async () => {
    await rows(nameless, bo);
    await answer('addMembers', {
      ...{ code: 0, codeAs: 'integer', status: 200 },
      data: { succeeded: [], failed: [] },
    });
    expect(await rowsOf(await upsert('', `zoe,${newSecret('m')},Zoe`))).toMatchObject([
      { account: 'zoe', status: 'unknown', code: 'outcome-unknown' },
    ]);
  });

  it('does not tell a member as refused whom a lost call has added', async () => {
    const lost = await loses('addMembers', 'after', () => rows({ ...nameless, userName: null }, bo));
    const accepted = await upsert('', `zoe,${newSecret('m')},Zoe`);
    await lost();
    expect(await rowsOf(accepted)).toMatchObject([
      { account: 'zoe', status: 'unknown', code: 'upstream-contract-violation' },
    ]);
  });

  it('finds the members whose id came', async () => {
    await rows(nameless, { ...nameless, userName: 'anna@harbour', globalId: 'mem-harbour-anna' });
    expect(await gateway.get(ANNA)).toMatchObject({ status: 200, body: { userName: 'anna@harbour' } });
    const password = { body: { password: newSecret('m') } };
    expect((await gateway.request('PUT', `${ANNA}/password`, { ...password, ...bound() })).status).toBe(204);
  });
});

it.each(NOT_WHOLE)('the overview names the sections whose list is %s', async (_, action) => {
  for (const operation of ['listAssets', 'listAssetNums', 'listLentLocks']) await answer(operation, action);
  const { status, body } = await gateway.get(`${HARBOUR}/overview`);
  const code = 'upstream-contract-violation';
  const sections = ['assetNums', 'lentLocks', 'assets'];
  expect([status, body]).toMatchObject([
    200,
    {
      assetNums: null,
      lentLocks: null,
      assets: null,
      unreachable: sections.map((section) => ({ section, code })),
    },
  ]);
});

describe.each(NOT_WHOLE)('with a list that is %s', (what, action) => {
  it('an asset is not told as missing', async () => {
    await answer('listAssets', action);
    expect(await gateway.get(`${HARBOUR}/assets/ast-1001`)).toMatchObject({ status: 502, body: VIOLATION });
  });

  it('an id of a bound caller is not told as missing', async () => {
    for (const operation of ['listAssets', 'listAssetNums', 'listLentLocks']) await answer(operation, action);
    const requests = [
      gateway.post(`${HARBOUR}/locks/disable`, { assetNums: ['8000001003'] }, bound()),
      put(NUMS, { assetNums: ['8000001001'] }, bound()),
      gateway.post(`${ANNA}/loans`, { lentLockNum: '8000001007', assetIds: ['ast-1001'] }, bound()),
    ];
    for (const { status, body } of await Promise.all(requests))
      expect([status, body]).toMatchObject([502, VIOLATION]);
    for (const operation of ['disableLocks', 'changePrivileges', 'borrowAssets'])
      expect(await sandbox.journal(operation)).toEqual([]);
  });

  it('a licence order is not told as missing', async () => {
    await answer('listAssetProducts', action);
    const [item] = orderOf('').items;
    const order = orderOf('SO-L1', {
      items: [
        {
          ...item,
          ...{ orderType: 'delete_asset', licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1009' },
          customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
          assets: [{ assetNums: ['8000001009'] }],
        },
      ],
    });
    const { status, body } = await gateway.post('/v1/license-orders', order, bound());
    expect([what, status, body]).toMatchObject([what, 502, VIOLATION]);
    expect(await sandbox.journal('batchOrder')).toEqual([]);
  });

  it('a dry run says what it could not read', async () => {
    for (const operation of ['listAssets', 'listAssetNums']) await answer(operation, action);
    for (const [path, body, effect] of [
      [`${ANNA}/dry-run`, undefined, { kind: 'number-withdrawn', memberGlobalId: 'mem-harbour-anna' }],
      [
        `${HARBOUR}/locks/disable/dry-run`,
        { assetNums: ['8000001003'] },
        { kind: 'lock-disabled', assetNum: '8000001003' },
      ],
      [
        `${ANNA}/loans/dry-run`,
        { lentLockNum: '8000001007', assetIds: ['ast-1001'] },
        { kind: 'loan-made', assetId: 'ast-1001' },
      ],
    ] as const) {
      const { status, body: shown } = await gateway.request('POST', path, { body });
      expect([path, status, shown['effects']]).toEqual([
        ...[path, 200],
        expect.arrayContaining([expect.objectContaining({ ...effect, readable: false })]),
      ]);
    }
  });

  it('the effects of a deletion are not called readable', async () => {
    const order = orderOf('SO-L2', {
      items: [
        {
          ...{ orderType: 'delete_asset', licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1009' },
          customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
          assets: [{ assetNums: ['8000001009'] }],
        },
      ],
    });
    const effects = async () => (await gateway.post('/v1/license-orders/dry-run', order)).body['effects'];
    expect(await effects()).toMatchObject([
      { kind: 'asset-removed', readable: true },
      { kind: 'product-removed', readable: true },
    ]);
    await answer('listAssetProducts', action);
    expect(await effects()).toMatchObject([{ readable: false }]);
    await sandbox.control('DELETE', '/faults');
    await answer('listAssetProducts', { code: '60024' });
    expect(await effects()).toMatchObject([{ readable: false }]);
    await sandbox.control('DELETE', '/faults');
    await answer('listAssets', action);
    expect(await effects()).toMatchObject([{ readable: false }]);
  });
});

it.each([null, ''])(
  'the gateway decides nothing by a list with a row whose id is %j: 502, and nothing is sent',
  async (none) => {
    const asset = { id: 'ast-1003', assetNum: none, customerId: none, licenseType: 'lk_product_usbkey' };
    const lock = { assetId: 'ast-1007', assetNum: none, cloudAccountGlobalId: null };
    const num = { ...lock, assetNum: '8000001007', cloudAccountGlobalId: 'mem-harbour-anna' };
    const customer = {
      ...{ channelCode: 'crm', channelCustomerId: 'CH-1001' },
      ...{ customerId: 'cus-harbour-default', enterpriseGlobalId: none },
    };
    await lists('listAssets', [asset]);
    await lists('listAssetNums', [num]);
    await lists('listLentLocks', [{ ...lock, borrowedFlag: true }]);
    await lists('queryCustomers', [customer]);
    const [item] = orderOf('').items;
    const of = { customerId: 'cus-unknown', channelCustomerId: 'CH-1001', enterpriseGlobalId: 'ent-harbour' };
    const requests = {
      'a loan': () =>
        gateway.post(`${ANNA}/loans`, { lentLockNum: '8000001008', assetIds: ['ast-1007'] }, bound()),
      'a lock': () => gateway.post(`${HARBOUR}/locks/disable`, { assetNums: ['8000001003'] }, bound()),
      'the numbers of a member': () => put(NUMS, { assetNums: [] }),
      'an order': () =>
        gateway.post('/v1/license-orders', orderOf('SO-L3', { items: [{ ...item, customer: of }] }), bound()),
    };
    for (const [what, request] of Object.entries(requests)) {
      const { status, body } = await request();
      expect([what, status, body]).toMatchObject([what, 502, VIOLATION]);
    }
    for (const operation of ['borrowAssets', 'disableLocks', 'changePrivileges', 'batchOrder'])
      expect(await sandbox.journal(operation)).toEqual([]);
  },
);

it('a dry run of a deletion shows each asset that has the named number', async () => {
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  const of = { orderType: 'delete_asset', licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1009' };
  const order = orderOf('SO-L6', { items: [{ ...of, customer, assets: [{ assetNums: ['8000001009'] }] }] });
  const assets = ['ast-1009', 'ast-1002'].map((id) => ({
    ...{ id, assetNum: '8000001009', licenseType: 'cloud_account', customerId: 'cus-harbour-default' },
  }));
  for (const listed of [assets, assets.toReversed()]) {
    await lists('listAssets', listed);
    const { body } = await gateway.post('/v1/license-orders/dry-run', order);
    const shown = (body['effects'] as { assetId: string }[]).map(({ assetId }) => assetId);
    expect([...new Set(shown)].toSorted()).toEqual(['ast-1002', 'ast-1009']);
    await sandbox.control('DELETE', '/faults');
  }
});

it('an asset is told as missing whatever the others lack but their ids', async () => {
  await lists('listAssets', [{ id: 'ast-1002', assetNum: '8000001002' }, { id: 'ast-1003' }]);
  const path = `${HARBOUR}/assets`;
  const code = 'asset-not-found';
  expect(await gateway.get(`${path}/ast-9001`)).toMatchObject({ status: 404, body: { code } });
  expect(await gateway.get(`${path}/ast-1003`)).toMatchObject({ status: 200, body: { assetNum: null } });
  await sandbox.control('DELETE', '/faults');
  await lists('listAssets', [{ assetNum: '8000001001' }]);
  expect(await gateway.get(`${path}/ast-9001`)).toMatchObject({ status: 502, body: VIOLATION });
});

describe('the assets of an order', () => {
  const ORDERS = '/v1/license-orders';
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  const assetsOf = async (number: string) => {
    const items = orderOf(number).items.map((item) => ({ ...item, customer }));
    expect((await gateway.post(ORDERS, orderOf(number, { items }))).status).toBe(201);
    return () => gateway.get(`${ORDERS}/crm/${number}/assets`);
  };

  it('are no answer where the platform does not show what is on an asset', async () => {
    const assets = await assetsOf('SO-L3');
    expect(await assets()).toMatchObject({ status: 200, body: { total: 1 } });
    for (const data of [{}, { productInstanceList: [7], children: [] }, { productInstanceList: 'none' }]) {
      await lists('listAssetProducts', data);
      const { status, body } = await assets();
      expect([data, status, body]).toMatchObject([data, 502, ofList('listAssetProducts')]);
      await sandbox.control('DELETE', '/faults');
    }
    for (const code of ['60024', '60025']) {
      await answer('listAssetProducts', { code });
      const upstream = { operation: 'listAssetProducts', code, status: 299 };
      expect([code, await assets()]).toMatchObject([code, { status: 502, body: { ...VIOLATION, upstream } }]);
      await sandbox.control('DELETE', '/faults');
    }
  });

  it('are no answer where an instance that may be of the order has no licence order', async () => {
    const assets = await assetsOf('SO-L5');
    const instance = { id: 'prd-1', productUri: 'draft.pro', channelCode: 'crm', channelOrderId: 'SO-L5' };
    for (const [shown, status] of [
      [instance, 502],
      [{ ...instance, channelOrderId: null }, 502],
      [{ ...instance, channelOrderId: 'SO-0' }, 200],
      [{ ...instance, channelCode: 'other' }, 200],
    ] as const) {
      await lists('listAssetProducts', { productInstanceList: [shown], children: [] });
      const answered = await assets();
      expect([shown, answered.status]).toEqual([shown, status]);
      if (status === 502) expect(answered.body).toMatchObject(VIOLATION);
      await sandbox.control('DELETE', '/faults');
    }
  });

  it('are those that the member center lists too where an asset of the list cannot be read', async () => {
    const items = orderOf('SO-L6').items.map((item) => {
      const [asset] = item.assets;
      return { ...item, customer, assets: [asset, asset] };
    });
    expect((await gateway.post(ORDERS, orderOf('SO-L6', { items }))).status).toBe(201);
    const assets = () =>
      gateway.get(`${ORDERS}/crm/SO-L6/assets`, { headers: { 'cache-control': 'no-cache' } });
    const { body } = await assets();
    expect(body).toMatchObject({ total: 2 });
    const idsIn = ({ items: rows }: Record<string, unknown>) =>
      (rows as { assetId: string }[]).map(({ assetId }) => assetId);
    const all = idsIn((await gateway.get(`${HARBOUR}/assets`)).body);
    const second = all.indexOf(idsIn(body)[1] ?? '');
    await answer('listAssets', { odd: { pointer: `/data/${second}/id` } });
    expect(await assets()).toMatchObject({ status: 200, body });
    await know({ assetList: 'all' });
    expect(await assets()).toMatchObject({ status: 502, body: ofList('listAssets') });
    await know({});
  });

  it('are none where the platform shows that nothing is on its assets', async () => {
    const assets = await assetsOf('SO-L4');
    for (const data of [null, { productInstanceList: [] }, { productInstanceList: null, children: null }]) {
      await lists('listAssetProducts', data);
      expect([data, await assets()]).toMatchObject([data, { status: 200, body: { total: 0 } }]);
      await sandbox.control('DELETE', '/faults');
    }
  });
});

it('products of an asset are nothing where null came for them, and no answer where nothing came', async () => {
  const path = `${HARBOUR}/assets/ast-1001/products`;
  await lists('listAssetProducts', null);
  expect(await gateway.get(path)).toMatchObject({ status: 200, body: { products: [], merchandises: [] } });
  await sandbox.control('DELETE', '/faults');
  await answer('listAssetProducts', { raw: { text: '{"code":0,"message":"success"}' } });
  expect(await gateway.get(path)).toMatchObject({ status: 502, body: VIOLATION });
});

it('members whom the acting user does not see are not told as none, where a user sees the own enterprise only', async () => {
  await sandbox.control('PUT', '/profile', { usersSee: 'own' });
  await know({ usersSee: 'own' });
  const meridian = '/v1/enterprises/ent-meridian';
  for (const path of [`${meridian}/members`, `${meridian}/members?page=2`, `${meridian}/members/export`])
    expect(await gateway.get(path)).toMatchObject({ status: 502, body: ofList('listMembers') });
  const asMeridian = { headers: { 'x-acting-user': 'meridian' } };
  expect((await gateway.get(`${meridian}/members?keyword=nobody`, asMeridian)).body['total']).toBe(0);
  expect((await gateway.get(`${meridian}/members?page=2`, asMeridian)).body['total']).toBe(3);
  const { body } = await gateway.get(`${HARBOUR}/overview`, asMeridian);
  expect([body['members'], body['unreachable']]).toEqual([
    null,
    expect.arrayContaining([{ section: 'members', code: VIOLATION.code }]),
  ]);
  await know({});
});

describe('what `extendCode` leaves out', () => {
  const path = `${HARBOUR}/assets?extendCode=site`;
  const ids = async () =>
    ((await gateway.get(path)).body['items'] as { assetId: string }[]).map(({ assetId }) => assetId);

  it.each([
    ['properties', { extendCode: 'properties' }],
    ['nothing', { extendCode: 'nothing' }],
    ['properties', {}],
    ['nothing', {}],
  ])(
    'is assets for callers where the platform leaves out %s, and its profile has %j',
    async (extendCode, known) => {
      const expected = await ids();
      await sandbox.control('PUT', '/profile', { extendCode });
      await know(known);
      expect(await ids()).toEqual(expected);
      await know({});
    },
  );
});
