import { beforeEach, describe, expect, it } from '@jest/globals';
import { PlatformClient, useSandbox } from '../testing.ts';

const HOUR_MS = 3_600_000;

// An async batch has effect when a test puts the clock forward, and not because the machine was slow.
const test = useSandbox({ asyncOrderMs: HOUR_MS });

const harbour = { customerId: 'cus-harbour-default' };
const buying = { ...harbour, orderType: 'new_buy', licenseType: 'softkey' };

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

describe('new_buy', () => {
  it('makes an asset with a generated number, its products, features and merchandise tree', async () => {
    const { status, code, data } = await test.order(
      [
        {
          ...buying,
          sequence: 7,
          assets: [
            {
              assetNos: [],
              assetExtendList: [{ extendCode: 'site', extendValue: 'pier-9' }],
              limitEndDate: 4102358400000,
              products: [{ productUri: 'a.b', limitConcurrent: 2, productFeatures: [{ featureCode: 'f' }] }],
              merchandises: [
                {
                  merchandiseNum: 'M1',
                  licenseOrderProductList: [{ productUri: 'c.d' }],
                  children: [
                    { merchandiseNum: 'M2', children: null, licenseOrderProductList: [{ gmsPid: 'e.f' }] },
                  ],
                },
              ],
            },
          ],
        },
      ],
      { channelOrderId: 'SO-77' },
    );
    expect([status, code]).toEqual([200, 0]);
    const [licenseOrderId] = ids(data);
    expect(data).toEqual([{ sequence: 7, licenseOrderId, customerId: 'cus-harbour-default' }]);
    const asset = (await test.assets()).find(({ assetNum }) => assetNum === '8500000001');
    expect(asset).toMatchObject({
      licenseType: 'softkey',
      limitEndTime: 4102358400000,
      assetExtends: [{ extendCode: 'site', extendValue: 'pier-9' }],
    });
    const products = await live('products', asset?.['id'] as string);
    expect(products.map(({ productUri }) => productUri)).toEqual(['a.b', 'c.d', 'e.f']);
    expect(products[0]).toMatchObject({
      licenseOrderId,
      channelOrderId: 'SO-77',
      limitConcurrent: 2,
      merchandiseInsId: null,
    });
    const [outer, inner] = await live('merchandises', asset?.['id'] as string);
    expect(inner).toMatchObject({ parentId: outer.id, parentMerchandiseNum: 'M1', merchandiseNum: 'M2' });
    expect(products[2].merchandiseInsId).toBe(inner.id);
  });

  it('adds to an asset of the customer that it names', async () => {
    const extensions = [{ extendCode: 'site', extendValue: 'pier-3' }];
    const assets = [
      { assetNos: ['8000001001'], assetExtendList: extensions, products: [{ productUri: 'x.y' }] },
    ];
    const [order] = ids((await test.order([{ ...buying, assets }])).data);
    expect(await uris('ast-1001')).toEqual(['draft.pro lic-5001', 'draft.view lic-5001', `x.y ${order}`]);
    const asset = await test.asset('ast-1001');
    expect(asset).toMatchObject({ assetExtends: extensions, limitEndTime: 4102358400000 });
  });

  it('gives every named number the same products', async () => {
    const assets = [{ assetNos: ['8500000009', '8500000010'], products: [{ productUri: 'x.y' }] }];
    await test.order([{ ...buying, assets }]);
    expect((await live('products')).filter(({ productUri }) => productUri === 'x.y')).toHaveLength(2);
  });

  it('makes the customer and its enterprise from the data of the order, once for two items', async () => {
    const item = {
      orderType: 'new_buy',
      licenseType: 'cloud_account',
      customerName: 'Tenfold',
      channelCustomerId: 'CH-10',
      adminAccount: 'chief',
      assets: [{ products: [{ productUri: 'x.y' }] }],
    };
    const { data } = await test.order([item, item]);
    const [first, second] = data as { customerId: string }[];
    expect(first?.customerId).toBe(second?.customerId);
    const query = { channelCode: 'crm', channelCustomerId: 'CH-10', defaultCustomer: 'Y' };
    const customers = (await test.call('queryCustomers', { query })).data as any[];
    expect(customers).toEqual([
      expect.objectContaining({ customerId: first?.customerId, enterpriseName: 'Tenfold' }),
    ]);
    const body = await test.state();
    expect(body.employees.at(-1)).toMatchObject({ userName: 'chief@ent0001', administrator: true });
  });

  it('leaves a personal customer without an enterprise', async () => {
    const item = {
      customerType: 'personal',
      customerName: 'Pat',
      crmCustomerId: 'CRM-P',
      licenseType: 'cloud_personal',
    };
    await test.order([{ ...item, orderType: 'new_buy', assets: [{ products: [{ productUri: 'x.y' }] }] }]);
    const body = await test.state();
    expect(body.customers.at(-1)).toMatchObject({
      customerType: 'personal',
      enterpriseGlobalId: null,
      isDefault: false,
    });
  });

  it('takes a transferred product out of the order it came from', async () => {
    const products = [{ productUri: 'draft.view', srcLicenseOrderId: 'lic-5001' }];
    const { data } = await test.order([{ ...buying, assets: [{ assetNos: ['8500000001'], products }] }]);
    expect(await uris('ast-1001')).toEqual(['draft.pro lic-5001']);
    const moved = (await live('products')).find(({ licenseOrderId }) => licenseOrderId === ids(data)[0]);
    expect(moved).toMatchObject({ productUri: 'draft.view', srcLicenseOrderId: 'lic-5001' });
  });

  it('moves an asset between customers of one enterprise only when the order says so', async () => {
    const asset = { assetNos: ['8000001001'], products: [{ productUri: 'x.y' }] };
    const yard = { ...buying, customerId: 'cus-harbour-yard' };
    expect((await test.order([{ ...yard, assets: [asset] }])).code).toBe('13004');
    expect((await test.order([{ ...yard, assets: [{ ...asset, transferedAssetNum: true }] }])).code).toBe(0);
    expect((await test.asset('ast-1001'))?.['customerId']).toBe('cus-harbour-yard');
    const foreign = { ...asset, assetNos: ['8000002001'], transferedAssetNum: true };
    expect((await test.order([{ ...buying, assets: [foreign] }])).code).toBe('13004');
  });
});

describe('the customer of an order', () => {
  const assets = [{ products: [{ productUri: 'x.y' }] }];
  it.each([
    [{ customerId: 'cus-harbour-yard' }, 'cus-harbour-yard'],
    [{ crmCustomerId: 'CRM-1002' }, 'cus-harbour-yard'],
    [{ channelCustomerId: 'CH-1002' }, 'cus-harbour-yard'],
    [{ enterpriseGlobalId: 'ent-harbour' }, 'cus-harbour-default'],
  ])('named by %j is %j', async (names, customerId) => {
    const { code, data } = await test.order([
      { orderType: 'new_buy', licenseType: 'softkey', assets, ...names },
    ]);
    expect([code, data]).toMatchObject([0, [{ customerId }]]);
  });
});

describe('delete_asset', () => {
  const item = {
    ...harbour,
    orderType: 'delete_asset',
    licenseType: 'softkey',
    assets: [{ assetNos: ['8000001001'] }],
  };

  it('revokes the asset with everything on it, and frees its number', async () => {
    expect((await test.order([item])).code).toBe(0);
    expect((await test.assets()).map(({ id }) => id)).not.toContain('ast-1001');
    expect(await uris('ast-1001')).toEqual([]);
    expect((await test.order([item])).code).toBe('13004');
  });

  it('with an order removes only what came from it, and the asset when nothing is left', async () => {
    const cloud = { ...item, licenseType: 'cloud_account', assets: [{ assetNos: ['8000001002'] }] };
    expect((await test.order([{ ...cloud, srcLicenseOrderId: 'lic-5002' }])).code).toBe(0);
    expect(await uris('ast-1002')).toEqual(['cloud.model lic-5003']);
    expect(await live('merchandises', 'ast-1002')).toEqual([]);
    expect((await test.order([{ ...cloud, srcLicenseOrderId: 'lic-5003' }])).code).toBe(0);
    expect((await test.assets()).map(({ id }) => id)).not.toContain('ast-1002');
  });
});

describe('delete_product', () => {
  const assets = [{ assetNos: ['8000001002'], products: [{ productUri: 'cloud.model' }] }];
  const cloud = { ...harbour, orderType: 'delete_product', licenseType: 'cloud_account' };

  it('reaches only the named order', async () => {
    expect((await test.order([{ ...cloud, srcLicenseOrderId: 'lic-5003', assets }])).code).toBe(0);
    expect(await uris('ast-1002')).toEqual([
      'cloud.model lic-5002',
      'cloud.render lic-5002',
      'cloud.share lic-5002',
    ]);
  });

  it('without an order reaches all orders of the customer', async () => {
    const buy = {
      ...buying,
      assets: [{ assetNos: ['8000001001'], products: [{ productUri: 'draft.pro' }] }],
    };
    await test.order([buy]);
    const products = [{ productUri: 'draft.pro' }];
    await test.order([
      { ...buying, orderType: 'delete_product', assets: [{ assetNos: ['8000001001'], products }] },
    ]);
    expect(await uris('ast-1001')).toEqual(['draft.view lic-5001']);
  });

  it('matches loosely by uri, gmsPid or appKey', async () => {
    const products = [{ productUri: 'gms-draft-pro', limitConcurrent: 99 }];
    await test.order([
      { ...buying, orderType: 'delete_product', assets: [{ assetNos: ['8000001001'], products }] },
    ]);
    expect(await uris('ast-1001')).toEqual(['draft.view lic-5001']);
  });

  it('matches strictly by times and node count', async () => {
    const limits = { limitStartDate: 1767600000000, limitEndDate: 4102358400000, limitConcurrent: 1 };
    const strictly = (product: object) =>
      test.order([
        {
          ...buying,
          orderType: 'delete_product',
          assets: [
            {
              assetNos: ['8000001001'],
              products: [{ productUri: 'draft.pro', strictMatchWhenDelete: true, ...product }],
            },
          ],
        },
      ]);
    expect((await strictly({})).code).toBe('13004');
    expect((await strictly({ ...limits, limitConcurrent: 2 })).code).toBe('13004');
    expect((await strictly({ ...limits, limitEndDate: 4102358400001 })).code).toBe('13004');
    expect((await strictly(limits)).code).toBe(0);
    expect(await uris('ast-1001')).toEqual(['draft.view lic-5001']);
  });

  it('reaches all assets of the customer that have the licence type, unless it names the order', async () => {
    const nums = async (): Promise<unknown[]> =>
      (await test.assets())
        .filter(({ licenseType }) => licenseType === 'normal_recover_usbkey')
        .map(({ assetNum }) => assetNum);
    const item = {
      ...harbour,
      orderType: 'delete_product',
      licenseType: 'normal_recover_usbkey',
      assets: [{ assetNos: ['8000001003'], products: [{ productUri: 'draft.pro' }] }],
    };
    expect((await test.order([{ ...item, srcLicenseOrderId: 'lic-1003' }])).code).toBe(0);
    expect(await nums()).toEqual(['8000001006', '8000001007']);
    await test.control('POST', '/reset');
    const again = [
      { assetNos: ['8000001003'], products: [{ productUri: 'draft.pro' }] },
      { assetNos: ['8000001006'], products: [{ productUri: 'draft.pro' }] },
    ];
    expect((await test.order([{ ...item, assets: again }])).code).toBe(0);
    expect(await nums()).toEqual([]);
    // Of another licence type, and of another customer.
    expect(await uris('ast-1008')).toEqual(['draft.pro lic-1008']);
    expect(await uris('ast-1011')).toEqual(['draft.pro lic-1011']);
  });

  it('ends the asset with its last product, and its assignment with it', async () => {
    const item = { ...cloud, srcLicenseOrderId: 'lic-1009' };
    const products = [{ productUri: 'draft.pro' }];
    await test.call('changePrivileges', {
      parameters: { memberGlobalId: 'mem-harbour-dora' },
      body: { addAssets: ['8000001009'], deleteAssets: [] },
    });
    await test.order([{ ...item, assets: [{ assetNos: ['8000001009'], products }] }]);
    expect((await test.assets()).map(({ id }) => id)).not.toContain('ast-1009');
    const body = await test.state();
    expect(body.assets.find(({ id }: any) => id === 'ast-1009')).toMatchObject({
      revoked: true,
      memberGlobalId: null,
    });
  });

  it('ends a package when its last product ends', async () => {
    const products = [{ productUri: 'cloud.share' }];
    const order = {
      ...cloud,
      srcLicenseOrderId: 'lic-5002',
      assets: [{ assetNos: ['8000001002'], products }],
    };
    await test.order([order]);
    expect((await live('merchandises', 'ast-1002')).map(({ id }) => id)).toEqual(['mer-5002-suite']);
  });
});

describe('a transfer', () => {
  it('of the last product ends the asset that it came from, but not the one that it goes to', async () => {
    const product = { productUri: 'draft.pro', srcLicenseOrderId: 'lic-1009' };
    const bought = { ...harbour, orderType: 'new_buy', licenseType: 'cloud_account' };
    await test.order([{ ...bought, assets: [{ assetNos: ['8000001009'], products: [product] }] }]);
    expect((await test.assets()).map(({ id }) => id)).toContain('ast-1009');
    const again = { productUri: 'draft.pro', srcLicenseOrderId: '9007199254740993' };
    await test.order([{ ...bought, assets: [{ products: [again] }] }]);
    expect((await test.assets()).map(({ id }) => id)).not.toContain('ast-1009');
  });
});

describe('a length of time', () => {
  const START = Date.UTC(2027, 0, 31, 9);

  async function boughtWith(part: object): Promise<any[]> {
    await test.order([{ ...buying, assets: [{ assetNos: ['8600000001'], ...part }] }]);
    const [asset] = (await test.assets()).filter(({ assetNum }) => assetNum === '8600000001');
    return live('products', String(asset?.['id']));
  }

  it.each([
    ['1-0-0', Date.UTC(2028, 0, 31, 9)],
    ['0-1-0', Date.UTC(2027, 1, 28, 9)],
    ['0-1-1', Date.UTC(2027, 2, 1, 9)],
    ['0-0-45', Date.UTC(2027, 2, 17, 9)],
    ['9999-0-0', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
    ['0-0-0', null],
  ])('%s makes the end of the product', async (timeDurationExpression, end) => {
    const products = [{ productUri: 'a.b', limitStartDate: START, timeDurationExpression }];
    expect(await boughtWith({ products })).toMatchObject([{ limitStartTime: START, limitEndTime: end }]);
  });

  it('counts from the order where no start is given, and yields to an end that is', async () => {
    const [now] = await boughtWith({ products: [{ productUri: 'a.b', timeDurationExpression: '0-0-2' }] });
    expect(now).toMatchObject({
      limitStartTime: now.createTime,
      limitEndTime: now.createTime + 2 * 86_400_000,
    });
    const limits = { limitEndDate: START, timeDurationExpression: '1-0-0' };
    const [, ended] = await boughtWith({ products: [{ productUri: 'c.d', ...limits }] });
    expect(ended).toMatchObject({ limitStartTime: null, limitEndTime: START });
  });

  it('of a package holds for the products in it that have none of their own', async () => {
    const of = (timeDurationExpression: string) => ({ limitStartDate: START, timeDurationExpression });
    const inner = {
      merchandiseNum: 'M2',
      licenseOrderProductList: [{ productUri: 'in.ner', limitStartDate: START }],
    };
    const outer = {
      merchandiseNum: 'M1',
      timeDurationExpression: '1-0-0',
      licenseOrderProductList: [{ productUri: 'own', ...of('2-0-0') }],
      children: [inner],
    };
    const rows = await boughtWith({ merchandises: [outer] });
    expect(rows.map(({ productUri, limitEndTime }) => [productUri, limitEndTime])).toEqual([
      ['own', Date.UTC(2029, 0, 31, 9)],
      ['in.ner', Date.UTC(2028, 0, 31, 9)],
    ]);
  });

  it('ends: the product is shown as not active, and so is a trial that is over', async () => {
    const products = [
      { productUri: 'ends', limitEndDate: Date.now() + HOUR_MS },
      { productUri: 'trial', trial: 1, trialEndDate: Date.now() + HOUR_MS },
      { productUri: 'bought', trial: 0, trialEndDate: Date.now() + HOUR_MS },
      { productUri: 'begins', limitStartDate: Date.now() + HOUR_MS },
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
    products: [{ productUri: 'a.b', timeDurationExpression: '0-0-1' }],
  };
  const nums = async (): Promise<unknown[]> => (await test.assets()).map(({ assetNum }) => assetNum);
  const order = async (id: string): Promise<any> =>
    (await test.state()).orders.find((row: any) => row.licenseOrderId === id);

  it('has effect after a while, as of the time that it was due', async () => {
    const { code, data } = await test.order([{ ...buying, assets: [part] }], later);
    const [id = ''] = ids(data);
    expect([code, await test.commits()]).toMatchObject([0, [{ licenseOrderIds: [id] }]]);
    expect(await nums()).not.toContain('8600000002');
    const accepted = await order(id);
    expect(accepted).toMatchObject({ state: 'waiting', failure: null });
    await test.advance(2 * HOUR_MS);
    expect(await nums()).toContain('8600000002');
    const due = accepted.createTime + HOUR_MS;
    const [product] = (await live('products')).filter(({ licenseOrderId }) => licenseOrderId === id);
    expect(product).toMatchObject({ createTime: due, limitStartTime: due, limitEndTime: due + 86_400_000 });
    expect(await order(id)).toMatchObject({ state: 'done' });
  });

  it('is due two seconds after it was placed where no option says otherwise', async () => {
    const usual = await PlatformClient.start();
    const { data } = await usual.order([{ ...buying, assets: [part] }], later);
    await usual.control('PUT', '/clock', { advanceMs: 60_000 });
    const { products, orders } = (await usual.control('GET', '/state')).body;
    const [id] = ids(data);
    const placed = orders.find((row: any) => row.licenseOrderId === id);
    const product = products.find((row: any) => row.licenseOrderId === id);
    expect(product.createTime).toBe(placed.createTime + 2_000);
    await usual.close();
  });

  it('has one time, however long the sandbox works on it', async () => {
    const items = Array.from({ length: 1_000 }, (_, index) => ({
      ...buying,
      sequence: index + 1,
      assets: [part],
    }));
    expect(await test.order(items, later)).toMatchObject({ code: 0 });
    const { orders } = await test.state();
    const placed = orders.slice(-1_000);
    expect([placed.length, new Set(placed.map((row: any) => row.createTime)).size]).toEqual([1_000, 1]);
  });

  it('fails as a whole when its time comes and it has become impossible', async () => {
    const deletion = { ...buying, orderType: 'delete_asset', assets: [{ assetNos: ['8000001001'] }] };
    const { data } = await test.order([{ ...buying, assets: [part] }, deletion], later);
    await test.order([deletion]);
    await test.advance(HOUR_MS);
    expect(await nums()).not.toContain('8600000002');
    for (const id of ids(data)) {
      expect(await order(id)).toMatchObject({
        state: 'failed',
        failure: expect.stringContaining('8000001001'),
      });
    }
  });

  it('has effect at once where the option says so, and none after a reset', async () => {
    const quick = await PlatformClient.start({ asyncOrderMs: 0 });
    await quick.order([{ ...buying, assets: [part] }], later);
    expect((await quick.assets()).map(({ assetNum }) => assetNum)).toContain('8600000002');
    await quick.close();
    await test.order([{ ...buying, assets: [part] }], later);
    await test.control('POST', '/reset');
    await test.advance(HOUR_MS);
    expect(await nums()).not.toContain('8600000002');
  });
});

describe('a batch', () => {
  const assets = [{ products: [{ productUri: 'x.y' }] }];

  it('placed twice under one number is two orders', async () => {
    const first = await test.order([{ ...buying, assets }], { channelOrderId: 'SO-2' });
    const second = await test.order([{ ...buying, assets }], { channelOrderId: 'SO-2', syncMode: 'async' });
    expect(await test.commits()).toEqual([
      {
        channelCode: 'crm',
        channelOrderId: 'SO-2',
        licenseOrderIds: ids(first.data),
        at: expect.any(String),
      },
      {
        channelCode: 'crm',
        channelOrderId: 'SO-2',
        licenseOrderIds: ids(second.data),
        at: expect.any(String),
      },
    ]);
    expect(ids(first.data)).not.toEqual(ids(second.data));
  });

  it('numbers its items from 1 where they have no sequence', async () => {
    const { data } = await test.order([
      { ...buying, assets },
      { ...buying, assets },
    ]);
    expect(data).toMatchObject([{ sequence: 1 }, { sequence: 2 }]);
  });
});

describe('the catalogue', () => {
  const bought = (products: object[], merchandises: object[] = []) =>
    test.order([{ ...buying, assets: [{ products, merchandises }] }]);
  beforeEach(() => test.control('PUT', '/profile', { products: 'catalogue' }));

  it('sells the products of the seed, by either name, and those that the state has', async () => {
    const names = ['draft.pro', 'gms-draft-pro', 'survey.field'].map((productUri) => ({ productUri }));
    expect((await bought(names)).code).toBe(0);
    await test.control('PUT', '/profile', { products: 'any' });
    expect((await bought([{ productUri: 'own.tool' }])).code).toBe(0);
    await test.control('PUT', '/profile', { products: 'catalogue' });
    expect((await bought([{ productUri: 'own.tool' }])).code).toBe(0);
  });

  it('refuses another name where it stands, with the nearest, also inside of packages', async () => {
    const refused = await bought([{ productUri: 'draft.pro' }, { productUri: 'draft.prox' }]);
    expect([refused.code, refused.message]).toEqual(['13004', expect.anything()]);
    expect(refused.text).toContain(
      'orderList[0].assets[0].products[1].productUri: there is no product draft.prox; nearest: draft.pro',
    );
    const child = { merchandiseNum: 'M2', licenseOrderProductList: [{ productUri: 'cloud.modle' }] };
    const inside = await bought([], [{ merchandiseNum: 'M1', children: [child] }]);
    expect(inside.text).toContain(
      'merchandises[0].children[0].licenseOrderProductList[0].productUri: there is no product cloud.modle',
    );
    expect((await test.control('GET', '/commits')).body).toEqual([]);
  });
});
