import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Envelope, PlatformClient, useSandbox } from '../testing.ts';

const HOUR_MS = 3_600_000;

// An async batch takes effect when a test moves the clock, and not because the machine was slow.
const test = useSandbox({ asyncOrderMs: HOUR_MS });

const harbour = { customerId: 'cus-harbour-default' };
const buying = { ...harbour, orderType: 'new_buy', licenseType: 'softkey' };
const product = (productUri: string, more: object = {}) => ({ productUri, ...more });

/** Orders one item. */
function order(item: object, more: Record<string, unknown> = {}): Promise<Envelope> {
  return test.order([{ ...buying, ...item }], more);
}

function ids(data: unknown): string[] {
  return (data as { licenseOrderId: string }[]).map(({ licenseOrderId }) => licenseOrderId);
}

async function live(table: 'products' | 'merchandises', assetId?: string): Promise<any[]> {
  const body = await test.state();
  return body[table].filter((row: any) => !row.removed && (assetId ?? row.assetId) === row.assetId);
}

async function uris(assetId: string): Promise<string[]> {
  return (await live('products', assetId)).map(
    ({ productUri, licenseOrderId }) => `${productUri} ${licenseOrderId}`,
  );
}

const assetIds = async (): Promise<unknown[]> => (await test.assets()).map(({ id }) => id);

describe('new_buy', () => {
  it('gives every number that it names the products, also those that the customer has already', async () => {
    const assetExtendList = [{ extendCode: 'site', extendValue: 'pier-3' }];
    const assetNos = ['8000001001', '8500000009'];
    const { data } = await order({ assets: [{ assetNos, assetExtendList, products: [product('x.y')] }] });
    const [id] = ids(data);
    expect(await uris('ast-1001')).toEqual(['draft.pro lic-5001', 'draft.view lic-5001', `x.y ${id}`]);
    expect((await live('products')).filter(({ productUri }) => productUri === 'x.y')).toHaveLength(2);
    const asset = await test.asset('ast-1001');
    expect(asset).toMatchObject({ assetExtends: assetExtendList, limitEndTime: 4102358400000 });
  });

  it('makes the customer and its enterprise from the data of the order, once for two items', async () => {
    const item = {
      orderType: 'new_buy',
      licenseType: 'cloud_account',
      customerName: 'Tenfold',
      channelCustomerId: 'CH-10',
      adminAccount: 'chief',
      assets: [{ products: [product('x.y')] }],
    };
    const personal = { ...item, customerType: 'personal', channelCustomerId: 'CH-11' };
    const { data } = await test.order([item, item, personal]);
    const [first, second, third] = data as { customerId: string }[];
    expect(first?.customerId).toBe(second?.customerId);
    const { customers, employees } = await test.state();
    const made = (one: typeof first) => customers.find((row: any) => row.customerId === one?.customerId);
    expect(made(first)).toMatchObject({ isDefault: true, enterpriseGlobalId: expect.any(String) });
    expect(made(third)).toMatchObject({ customerType: 'personal', enterpriseGlobalId: null });
    expect(employees.at(-1)).toMatchObject({ userName: 'chief@ent0001', administrator: true });
  });

  it('takes a transferred product out of the order it came from, and ends an asset that is empty then', async () => {
    const products = [product('draft.view', { srcLicenseOrderId: 'lic-5001' })];
    const { data } = await order({ assets: [{ assetNos: ['8500000001'], products }] });
    expect(await uris('ast-1001')).toEqual(['draft.pro lic-5001']);
    const [moved] = (await live('products')).filter(({ licenseOrderId }) => licenseOrderId === ids(data)[0]);
    expect(moved).toMatchObject(products[0] as object);
    const last = product('draft.pro', { srcLicenseOrderId: 'lic-1009' });
    const cloud = { licenseType: 'cloud_account' };
    const kept = await order({ ...cloud, assets: [{ assetNos: ['8000001009'], products: [last] }] });
    expect(await assetIds()).toContain('ast-1009');
    const [srcLicenseOrderId] = ids(kept.data);
    await order({ ...cloud, assets: [{ products: [{ ...last, srcLicenseOrderId }] }] });
    expect(await assetIds()).not.toContain('ast-1009');
  });

  it('moves an asset between customers of one enterprise only when the order says so', async () => {
    const asset = { assetNos: ['8000001001'], products: [product('x.y')], transferedAssetNum: true };
    const yard = { customerId: 'cus-harbour-yard' };
    expect((await order({ ...yard, assets: [{ ...asset, transferedAssetNum: false }] })).code).toBe('13004');
    expect((await order({ ...yard, assets: [asset] })).code).toBe(0);
    expect((await test.asset('ast-1001'))?.['customerId']).toBe('cus-harbour-yard');
    expect((await order({ assets: [{ ...asset, assetNos: ['8000002001'] }] })).code).toBe('13004');
  });

  it.each([
    [{ crmCustomerId: 'CRM-1002' }, 'cus-harbour-yard'],
    [{ channelCustomerId: 'CH-1002' }, 'cus-harbour-yard'],
    [{ enterpriseGlobalId: 'ent-harbour' }, 'cus-harbour-default'],
  ])('is for the customer that is named by %j: %j', async (names, customerId) => {
    const assets = [{ products: [product('x.y')] }];
    const { code, data } = await order({ customerId: undefined, ...names, assets });
    expect([code, data]).toMatchObject([0, [{ customerId }]]);
  });
});

describe('delete_asset', () => {
  const item = { orderType: 'delete_asset', assets: [{ assetNos: ['8000001001'] }] };

  it('revokes the asset with everything on it, and frees its number', async () => {
    expect((await order(item)).code).toBe(0);
    expect(await assetIds()).not.toContain('ast-1001');
    expect(await uris('ast-1001')).toEqual([]);
    expect((await order(item)).code).toBe('13004');
    const gone = await test.call('listAssetProducts', { parameters: { assetId: 'ast-1001' } });
    expect(gone.code).toBe('60024');
  });

  it('with an order removes only what came from it, and the asset when nothing is left', async () => {
    const cloud = { ...item, licenseType: 'cloud_account', assets: [{ assetNos: ['8000001002'] }] };
    expect((await order({ ...cloud, srcLicenseOrderId: 'lic-5002' })).code).toBe(0);
    expect(await uris('ast-1002')).toEqual(['cloud.model lic-5003']);
    expect(await live('merchandises', 'ast-1002')).toEqual([]);
    expect((await order({ ...cloud, srcLicenseOrderId: 'lic-5003' })).code).toBe(0);
    expect(await assetIds()).not.toContain('ast-1002');
  });
});

describe('delete_product', () => {
  const remove = (assetNum: string, products: object[], more: object = {}) =>
    order({ orderType: 'delete_product', assets: [{ assetNos: [assetNum], products }], ...more });
  const cloud = { licenseType: 'cloud_account' };
  const lock = { licenseType: 'normal_recover_usbkey' };

  it('reaches only the named order, and ends a package when its last product ends', async () => {
    const rest = ['cloud.model', 'cloud.render', 'cloud.share'].map((uri) => `${uri} lic-5002`);
    await remove('8000001002', [product('cloud.model')], { ...cloud, srcLicenseOrderId: 'lic-5003' });
    expect(await uris('ast-1002')).toEqual(rest);
    await remove('8000001002', [product('cloud.share')], { ...cloud, srcLicenseOrderId: 'lic-5002' });
    expect((await live('merchandises', 'ast-1002')).map(({ id }) => id)).toEqual(['mer-5002-suite']);
  });

  it('without an order reaches all orders of the customer, loosely by uri, gmsPid or appKey', async () => {
    await order({ assets: [{ assetNos: ['8000001001'], products: [product('gms-draft-pro')] }] });
    await remove('8000001001', [product('gms-draft-pro', { limitConcurrent: 99 })]);
    expect(await uris('ast-1001')).toEqual(['draft.view lic-5001']);
  });

  it('matches strictly by times and node count', async () => {
    const limits = { limitStartDate: 1767600000000, limitEndDate: 4102358400000, limitConcurrent: 1 };
    for (const [given, code] of [
      [{}, '13004'],
      [{ ...limits, limitConcurrent: 2 }, '13004'],
      [{ ...limits, limitEndDate: 4102358400001 }, '13004'],
      [limits, 0],
    ] as const) {
      const strict = product('draft.pro', { strictMatchWhenDelete: true, ...given });
      expect([given, (await remove('8000001001', [strict])).code]).toEqual([given, code]);
    }
    expect(await uris('ast-1001')).toEqual(['draft.view lic-5001']);
  });

  it('matches strictly what the list of products shows: its unit of times, and the nodes that are left', async () => {
    const half = Date.UTC(2030, 0, 1) + 500;
    const limits = { limitStartDate: half, limitEndDate: half };
    await order({ assets: [{ assetNos: ['8000001001'], products: [product('x.y', limits)] }] });
    await test.control('PUT', '/profile', { timestampUnit: 's' });
    for (const [assetId, assetNum, productUri, more, nodes] of [
      ['ast-1001', '8000001001', 'x.y', {}, 1],
      // One of its three nodes is in a lent lock.
      ['ast-1012', '8000001012', 'draft.pro', { ...cloud, srcLicenseOrderId: 'lic-1012' }, 2],
    ] as const) {
      const { data } = await test.call('listAssetProducts', { parameters: { assetId } });
      const shown = data.productInstanceList.find((one: any) => one.productUri === productUri);
      const { limitStartTime: limitStartDate, limitEndTime: limitEndDate, limitConcurrent } = shown;
      expect(limitConcurrent).toBe(nodes);
      const strict = { limitStartDate, limitEndDate, limitConcurrent, strictMatchWhenDelete: true };
      expect((await remove(assetNum, [product(productUri, strict)], more)).code).toBe(0);
    }
  });

  it('reaches all assets of the customer that have the licence type, unless it names the order', async () => {
    const nums = async (): Promise<unknown[]> =>
      (await test.assets())
        .filter(({ licenseType }) => licenseType === lock.licenseType)
        .map(({ assetNum }) => assetNum);
    await remove('8000001003', [product('draft.pro')], { ...lock, srcLicenseOrderId: 'lic-1003' });
    expect(await nums()).toEqual(['8000001006', '8000001007']);
    await remove('8000001006', [product('draft.pro')], lock);
    expect(await nums()).toEqual([]);
    // One product has another licence type, and one another customer.
    expect(await uris('ast-1008')).toEqual(['draft.pro lic-1008']);
    expect(await uris('ast-1011')).toEqual(['draft.pro lic-1011']);
  });

  it('ends the asset with its last product, and its assignment with it', async () => {
    await test.call('changePrivileges', {
      parameters: { memberGlobalId: 'mem-harbour-dora' },
      body: { addAssets: ['8000001009'], deleteAssets: [] },
    });
    await remove('8000001009', [product('draft.pro')], { ...cloud, srcLicenseOrderId: 'lic-1009' });
    const { assets } = await test.state();
    const ended = { revoked: true, memberGlobalId: null };
    expect(assets.find(({ id }: any) => id === 'ast-1009')).toMatchObject(ended);
  });
});

describe('a length of time', () => {
  const START = Date.UTC(2027, 0, 31, 9);

  async function boughtWith(part: object): Promise<any[]> {
    await order({ assets: [{ assetNos: ['8600000001'], ...part }] });
    const [asset] = (await test.assets()).filter(({ assetNum }) => assetNum === '8600000001');
    return live('products', String(asset?.['id']));
  }

  it.each([
    ['1-0-0', Date.UTC(2028, 0, 31, 9)],
    ['0-1-0', Date.UTC(2027, 1, 28, 9)],
    ['0-1-1', Date.UTC(2027, 2, 1, 9)],
    ['9999-0-0', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
    ['0-0-0', null],
  ])('%s makes the end of the product', async (timeDurationExpression, end) => {
    const products = [product('a.b', { limitStartDate: START, timeDurationExpression })];
    expect(await boughtWith({ products })).toMatchObject([{ limitStartTime: START, limitEndTime: end }]);
  });

  it('counts from the order where no start is given, and yields to an end that is', async () => {
    const lasting = product('a.b', { timeDurationExpression: '0-0-2' });
    const ending = product('c.d', { limitEndDate: START, timeDurationExpression: '1-0-0' });
    const [now, ended] = await boughtWith({ products: [lasting, ending] });
    const { createTime } = now;
    expect(now).toMatchObject({ limitStartTime: createTime, limitEndTime: createTime + 48 * HOUR_MS });
    expect(ended).toMatchObject({ limitStartTime: null, limitEndTime: START });
  });

  it('of a package holds for the products in it that have none of their own', async () => {
    const own = product('own', { limitStartDate: START, timeDurationExpression: '2-0-0' });
    const inner = product('in.ner', { limitStartDate: START });
    const children = [{ merchandiseNum: 'M2', licenseOrderProductList: [inner] }];
    const outer = { merchandiseNum: 'M1', timeDurationExpression: '1-0-0', children };
    const rows = await boughtWith({ merchandises: [{ ...outer, licenseOrderProductList: [own] }] });
    expect(rows.map(({ productUri, limitEndTime }) => [productUri, limitEndTime])).toEqual([
      ['own', Date.UTC(2029, 0, 31, 9)],
      ['in.ner', Date.UTC(2028, 0, 31, 9)],
    ]);
  });

  it('ends: the product is shown as not active, and so is a trial that is over', async () => {
    const soon = Date.now() + HOUR_MS;
    const products = [
      product('ends', { limitEndDate: soon }),
      product('trial', { trial: 1, trialEndDate: soon }),
      product('bought', { trial: 0, trialEndDate: soon }),
      product('begins', { limitStartDate: soon }),
    ];
    const [{ assetId }] = await boughtWith({ products });
    const active = async (): Promise<unknown> => {
      const { data } = await test.call('listAssetProducts', { parameters: { assetId } });
      const rows = (data as any).productInstanceList as any[];
      return Object.fromEntries(rows.map(({ productUri, activateFlag }) => [productUri, activateFlag]));
    };
    expect(await active()).toEqual({ ends: true, trial: true, bought: true, begins: false });
    await test.advance(HOUR_MS);
    expect(await active()).toEqual({ ends: false, trial: false, bought: true, begins: true });
  });
});

describe('an async batch', () => {
  const later = { syncMode: 'async' };
  const part = {
    assetNos: ['8600000002'],
    products: [product('a.b', { timeDurationExpression: '0-0-1' })],
  };
  const nums = async (): Promise<unknown[]> => (await test.assets()).map(({ assetNum }) => assetNum);
  const placed = async (id: string): Promise<any> =>
    (await test.state()).orders.find((row: any) => row.licenseOrderId === id);

  it('has effect after a while, as of the time that it was due', async () => {
    const { code, data } = await order({ assets: [part] }, later);
    const [id = ''] = ids(data);
    expect([code, await test.commits()]).toMatchObject([0, [{ licenseOrderIds: [id] }]]);
    expect(await nums()).not.toContain('8600000002');
    const accepted = await placed(id);
    expect(accepted).toMatchObject({ state: 'waiting', failure: null });
    await test.advance(2 * HOUR_MS);
    expect(await nums()).toContain('8600000002');
    const due = accepted.createTime + HOUR_MS;
    const [made] = (await live('products')).filter(({ licenseOrderId }) => licenseOrderId === id);
    expect(made).toMatchObject({ createTime: due, limitStartTime: due, limitEndTime: due + 24 * HOUR_MS });
    expect(await placed(id)).toMatchObject({ state: 'done' });
  });

  it('fails as a whole when its time comes and it has become impossible', async () => {
    const deletion = { ...buying, orderType: 'delete_asset', assets: [{ assetNos: ['8000001001'] }] };
    const { data } = await test.order([{ ...buying, assets: [part] }, deletion], later);
    await test.order([deletion]);
    await test.advance(HOUR_MS);
    expect(await nums()).not.toContain('8600000002');
    const failure = expect.stringContaining('8000001001');
    for (const id of ids(data)) expect(await placed(id)).toMatchObject({ state: 'failed', failure });
  });

  it('has the effect that was accepted, whatever the profile becomes until then', async () => {
    const limitEndDate = Date.UTC(2030, 0, 1);
    const products = [product('a.b', { limitEndDate, limitConcurrent: -1 })];
    const { data } = await order({ assets: [{ ...part, products }] }, later);
    const strict = { asyncOrders: 'refused', negativeLimits: 'refused', timestampUnit: 's' };
    expect((await test.control('PUT', '/profile', strict)).status).toBe(200);
    await test.advance(HOUR_MS);
    const [id = ''] = ids(data);
    expect(await placed(id)).toMatchObject({ state: 'done', failure: null });
    const [made] = (await live('products')).filter(({ licenseOrderId }) => licenseOrderId === id);
    expect(made).toMatchObject({ limitEndTime: limitEndDate, limitConcurrent: -1 });
    expect((await test.control('POST', '/reset')).status).toBe(200);
  });

  it('never has effect where the profile says so, also without a wait', async () => {
    const atOnce = await PlatformClient.start({ asyncOrderMs: 0, profile: { asyncOrders: 'never' } });
    try {
      const { data } = await atOnce.order([{ ...buying, assets: [part] }], later);
      const [id] = ids(data);
      const { orders } = await atOnce.state();
      expect(orders.find((row: any) => row.licenseOrderId === id)).toMatchObject({ state: 'waiting' });
      expect((await atOnce.assets()).map(({ assetNum }) => assetNum)).not.toContain('8600000002');
    } finally {
      await atOnce.close();
    }
  });

  it('has no effect after a reset', async () => {
    await order({ assets: [part] }, later);
    await test.control('POST', '/reset');
    await test.advance(HOUR_MS);
    expect(await nums()).not.toContain('8600000002');
  });
});

it.each(['refused', 'other-code'])(
  'an order of the seed, and one of the state, has been placed before: %s',
  async (repeatedOrder) => {
    await test.control('PUT', '/profile', { repeatedOrder });
    const again = (channelOrderId: string) =>
      order({ assets: [{ products: [product('x.y')] }] }, { channelOrderId });
    expect((await again('SO-0001')).code).not.toBe(0);
    expect((await again('SO-9')).code).toBe(0);
    await test.control('PUT', '/state', await test.state());
    expect((await again('SO-9')).code).not.toBe(0);
  },
);

it('a batch that is one licence order for two customers can be taken back for each of them', async () => {
  await test.control('PUT', '/profile', { licenseOrders: 'batch' });
  const customers = ['cus-harbour-default', 'cus-harbour-yard'];
  const nums = ['8600000003', '8600000004'];
  const items = customers.map((customerId, index) => ({
    ...buying,
    customerId,
    assets: [{ assetNos: [nums[index]], products: [product('x.y')] }],
  }));
  const { data } = await test.order(items);
  expect(new Set(ids(data)).size).toBe(1);
  for (const [index, customerId] of customers.entries()) {
    const removal = {
      ...{ customerId, orderType: 'delete_asset', licenseType: 'softkey', srcLicenseOrderId: ids(data)[0] },
      assets: [{ assetNos: [nums[index]] }],
    };
    expect((await test.order([removal])).code).toBe(0);
  }
  const other = { customerId: 'cus-meridian-default', assets: [{ assetNos: ['8000002001'] }] };
  const foreign = {
    ...other,
    orderType: 'delete_asset',
    licenseType: 'softkey',
    srcLicenseOrderId: ids(data)[0],
  };
  expect((await test.order([foreign])).code).toBe('13004');
});

it('a batch that is placed twice under one number is two orders, and its items are numbered from 1', async () => {
  const item = { ...buying, assets: [{ products: [product('x.y')] }] };
  const first = await test.order([item, item], { channelOrderId: 'SO-2' });
  const second = await test.order([item], { channelOrderId: 'SO-2', syncMode: 'async' });
  expect(first.data).toMatchObject([{ sequence: 1 }, { sequence: 2 }]);
  const commit = { channelCode: 'crm', channelOrderId: 'SO-2', at: expect.any(String) };
  const both = [first, second].map(({ data }) => ({ ...commit, licenseOrderIds: ids(data) }));
  expect(await test.commits()).toEqual(both);
  expect(new Set([...ids(first.data), ...ids(second.data)]).size).toBe(3);
});

describe('the catalogue', () => {
  const bought = (products: object[], merchandises: object[] = []) =>
    order({ assets: [{ products, merchandises }] });
  beforeEach(() => test.control('PUT', '/profile', { products: 'catalogue' }));

  it('sells the products of the seed, by either name, and those that the state has', async () => {
    const names = ['draft.pro', 'gms-draft-pro', 'survey.field'].map((name) => product(name));
    expect((await bought(names)).code).toBe(0);
    await test.control('PUT', '/profile', { products: 'any' });
    expect((await bought([product('own.tool')])).code).toBe(0);
    await test.control('PUT', '/profile', { products: 'catalogue' });
    expect((await bought([product('own.tool')])).code).toBe(0);
  });

  it('refuses another name where it stands, with the nearest, also inside of packages', async () => {
    const refused = await bought([product('draft.pro'), product('draft.prox')]);
    expect([refused.code, refused.text]).toEqual([
      '13004',
      expect.stringContaining(
        'orderList[0].assets[0].products[1].productUri: there is no product draft.prox; nearest: draft.pro',
      ),
    ]);
    const child = { merchandiseNum: 'M2', licenseOrderProductList: [product('cloud.modle')] };
    const inside = await bought([], [{ merchandiseNum: 'M1', children: [child] }]);
    expect(inside.text).toContain(
      'merchandises[0].children[0].licenseOrderProductList[0].productUri: there is no product cloud.modle',
    );
    expect(await test.commits()).toEqual([]);
  });
});
