import { beforeEach, describe, expect, it } from '@jest/globals';
import { orderOf } from '../support/order-body.ts';
import { useStack } from '../support/stack.ts';

/** What callers ask about one thing: a member, an order's assets, themselves, and what a deletion would take away. */

const HARBOUR = '/v1/enterprises/ent-harbour';
const ORDERS = '/v1/license-orders';

const BOUND = {
  name: 'bound',
  scopes: ['orders:read', 'orders:write', 'orders:revoke', 'members:read'],
  enterprises: ['ent-harbour'],
  channels: ['crm'],
  users: ['default'],
  rateLimit: { requests: 5_000, perSeconds: 60 },
};

const UNLIMITED = {
  budgets: {},
  maintenance: { active: false, stops: null, from: null, until: null, reason: null, by: null },
};

const { sandbox, gateway } = useStack({
  environment: { CACHE_TTL_MS: '60000' },
  callers: [
    BOUND,
    { name: 'nothing', scopes: [] },
    { name: 'wide', scopes: ['members:read'], enterprises: ['*'], channels: ['crm'], users: ['default'] },
  ],
});

beforeEach(async () => {
  // A write that names no enterprise empties the cache, which knows nothing of the reset.
  await gateway.post('/v1/asset-num-reservations', { size: 1 });
  await sandbox.reset();
});

const bound = () => ({ key: gateway.keys['bound'] as string });
const purchase = (channelOrderId: string) => {
  const order = orderOf(channelOrderId);
  const [item] = order.items;
  const customer = { ...item?.customer, enterpriseGlobalId: 'ent-harbour' };
  return { ...order, items: [{ ...item, customer }] };
};

it('a purchase that names nobody is 403 for a bound caller, with what is missing, and 400 for an unbound one', async () => {
  const [item] = orderOf('').items;
  const order = orderOf('SO-NOBODY', { items: [{ ...item, customer: {} }] });
  for (const path of [ORDERS, `${ORDERS}/dry-run`]) {
    const refused = await gateway.post(path, order, bound());
    expect([refused.status, refused.body]).toMatchObject([
      403,
      { code: 'forbidden', errors: [{ pointer: '/items/0/customer/enterpriseGlobalId' }] },
    ]);
    const wrong = await gateway.post(path, order);
    expect([wrong.status, wrong.body]).toMatchObject([
      400,
      { code: 'validation-failed', errors: [{ pointer: '/items/0/customer' }] },
    ]);
  }
  expect(await sandbox.journal('batchOrder')).toEqual([]);
});

it('an order names its enterprise by an id that can be in a path of the platform', async () => {
  const [item] = orderOf('').items;
  for (const enterpriseGlobalId of ['ent/harbour', '..', 'e'.repeat(129)]) {
    const customer = { ...item?.customer, enterpriseGlobalId };
    const { status, body } = await gateway.post(
      ORDERS,
      orderOf('SO-PATH', { items: [{ ...item, customer }] }),
    );
    expect([enterpriseGlobalId, status, body['errors']]).toMatchObject([
      ...[enterpriseGlobalId, 400],
      [{ pointer: '/items/0/customer/enterpriseGlobalId' }],
    ]);
  }
});

describe('a member', () => {
  it('is found by its id on whichever page the list has it, as the list shows it', async () => {
    const { body } = await gateway.get(`${HARBOUR}/members`);
    for (const member of body['items'] as { memberGlobalId: string }[]) {
      const one = await gateway.get(`${HARBOUR}/members/${member.memberGlobalId}`);
      expect([one.status, one.body]).toEqual([200, member]);
    }
  });

  it('that is not there is 404, looked for once past the cache; another enterprise\u2019s too', async () => {
    const missing = await gateway.get(`${HARBOUR}/members/mem-nowhere`, bound());
    expect([missing.status, missing.body['code']]).toEqual([404, 'member-not-found']);
    const before = (await sandbox.journal('listMembers')).length;
    expect((await gateway.get(`${HARBOUR}/members/mem-nowhere-2`, bound())).status).toBe(404);
    expect(await sandbox.journal('listMembers')).toHaveLength(before + 1);
    const foreign = await gateway.get(`${HARBOUR}/members/mem-tidewater-admin`, bound());
    expect([foreign.status, foreign.body['code']]).toEqual([404, 'member-not-found']);
  });
});

describe('a member who is added while a list is read', () => {
  const DORA = `${HARBOUR}/members/mem-harbour-dora`;
  const NOWHERE = `${HARBOUR}/members/mem-nowhere`;

  it.each([
    ['one that waits for the same list', () => ({})],
    ['one whose ids are looked up', bound],
  ])('is found by a request that comes afterwards: %s', async (_, options) => {
    const { employees } = await sandbox.control<{ employees: { id: string; globalId: string }[] }>(
      'GET',
      '/state',
    );
    const { id } = employees.find(({ globalId }) => globalId === 'mem-harbour-dora') as { id: string };
    await sandbox.control('PATCH', `/state/employees/${id}`, { deleted: true });
    await sandbox.fault({ operation: 'listMembers', times: 1, phase: 'after', action: { delayMs: 1_000 } });
    const earlier = gateway.get(NOWHERE, options());
    await sandbox.untilSpoiled(1, earlier);
    await sandbox.control('PATCH', `/state/employees/${id}`, { deleted: false });
    expect((await gateway.get(DORA, options())).status).toBe(200);
    expect((await earlier).status).toBe(404);
  });
});

it('a member who is added while another caller\u2019s search waits is found by a caller with other rights', async () => {
  const wide = { key: gateway.keys['wide'] as string };
  const [anna, dora] = [`${HARBOUR}/members/mem-harbour-anna`, `${HARBOUR}/members/mem-harbour-dora`];
  const { employees } = await sandbox.control<{ employees: { id: string; globalId: string }[] }>(
    'GET',
    '/state',
  );
  const { id } = employees.find(({ globalId }) => globalId === 'mem-harbour-dora') as { id: string };
  await sandbox.control('PATCH', `/state/employees/${id}`, { deleted: true });
  // Both have the list without her in the cache.
  for (const options of [{}, wide]) expect((await gateway.get(anna, options)).status).toBe(200);
  await sandbox.fault({ operation: 'listMembers', times: 1, phase: 'after', action: { delayMs: 1_000 } });
  const search = (at: number) => gateway.get(`${HARBOUR}/members/mem-nowhere-${at}`);
  const first = search(1);
  await sandbox.untilSpoiled(1, first);
  const waiting = search(2);
  // The cache answers this read after the search has begun to wait.
  await gateway.get(anna);
  await sandbox.control('PATCH', `/state/employees/${id}`, { deleted: false });
  expect((await gateway.get(dora, wide)).status).toBe(200);
  for (const { status } of await Promise.all([first, waiting])) expect(status).toBe(404);
});

it('members who are not there are searched together, past the cache', async () => {
  expect((await gateway.get(`${HARBOUR}/members/mem-harbour-anna`)).status).toBe(200);
  await sandbox.control('DELETE', '/journal');
  await sandbox.fault({ operation: 'listMembers', phase: 'after', action: { delayMs: 1_000 } });
  const ids = Array.from({ length: 8 }, (__, index) => `mem-nowhere-${index}`);
  const answers = await Promise.all(ids.map((each) => gateway.get(`${HARBOUR}/members/${each}`)));
  expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 404));
  // One that is under way when a request arrives may have read too early.
  expect((await sandbox.journal('listMembers')).length).toBeLessThan(4);
});

it('an asset that only the order module lists is found for a bound caller of the member area', async () => {
  await sandbox.fault({ operation: 'listAssetNums', action: { patch: { data: [] } } });
  const { status, body } = await gateway.get(`${HARBOUR}/assets/ast-1002/products`, bound());
  expect([status, body['products']]).toEqual([200, expect.arrayContaining([expect.anything()])]);
  const foreign = await gateway.get(`${HARBOUR}/assets/ast-2001/products`, bound());
  expect([foreign.status, foreign.body['code']]).toEqual([404, 'asset-not-found']);
});

it("a member's asset numbers are read past the cache before they are changed", async () => {
  const change = { body: { assetNums: ['8000001009'] } };
  await gateway.get(`${HARBOUR}/asset-nums`);
  const { body } = await gateway.request('PUT', `${HARBOUR}/members/mem-harbour-anna/asset-nums`, change);
  expect(body).toEqual({ assigned: ['8000001009'], withdrawn: ['8000001002'], kept: [] });
  expect(await sandbox.journal('listAssetNums')).toHaveLength(2);
});

describe('a caller', () => {
  it('is told what it may do, without any scope', async () => {
    const own = await gateway.get('/v1/callers/me', bound());
    expect([own.status, own.body]).toEqual([200, { ...BOUND, ...UNLIMITED }]);
    const other = await gateway.get('/v1/callers/me', { key: gateway.keys['nothing'] as string });
    expect(other.body).toEqual({
      name: 'nothing',
      scopes: [],
      enterprises: [],
      channels: [],
      users: [],
      rateLimit: null,
      ...UNLIMITED,
    });
    expect((await gateway.get('/v1/callers/me', { key: null })).status).toBe(401);
    expect(await sandbox.calls()).toEqual([]);
  });
});

describe('the assets of an order', () => {
  it('are those that it made, by item, for a bound caller as for an unbound one', async () => {
    const placed = await gateway.post(ORDERS, purchase('SO-A-1'), bound());
    expect(placed.status).toBe(201);
    const [item] = placed.body['items'] as { licenseOrderId: string }[];
    for (const options of [{}, bound()]) {
      const { status, body } = await gateway.get(`${ORDERS}/crm/SO-A-1/assets`, options);
      expect([status, body]).toEqual([
        200,
        {
          items: [
            {
              sequence: 1,
              licenseOrderId: item?.licenseOrderId,
              assetId: expect.any(String),
              assetNum: expect.any(String),
              productUris: ['draft.pro'],
            },
          ],
          page: 1,
          pageSize: 100,
          total: 1,
          totalPages: 1,
        },
      ]);
    }
  });

  it('are found by its number where the answer to the order was lost, and 404 where there was no order', async () => {
    await sandbox.fault({
      operation: 'batchOrder',
      phase: 'after',
      times: 1,
      action: { reset: 'before-headers' },
    });
    expect((await gateway.post(ORDERS, purchase('SO-A-2'))).body['outcome']).toBe('unknown');
    const { body } = await gateway.get(`${ORDERS}/crm/SO-A-2/assets`);
    expect(body['items']).toMatchObject([{ sequence: 1, productUris: ['draft.pro'] }]);
    const answer = await gateway.get(`${ORDERS}/crm/SO-NONE/assets`, bound());
    expect([answer.status, answer.body['code']]).toEqual([404, 'order-not-found']);
  });
});

describe('the assets of an order whose items name a customer and no enterprise', () => {
  const [item] = orderOf('').items;
  const named = [{ channelCustomerId: 'CH-1001' }, { customerId: 'cus-harbour-default' }];
  const orderWith = (number: string, ...customers: object[]) =>
    orderOf(number, { items: customers.map((customer) => ({ ...item, customer })) });
  const assetsOf = (number: string) => gateway.get(`${ORDERS}/crm/${number}/assets`);

  it.each(named)('are in the enterprise of that customer: %j', async (customer) => {
    const number = `SO-C-${Object.keys(customer).join()}`;
    const placed = await gateway.post(ORDERS, orderWith(number, customer));
    expect(placed.status).toBe(201);
    const { status, body } = await assetsOf(number);
    const [{ licenseOrderId } = {}] = placed.body['items'] as { licenseOrderId?: string }[];
    const rows = [{ sequence: 1, licenseOrderId, productUris: ['draft.pro'] }];
    expect([status, body]).toMatchObject([200, { items: rows, total: 1 }]);
  });

  it('are those of the customer that the order named where its answer was lost', async () => {
    const action = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action });
    const { body } = await gateway.post(ORDERS, orderWith('SO-C-2', { channelCustomerId: 'CH-1001' }));
    expect(body['outcome']).toBe('unknown');
    expect((await assetsOf('SO-C-2')).body).toMatchObject({ items: [{ sequence: 1 }], total: 1 });
  });

  it('have their items where another item names the enterprise', async () => {
    const enterprise = { ...named[1], enterpriseGlobalId: 'ent-harbour' };
    const placed = await gateway.post(ORDERS, orderWith('SO-C-3', enterprise, { ...named[1] }));
    expect(placed.status).toBe(201);
    const items = placed.body['items'] as { sequence: number; licenseOrderId: string }[];
    const { body } = await assetsOf('SO-C-3');
    expect(body['items']).toMatchObject(
      items.map(({ sequence, licenseOrderId }) => ({ sequence, licenseOrderId })),
    );
    expect(body['total']).toBe(2);
  });

  it('are no answer where the platform does not list the customer', async () => {
    expect((await gateway.post(ORDERS, orderWith('SO-C-4', { ...named[0] }))).status).toBe(201);
    await sandbox.fault({ operation: 'queryCustomers', action: { patch: { data: [] } } });
    const upstream = { operation: 'queryCustomers', status: 200 };
    const { status, body } = await assetsOf('SO-C-4');
    expect([status, body]).toMatchObject([502, { code: 'upstream-contract-violation', upstream }]);
  });
});

describe('the assets of an order that the platform shows in part', () => {
  it('have no item where several became one licence order, and what is not of the order is left out', async () => {
    await sandbox.fault({
      operation: 'batchOrder',
      phase: 'after',
      times: 1,
      action: { reset: 'before-headers' },
    });
    const {
      items: [item],
      ...order
    } = purchase('SO-A-3');
    const two = { ...order, items: [item, { ...item, sequence: 2 }] };
    expect((await gateway.post(ORDERS, two)).body['outcome']).toBe('unknown');
    const [commit] = await sandbox.commits();
    const [licenseOrderId] = commit?.licenseOrderIds ?? [];
    const items = [1, 2].map((sequence) => ({ sequence, licenseOrderId }));
    const settlement = { as: 'succeeded', reason: 'told by the platform', items };
    expect((await gateway.post(`${ORDERS}/crm/SO-A-3/settlement`, settlement)).status).toBe(200);
    const { body } = await gateway.get(`${ORDERS}/crm/SO-A-3/assets`);
    expect(body['items']).toMatchObject([{ sequence: null, licenseOrderId }]);
    expect(body['total']).toBe(1);
  });

  it('are fewer after one is deleted, also where the list of assets is that of before', async () => {
    expect((await gateway.post(ORDERS, purchase('SO-A-4'))).status).toBe(201);
    const { body: listed } = await gateway.get(`${HARBOUR}/assets?pageSize=1000`);
    const own = (listed['items'] as { assetId: string; createdAt: string }[])
      .toSorted((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt))
      .at(-1);
    await sandbox.control('PATCH', `/state/assets/${own?.assetId}`, { revoked: true });
    const { status, body } = await gateway.get(`${ORDERS}/crm/SO-A-4/assets`);
    expect([status, body['total']]).toEqual([200, 0]);
  });
});

const NONE = {
  ...{ enterpriseGlobalId: 'ent-harbour', assetId: null, assetNum: null, productUri: null },
  ...{ memberGlobalId: null, account: null, readable: true },
};

describe('the dry run of a deletion', () => {
  const preview = (item: object, options = {}) =>
    gateway.post(`${ORDERS}/dry-run`, { channelCode: 'crm', channelOrderId: 'SO-D', items: [item] }, options);
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };

  it('says which assets and products would go, and whether anything is left', async () => {
    const placed = await gateway.post(ORDERS, purchase('SO-D-1'), bound());
    const [item] = placed.body['items'] as { licenseOrderId: string }[];
    const made = await gateway.get(`${ORDERS}/crm/SO-D-1/assets`, bound());
    const [asset] = made.body['items'] as { assetId: string; assetNum: string }[];
    const { assetId, assetNum } = asset as { assetId: string; assetNum: string };
    const base = { licenseType: 'softkey', customer, srcLicenseOrderId: item?.licenseOrderId };
    for (const options of [{}, bound()]) {
      const revoked = await preview(
        { ...base, orderType: 'delete_asset', assets: [{ assetNums: [assetNum] }] },
        options,
      );
      expect([revoked.status, revoked.body['effects']]).toEqual([
        200,
        [
          { ...NONE, kind: 'asset-removed', assetId, assetNum },
          { ...NONE, kind: 'product-removed', assetId, assetNum, productUri: 'draft.pro' },
        ],
      ]);
    }
    const other = { productUri: 'no.such.product' };
    const reduced = await preview({
      ...base,
      orderType: 'delete_product',
      assets: [{ assetNums: [assetNum], products: [other] }],
    });
    expect(reduced.body['effects']).toEqual([]);
    expect(await sandbox.commits()).toHaveLength(1);
  });

  it('says where it is open whether an asset with products of other orders goes whole', async () => {
    const item = {
      licenseType: 'cloud_account',
      customer,
      srcLicenseOrderId: 'lic-5003',
      orderType: 'delete_asset',
    };
    const { body } = await preview({ ...item, assets: [{ assetNums: ['8000001002'] }] });
    const asset = { ...NONE, assetId: 'ast-1002', assetNum: '8000001002' };
    const product = (productUri: string, readable: boolean) => ({
      ...{ ...asset, kind: 'product-removed', productUri, readable },
    });
    expect(body['effects']).toEqual([
      { ...asset, kind: 'asset-removed', readable: false },
      product('cloud.model', true),
      product('cloud.render', false),
      product('cloud.share', false),
    ]);
  });

  it.each(['items', 'entries of an item'])(
    'says that the asset goes where several %s empty it together, and names each product once',
    async (parts) => {
      const base = {
        ...{ orderType: 'delete_product', licenseType: 'softkey', srcLicenseOrderId: 'lic-5001', customer },
      };
      const effects = async (...uris: string[]) => {
        const entries = uris.map((productUri) => ({ assetNums: ['8000001001'], products: [{ productUri }] }));
        const items =
          parts === 'items'
            ? entries.map((entry) => ({ ...base, assets: [entry] }))
            : [{ ...base, assets: entries }];
        const order = { channelCode: 'crm', channelOrderId: 'SO-D', items };
        return (await gateway.post(`${ORDERS}/dry-run`, order)).body['effects'];
      };
      const asset = { ...NONE, assetId: 'ast-1001', assetNum: '8000001001' };
      const product = (productUri: string) => ({ ...asset, kind: 'product-removed', productUri });
      expect(await effects('draft.pro', 'draft.view')).toEqual([
        { ...asset, kind: 'asset-removed' },
        product('draft.pro'),
        product('draft.view'),
      ]);
      expect(await effects('draft.pro', 'draft.pro')).toEqual([product('draft.pro')]);
    },
  );

  it('says what may go from a lent lock, or that the lock cannot be read', async () => {
    await sandbox.control('PUT', '/profile', { assetList: 'virtual' });
    await sandbox.control('PATCH', '/state/products/prd-1012-1', { limitConcurrent: 1 });
    const item = {
      ...{
        licenseType: 'cloud_account',
        customer,
        srcLicenseOrderId: 'lic-1012',
        orderType: 'delete_product',
      },
      assets: [{ assetNums: ['8000001012'], products: [{ productUri: 'draft.pro' }] }],
    };
    const open = { ...NONE, kind: 'product-removed', readable: false };
    expect((await preview(item)).body['effects']).toEqual([
      { ...open, assetNum: '8000001007', productUri: 'draft.pro' },
    ]);
    const hidden = { ...open, assetId: 'ast-1012', assetNum: '8000001012' };
    await sandbox.fault({ operation: 'listLentLocks', action: { code: '500' } });
    expect((await preview(item)).body['effects']).toEqual([hidden]);
  });

  it('K43 with `allOrders` names the other assets too from which the platform then takes the product', async () => {
    const item = {
      orderType: 'delete_product',
      licenseType: 'normal_recover_usbkey',
      allOrders: true,
      customer,
      assets: [{ assetNums: ['8000001003'], products: [{ productUri: 'draft.pro' }] }],
    };
    const shown = await preview(item);
    const gone = ['8000001003', '8000001006', '8000001007'].map((assetNum) => ({
      ...NONE,
      assetId: `ast-${assetNum.slice(-4)}`,
      assetNum,
    }));
    const effects = shown.body['effects'] as { assetNum: string; readable: boolean }[];
    expect(effects.filter(({ readable }) => readable)).toEqual(
      gone.flatMap((asset) => [
        { ...asset, kind: 'asset-removed' },
        { ...asset, kind: 'product-removed', productUri: 'draft.pro' },
      ]),
    );
    // The interface does not say whether the platform takes it from assets of other licence types.
    const open = effects.filter(({ readable }) => !readable);
    expect(new Set(open.map(({ assetNum }) => assetNum))).toEqual(
      new Set(['1001', '1004', '1005', '1008', '1009', '1012'].map((suffix) => `800000${suffix}`)),
    );
    expect(open).toContainEqual({
      ...{ ...NONE, kind: 'product-removed', readable: false },
      ...{ assetId: 'ast-1001', assetNum: '8000001001', productUri: 'draft.pro' },
    });
    const assetNums = async () => {
      const { body } = await gateway.get(`${HARBOUR}/assets?licenseType=normal_recover_usbkey`, {
        headers: { 'cache-control': 'no-cache' },
      });
      return (body['items'] as { assetNum: string }[]).map(({ assetNum }) => assetNum);
    };
    expect(await assetNums()).toEqual(gone.map(({ assetNum }) => assetNum));
    const deletion = { channelCode: 'crm', channelOrderId: 'SO-D-ALL', items: [item] };
    expect((await gateway.post(ORDERS, deletion)).status).toBe(201);
    expect(await assetNums()).toEqual([]);
  });

  it('K43 with `allOrders` names the locks too that only the member center lists, or that it cannot', async () => {
    await sandbox.control('PUT', '/profile', { assetList: 'virtual' });
    const item = {
      ...{ orderType: 'delete_product', licenseType: 'normal_recover_usbkey', allOrders: true, customer },
      assets: [{ assetNums: ['8000001003'], products: [{ productUri: 'draft.pro' }] }],
    };
    const open = { ...NONE, kind: 'product-removed', readable: false };
    const locks = ['1003', '1004', '1005', '1006', '1008', '1011'];
    const { effects } = (await preview(item)).body;
    expect(effects).toEqual(
      expect.arrayContaining(locks.map((suffix) => ({ ...open, assetNum: `800000${suffix}` }))),
    );
    expect(effects).not.toContainEqual(open);
    await sandbox.fault({ operation: 'listAssetNums', action: { code: '60017' } });
    expect((await preview(item)).body['effects']).toContainEqual(open);
  });

  it('K43 with `allOrders` names them also where it names no asset of the list, and says where it cannot', async () => {
    const item = {
      orderType: 'delete_product',
      licenseType: 'normal_recover_usbkey',
      allOrders: true,
      assets: [{ assetNums: ['8000009999'], products: [{ productUri: 'draft.pro' }] }],
    };
    const hidden = { ...NONE, kind: 'product-removed', readable: false };
    const known = await preview({ ...item, customer });
    const gone = (known.body['effects'] as { kind: string; assetNum: string; readable: boolean }[]).filter(
      ({ kind, readable }) => kind === 'asset-removed' && readable,
    );
    expect(gone.map(({ assetNum }) => assetNum)).toEqual(['8000001003', '8000001006', '8000001007']);
    expect(known.body['effects']).toContainEqual({ ...hidden, assetNum: '8000009999' });
    expect(known.body['effects']).not.toContainEqual(hidden);
    const unknown = await preview({ ...item, customer: { enterpriseGlobalId: 'ent-harbour' } });
    expect(unknown.body['effects']).toEqual(
      expect.arrayContaining([{ ...hidden, assetNum: '8000009999' }, hidden]),
    );
    expect(unknown.body['effects']).toHaveLength(2);
    await sandbox.fault({ operation: 'listAssets', action: { code: '500' } });
    const unread = await preview({ ...item, customer });
    expect(unread.body['effects']).toEqual([{ ...hidden, assetNum: '8000009999' }, hidden]);
  });

  it('says that the asset may go where its only product goes, and a list of it did not come', async () => {
    await sandbox.control('PUT', '/profile', { emptyLists: 'null' });
    const item = {
      ...{
        orderType: 'delete_product',
        licenseType: 'cloud_account',
        srcLicenseOrderId: 'lic-1009',
        customer,
      },
      assets: [{ assetNums: ['8000001009'], products: [{ productUri: 'draft.pro' }] }],
    };
    const asset = { ...NONE, assetId: 'ast-1009', assetNum: '8000001009' };
    expect((await preview(item)).body['effects']).toEqual([
      { ...asset, kind: 'asset-removed', readable: false },
      { ...asset, kind: 'product-removed', productUri: 'draft.pro' },
      { ...asset, kind: 'product-removed', readable: false },
    ]);
  });

  it('is not readable where the platform cannot be asked, or no enterprise is named', async () => {
    const deletion = {
      orderType: 'delete_asset',
      licenseType: 'softkey',
      allOrders: true,
      assets: [{ assetNums: ['8000001009'] }],
    };
    const unnamed = await preview({ ...deletion, customer: { customerId: 'cus-harbour-default' } });
    const effect = { ...NONE, kind: 'asset-removed', assetNum: '8000001009', readable: false };
    expect(unnamed.body['effects']).toEqual([{ ...effect, enterpriseGlobalId: null }]);
    // An id that cannot stand in a path of the platform.
    const odd = await preview({ ...deletion, customer: { ...customer, enterpriseGlobalId: '名' } });
    expect([odd.status, odd.body['effects']]).toEqual([200, [{ ...effect, enterpriseGlobalId: '名' }]]);
    await sandbox.fault({ operation: 'listAssetProducts', action: { code: '500' } });
    const away = await preview({ ...deletion, customer });
    expect([away.status, away.body['effects']]).toEqual([200, [effect]]);
  });
});
