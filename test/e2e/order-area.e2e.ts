import { describe, expect, it } from '@jest/globals';
import { canonical } from '../../src/order-ledger/fingerprint.ts';
import { newSecret } from '../support/canary.ts';
import { document } from '../support/contract.ts';
import { useStack } from '../support/stack.ts';

const LOCK_PASSWORD = newSecret('l');
const { sandbox, gateway } = useStack({
  callers: [
    { name: 'shop', scopes: ['orders:write'], channels: ['crm'], enterprises: ['*'], appKey: 'shop-app' },
  ],
});

interface AssetView {
  assetId: string;
  assetNum: string;
  licenseType: string;
  endsAt: string | null;
}

const HARBOUR = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };

async function assetsOf(enterprise = 'ent-harbour', query = ''): Promise<AssetView[]> {
  const answer = await gateway.get(`/v1/enterprises/${enterprise}/assets${query}`);
  expect(answer.status).toBe(200);
  return answer.body['items'] as AssetView[];
}

function order(channelOrderId: string, item: object, more: object = {}): object {
  return { channelCode: 'crm', channelOrderId, items: [item], ...more };
}

function purchase(asset: object = {}): object {
  return {
    orderType: 'new_buy',
    licenseType: 'cloud_account',
    customerType: 'company',
    customer: HARBOUR,
    assets: [{ products: [{ productUri: 'draft.pro', limitConcurrent: 2 }], ...asset }],
  };
}

/** The names of the fields of a schema and of its parts. */
function fieldsOf(name: string, seen = new Set<string>()): string[] {
  if (seen.has(name)) return [];
  seen.add(name);
  const { properties = {} } = document.components.schemas[name] as { properties?: object };
  const parts = [...JSON.stringify(properties).matchAll(/#\/components\/schemas\/(\w+)/g)];
  return [...Object.keys(properties), ...parts.flatMap(([, part = '']) => fieldsOf(part, seen))];
}

async function sentBody(operation: string): Promise<unknown> {
  const [entry] = await sandbox.journal(operation);
  return entry?.body;
}

describe('customers', () => {
  it('are bound to an enterprise, found again, and kept apart by channel', async () => {
    const bound = await gateway.post('/v1/customers', {
      channelCode: 'crm',
      channelCustomerId: 'CH-77',
      customerName: 'Zo\u0065\u0301 Survey',
      enterpriseName: 'Harbour Engineering',
      branchName: 'Coast',
      passwordMobile: '13800000001',
    });
    expect(bound.status).toBe(201);
    expect(bound.body).toMatchObject({
      channelCode: 'crm',
      channelCustomerId: 'CH-77',
      enterpriseGlobalId: 'ent-harbour',
    });
    expect(await sentBody('bindCustomer')).toEqual({
      channelCode: 'crm',
      channelCustomerId: 'CH-77',
      customerName: 'Zo\u00e9 Survey',
      enterpriseName: 'Harbour Engineering',
      branchName: 'Coast',
      passwordMobile: '13800000001',
    });

    const found = await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-77');
    expect(found.status).toBe(200);
    expect(found.body['items']).toContainEqual(bound.body);
    const elsewhere = await gateway.get('/v1/customers?channelCode=partner&channelCustomerId=CH-77');
    expect(elsewhere.body).toMatchObject({ items: [], total: 0 });
  });

  it('are narrowed to the default customer on request', async () => {
    await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001');
    await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001&defaultOnly=true');
    await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001&defaultOnly=false');
    const asked = (await sandbox.journal('queryCustomers')).map(({ query }) => query['defaultCustomer']);
    expect(asked).toEqual(['N', 'Y', 'N']);
  });

  it('take a change of name and address with 204 and no body', async () => {
    const changed = await gateway.request('PATCH', '/v1/crm-customers/CRM-1001', {
      body: { customerName: 'Harbour Two' },
    });
    expect(changed.status).toBe(204);
    expect(changed.text).toBe('');
    expect(changed.headers.get('cache-control')).toBe('no-store');
    expect(await sentBody('updateCustomer')).toEqual({
      crmCustomerId: 'CRM-1001',
      customerName: 'Harbour Two',
    });
  });
});

describe('enterprises', () => {
  it('come with their members, and have an empty list of assets', async () => {
    const created = await gateway.post('/v1/enterprises', {
      crmCustomerId: 'CRM-3001',
      customerName: 'Lighthouse Design',
    });
    expect(created.status).toBe(201);
    expect(created.body['isDefault']).toBe(true);
    expect(created.body['members']).toHaveLength(2);
    expect(await assetsOf(created.body['enterpriseGlobalId'] as string)).toEqual([]);
  });

  it('list assets with their times in RFC 3339, all or those with an extension', async () => {
    const assets = await assetsOf();
    expect(assets.find(({ assetId }) => assetId === 'ast-1002')).toMatchObject({
      ...{ assetNum: '8000001002', createdAt: '2026-01-05T08:00:00.000Z', startsAt: null, extensions: [] },
      assignment: { status: 'assigned', memberGlobalId: 'mem-harbour-anna', updatedAt: null },
    });
    expect(assets.find(({ assetId }) => assetId === 'ast-1004')).toMatchObject({ keyGeneration: 4 });
    const onSite = await assetsOf('ent-harbour', '?extendCode=site');
    expect(onSite.map(({ assetId }) => assetId)).toEqual(['ast-1001', 'ast-1009']);
  });

  it('have their list read for each request where the cache is off, and a tag of it all the same', async () => {
    const { headers } = await gateway.get('/v1/enterprises/ent-harbour/assets');
    // Fetch adds `no-cache` where there is no Cache-Control.
    const known = { 'if-none-match': headers.get('etag') ?? '', 'cache-control': 'max-age=0' };
    const again = await gateway.get('/v1/enterprises/ent-harbour/assets', { headers: known });
    expect([again.status, again.headers.has('age')]).toEqual([304, false]);
    expect(await sandbox.journal('listAssets')).toHaveLength(2);
  });
});

describe('licence orders', () => {
  it('buy an asset and show it, revoke it and no longer show it', async () => {
    const before = await assetsOf();
    const bought = await gateway.post(
      '/v1/license-orders',
      order('SO-1', purchase({ endsAt: '2031-05-01T00:00:00.000Z' })),
    );
    expect(bought.status).toBe(201);
    expect(bought.body).toMatchObject({
      channelCode: 'crm',
      channelOrderId: 'SO-1',
      state: 'succeeded',
      syncMode: 'sync',
      items: [
        {
          sequence: 1,
          orderType: 'new_buy',
          enterpriseGlobalId: 'ent-harbour',
          customerId: 'cus-harbour-default',
        },
      ],
      reason: null,
    });
    const [{ licenseOrderId }] = bought.body['items'] as [{ licenseOrderId: string }];
    const known = new Set(before.map(({ assetId }) => assetId));
    const [asset] = (await assetsOf()).filter(({ assetId }) => !known.has(assetId));
    expect(asset).toMatchObject({ licenseType: 'cloud_account', endsAt: '2031-05-01T00:00:00.000Z' });

    const revoked = await gateway.post(
      '/v1/license-orders',
      order('SO-2', {
        orderType: 'delete_asset',
        licenseType: 'cloud_account',
        srcLicenseOrderId: licenseOrderId,
        customer: HARBOUR,
        assets: [{ assetNums: [asset?.assetNum] }],
      }),
    );
    expect(revoked.status).toBe(201);
    expect(await assetsOf()).toEqual(before);
  });

  it('reach the platform with every field of the interface under its own name', async () => {
    const [startsAt, endsAt, trialEndsAt] = [
      '2026-11-20T08:00:00.000Z',
      '2026-12-20T08:00:00.000Z',
      '2026-12-01T08:00:00.000Z',
    ];
    const [limitStartDate, limitEndDate, trialEndDate] = [startsAt, endsAt, trialEndsAt].map(Date.parse);
    const same = {
      ...{ crmProductId: 'P1', parentCrmProductId: 'P0', productUri: 'draft.pro', productName: 'Draft Pro' },
      ...{ gmsPid: 'g1', appKey: 'a1', productType: 'tool', limitConcurrent: 3, strictMatchWhenDelete: true },
      ...{
        passwords: [LOCK_PASSWORD],
        timeUnit: 'day',
        timeUnitQuantity: 30,
        timeDurationExpression: '1-0-0',
      },
      srcLicenseOrderId: 'lic-5001',
    };
    const feature = { code: 'f', name: 'F', value: 'on', valueType: 'string', trial: false, trialEndsAt };
    const product = {
      ...same,
      ...{ startsAt, endsAt, limitTimeDuration: '3600', trial: true, trialEndsAt, features: [feature] },
    };
    const wireFeature = {
      ...{ featureCode: 'f', featureName: 'F', featureValue: 'on', featureValueType: 'string' },
      ...{ trial: 0, trialEndDate },
    };
    const wireProduct = {
      ...same,
      ...{ limitStartDate, limitEndDate, limitTimeDuration: 3600, trial: 1, trialEndDate },
      productFeatures: [wireFeature],
    };
    const merchandise = {
      ...{ crmProductId: 'M1', parentCrmProductId: 'M0', merchandiseNum: 'PKG-1' },
      ...{ merchandiseName: 'Package', timeDurationExpression: '0-6-0' },
    };
    const child = { merchandiseNum: 'PKG-2', parentMerchandiseNum: 'PKG-1' };
    const item = {
      orderType: 'new_buy',
      sequence: 7,
      licenseType: 'softkey',
      customerType: 'company',
      srcLicenseOrderId: 'lic-5000',
      customer: {
        ...{ customerId: 'cus-harbour-default', crmCustomerId: 'CRM-1001', customerName: 'Harbour' },
        ...{ channelCustomerId: 'CH-1001', enterpriseGlobalId: 'ent-harbour', address: '1 Quay Street' },
        passwordMobile: '13800000001',
      },
      admin: { name: 'Ada', account: 'ada', email: 'ada@example.com', cellNumber: '13800000002' },
      branch: { code: 'B1', name: 'Coast' },
      assets: [
        {
          extensions: [{ code: 'site', value: 'pier-9' }],
          ...{ startsAt, endsAt, lentLock: false, transferred: true },
          products: [product],
          merchandises: [
            { ...merchandise, children: [{ ...child, products: [{ productUri: 'draft.view' }] }] },
          ],
        },
      ],
    };
    const given = JSON.stringify(item);
    // Numbers of assets are sent where these are revoked.
    const missing = fieldsOf('NewBuy').filter((field) => !given.includes(`"${field}":`));
    expect(missing).toEqual(['assetNums']);
    const answer = await gateway.post('/v1/license-orders', order('SO-3', item, { syncMode: 'async' }));
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ state: 'accepted', syncMode: 'async', settledAt: null });
    const sent = await sentBody('batchOrder');
    expect(sent).toEqual({
      channelCode: 'crm',
      channelOrderId: 'SO-3',
      syncMode: 'async',
      orderList: [
        {
          ...{ sequence: 7, licenseType: 'softkey', orderType: 'new_buy', customerType: 'company' },
          ...{ customerId: 'cus-harbour-default', crmCustomerId: 'CRM-1001', customerName: 'Harbour' },
          ...{ channelCustomerId: 'CH-1001', enterpriseGlobalId: 'ent-harbour', address: '1 Quay Street' },
          ...{ passwordMobile: '13800000001', srcLicenseOrderId: 'lic-5000' },
          ...{ adminName: 'Ada', adminAccount: 'ada', adminEmail: 'ada@example.com' },
          ...{ adminCellNumber: '13800000002', branchCode: 'B1', branchName: 'Coast' },
          assets: [
            {
              assetExtendList: [{ extendCode: 'site', extendValue: 'pier-9' }],
              ...{ limitStartDate, limitEndDate, borrowedUsbKey: false, transferedAssetNum: true },
              products: [wireProduct],
              merchandises: [
                {
                  ...merchandise,
                  children: [
                    { ...child, children: null, licenseOrderProductList: [{ productUri: 'draft.view' }] },
                  ],
                },
              ],
            },
          ],
        },
      ],
    });
    // The fields are in alphabetical order, so that the order ledger need not sort them for its fingerprint.
    expect(JSON.stringify(sent)).toBe(canonical(sent));
    const [entry] = await sandbox.journal('batchOrder');
    expect(entry?.query).toMatchObject({ appKey: sandbox.appKey });
  });

  it('keep a duration beyond 2^53 exact, in the order and where it is shown', async () => {
    const limitTimeDuration = '9223372036854775807';
    const products = [{ productUri: 'draft.pro', limitTimeDuration }];
    const before = new Set((await assetsOf()).map(({ assetId }) => assetId));
    const placed = await gateway.post('/v1/license-orders', order('SO-31', purchase({ products })));
    expect(placed.status).toBe(201);
    const bought = (await assetsOf()).find(({ assetId }) => !before.has(assetId));
    const shown = await gateway.get(`/v1/enterprises/ent-harbour/assets/${bought?.assetId}/products`);
    expect(shown.body['products']).toEqual([expect.objectContaining({ limitTimeDuration })]);
  });

  it('are refused for what ends before it begins, and for times that other languages write for "none"', async () => {
    const startsAt = '2027-01-01T00:00:00.000Z';
    const none = '1970-01-01T00:00:00Z';
    const features = [{ code: 'export', trialEndsAt: none }];
    const products = [
      { productUri: 'draft.pro', startsAt, endsAt: startsAt, trialEndsAt: '2026-12-31T00:00:00Z' },
      { productUri: 'draft.pro', endsAt: none, features },
    ];
    const { status, body } = await gateway.post(
      '/v1/license-orders',
      order('SO-34', purchase({ endsAt: none, products })),
    );
    const late = 'must be later than startsAt';
    const old = 'must not be before 1971: leave the field out where there is no time';
    const of = (pointer: string, detail: string) => ({ pointer: `/items/0/assets/0${pointer}`, detail });
    const errors = [
      ...[of('/endsAt', old), of('/products/0/endsAt', late), of('/products/0/trialEndsAt', late)],
      ...[of('/products/1/endsAt', old), of('/products/1/features/0/trialEndsAt', old)],
    ];
    expect([status, body['errors']]).toEqual([400, expect.arrayContaining(errors)]);
    expect(body['errors']).toHaveLength(errors.length);
    expect(await sandbox.journal('batchOrder')).toEqual([]);
  });

  it('pass on quantities that platforms take for "no limit", and refuse those beyond 32 or 64 bits', async () => {
    const terms = { limitConcurrent: -1, timeUnitQuantity: 2_147_483_647, limitTimeDuration: '-1' };
    const products = [{ productUri: 'draft.pro', ...terms }];
    const before = new Set((await assetsOf()).map(({ assetId }) => assetId));
    expect((await gateway.post('/v1/license-orders', order('SO-32', purchase({ products })))).status).toBe(
      201,
    );
    const sent = (await sentBody('batchOrder')) as { orderList: { assets: { products: object[] }[] }[] };
    expect(sent.orderList[0]?.assets[0]?.products).toMatchObject([{ ...terms, limitTimeDuration: -1 }]);
    const bought = (await assetsOf()).find(({ assetId }) => !before.has(assetId));
    const shown = await gateway.get(`/v1/enterprises/ent-harbour/assets/${bought?.assetId}/products`);
    expect(shown.body['products']).toMatchObject([{ limitConcurrent: -1, limitTimeDuration: '-1' }]);

    const beyond = {
      limitConcurrent: 2 ** 31,
      timeUnitQuantity: 0.5,
      limitTimeDuration: '9223372036854775808',
    };
    const refused = await gateway.post(
      '/v1/license-orders',
      order('SO-33', purchase({ products: [{ productUri: 'draft.pro', ...beyond }] })),
    );
    expect([refused.status, refused.body['code']]).toEqual([400, 'validation-failed']);
    const of = (name: string, detail: string) => ({
      pointer: `/items/0/assets/0/products/0/${name}`,
      detail,
    });
    expect(refused.body['errors']).toEqual([
      of('limitConcurrent', 'must be a whole number from -2147483648 to 2147483647'),
      of('limitTimeDuration', 'must be a whole number of 64 bits'),
      of('timeUnitQuantity', 'must be a whole number from -2147483648 to 2147483647'),
    ]);
  });

  it('return the items of a batch in its order, with sequences counted from 1', async () => {
    const placed = await gateway.post('/v1/license-orders', {
      channelCode: 'crm',
      channelOrderId: 'SO-4',
      items: [purchase(), purchase(), purchase()],
    });
    expect((placed.body['items'] as { sequence: number }[]).map(({ sequence }) => sequence)).toEqual([
      1, 2, 3,
    ]);
    const sent = (await sentBody('batchOrder')) as { orderList: { sequence: number }[] };
    expect(sent.orderList.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  it('delete from all orders only when the request says so, and then send no source order', async () => {
    const all = await gateway.post(
      '/v1/license-orders',
      order('SO-5', {
        orderType: 'delete_product',
        licenseType: 'normal_recover_usbkey',
        allOrders: true,
        customer: HARBOUR,
        assets: [{ assetNums: ['8000001003'], products: [{ productUri: 'draft.pro' }] }],
      }),
    );
    expect(all.status).toBe(201);
    const sent = (await sentBody('batchOrder')) as { orderList: Record<string, unknown>[] };
    expect(sent.orderList[0]).not.toHaveProperty('srcLicenseOrderId');
    expect(sent.orderList[0]).not.toHaveProperty('allOrders');
  });

  it('are only checked and shown by a dry run: secrets masked, nothing sent', async () => {
    const asset = { products: [{ productUri: 'draft.pro', passwords: [LOCK_PASSWORD] }] };
    const preview = await gateway.post('/v1/license-orders/dry-run', order('SO-6', purchase(asset)));
    expect(preview.status).toBe(200);
    expect(preview.text).not.toContain(LOCK_PASSWORD);
    expect(preview.body).toMatchObject({
      wouldSend: [
        {
          operation: 'batchOrder',
          body: {
            channelOrderId: 'SO-6',
            orderList: [{ assets: [{ products: [{ passwords: ['[secret]'] }] }] }],
          },
        },
      ],
      effects: [],
      plan: null,
    });
    const broken = await gateway.post(
      '/v1/license-orders/dry-run',
      order('SO-6', purchase({ products: [] })),
    );
    expect(broken.status).toBe(400);
    expect(await sandbox.calls()).toEqual([]);
  });

  it("carry the caller's own appKey, if it has one", async () => {
    await gateway.post('/v1/license-orders', order('SO-8', purchase()), { key: gateway.keys['shop'] });
    const [entry] = await sandbox.journal('batchOrder');
    expect(entry?.query['appKey']).toBe('shop-app');
  });
});

describe('locks', () => {
  it('return 200 when all were switched, and the asset list shows the state', async () => {
    const disabled = await gateway.post('/v1/enterprises/ent-harbour/locks/disable', {
      assetNums: ['8000001003'],
    });
    expect(disabled.status).toBe(200);
    expect(disabled.body).toEqual({
      items: [{ assetNum: '8000001003', status: 'succeeded' }],
      succeeded: 1,
      failed: 0,
    });
    expect(await assetsOf()).toContainEqual(
      expect.objectContaining({ assetNum: '8000001003', locked: true }),
    );
    expect(await sentBody('disableLocks')).toEqual({ assetNums: ['8000001003'], operatorIdentity: 'tester' });

    const enabled = await gateway.post('/v1/enterprises/ent-harbour/locks/enable', {
      assetNums: ['8000001003'],
      operatorIdentity: 'Ada',
    });
    expect(enabled.status).toBe(200);
    expect(await assetsOf()).toContainEqual(
      expect.objectContaining({ assetNum: '8000001003', locked: false }),
    );
    expect(await sentBody('enableLocks')).toEqual({ assetNums: ['8000001003'], operatorIdentity: 'Ada' });
  });

  it('otherwise return 207 with a status for each number', async () => {
    const mixed = await gateway.post('/v1/enterprises/ent-harbour/locks/disable', {
      assetNums: ['8000001003', '8999999999', '8000001008', '8000001004'],
    });
    expect(mixed.status).toBe(207);
    expect(mixed.body).toEqual({
      items: [
        { assetNum: '8000001003', status: 'succeeded' },
        { assetNum: '8999999999', status: 'not_found' },
        { assetNum: '8000001008', status: 'failed' },
        { assetNum: '8000001004', status: 'wrong_type' },
      ],
      succeeded: 1,
      failed: 3,
    });
  });
});

describe('asset numbers', () => {
  it('are returned once each, with their region', async () => {
    const first = await gateway.post('/v1/asset-num-reservations', { size: 2 });
    const second = await gateway.post('/v1/asset-num-reservations', { size: 1 });
    expect(first.status).toBe(201);
    const items = [...(first.body['items'] as object[]), ...(second.body['items'] as object[])] as {
      keyShellNumber: string;
      region: string;
    }[];
    expect(new Set(items.map(({ keyShellNumber }) => keyShellNumber)).size).toBe(3);
    for (const { keyShellNumber, region } of items) {
      expect(keyShellNumber).toMatch(/^8\d{9}$/);
      expect(region).toBe('domestic');
    }
  });
});
