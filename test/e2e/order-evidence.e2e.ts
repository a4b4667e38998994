import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { endings } from '../support/endings.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import type { TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { AGAIN, quick } from '../support/quick-reconciliation.ts';
import { attemptsOf } from '../support/reconciliation-attempts.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** What proves the end of an order, on platforms that the interface allows: only what the gateway has seen. */

const ORDERS = '/v1/license-orders';
const ASYNC_ORDER_MS = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'evidence-'));

let sandbox: TestSandbox;
let elsewhere: GatewayInProcess;
const { ended } = endings();
beforeAll(async () => {
  sandbox = await TestSandbox.start({ asyncOrderMs: ASYNC_ORDER_MS });
  elsewhere = await startInProcess(sandbox);
});
beforeEach(() => {
  quick.times = AGAIN;
  return sandbox.reset();
});
afterAll(async () => {
  await elsewhere.stop();
  await sandbox.close();
  rmSync(folder, { recursive: true });
});

/** A gateway in front of a platform with these readings, which it is told or not. */
async function gatewayOf(readings: object = {}, isTold = false): Promise<GatewayInProcess> {
  await sandbox.control('PUT', '/profile', readings);
  const file = join(folder, 'profile.json');
  writeFileSync(file, JSON.stringify({ version: 1, readings: isTold ? readings : {} }));
  return ended(await startInProcess(sandbox, { PLATFORM_PROFILE_FILE: file }));
}

const HARBOUR = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
const MERIDIAN = { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' };
const deletion = (asset: object = {}, over: object = {}) => ({
  ...{
    orderType: 'delete_asset',
    licenseType: 'cloud_account',
    srcLicenseOrderId: 'lic-1009',
    customer: HARBOUR,
  },
  assets: [{ assetNums: ['8000001009'], ...asset }],
  ...over,
});
const purchase = (productUri: string, limitConcurrent: number, customer: object = HARBOUR) => ({
  ...{ orderType: 'new_buy', licenseType: 'cloud_account', customer },
  assets: [{ products: [{ productUri, limitConcurrent }] }],
});

let last = 0;
const order = (items: object[], over: object = {}) => orderOf(`SO-E${++last}`, { items, ...over });
type Body = ReturnType<typeof order>;

const recordOf = async (gateway: TestGateway, { channelOrderId }: Body) =>
  (await onceServed(() => gateway.get(`${ORDERS}/crm/${channelOrderId}`))).body;
const stateOf = async (gateway: TestGateway, body: Body) => (await recordOf(gateway, body))['state'];
const isFound = (gateway: TestGateway, body: Body) =>
  until('it is found', async () => (await stateOf(gateway, body)) === 'succeeded');
const expectFound = async (gateway: TestGateway, body: Body) => {
  await isFound(gateway, body);
  expect((await recordOf(gateway, body))['reason']).toMatch(/^found at the platform/);
};
const place = (gateway: TestGateway, body: Body, headers: Record<string, string> = {}) =>
  onceServed(() => gateway.post(ORDERS, body, { headers }));

async function lose(
  gateway: TestGateway,
  phase: 'before' | 'after',
  body: Body,
  headers?: Record<string, string>,
) {
  await sandbox.fault({ operation: 'batchOrder', phase, times: 1, action: { reset: 'before-headers' } });
  expect((await place(gateway, body, headers)).status).toBe(502);
}

const seen = (gateway: TestGateway, result: string, count = 1) =>
  until(`a search ended as ${result}`, async () => ((await attemptsOf(gateway))[result] ?? 0) >= count);

/** A success of the platform with this data, or with none. */
const success = (data: unknown) => ({ code: 0, codeAs: 'integer', status: 200, data });
const NO_DATA = { raw: { text: '{"code":0,"message":"success"}' } };

describe('an accepted deletion', () => {
  it('ends when the platform has shown twice that what the gateway saw before is gone', async () => {
    const gateway = await gatewayOf();
    const body = order([deletion()], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    await seen(gateway, 'not_found');
    await sandbox.advance(ASYNC_ORDER_MS);
    await isFound(gateway, body);
    expect(await attemptsOf(gateway)).toMatchObject({ gone_once: 1, settled: 1 });
    expect((await recordOf(gateway, body))['reason']).toBe('what it deletes is gone at the platform');
  });

  it('ends too when a search that gets no list comes between the two', async () => {
    quick.times = AGAIN.map((ms) => ms + 1_500);
    const gateway = await gatewayOf();
    const action = { httpStatus: 429, headers: { 'Retry-After': '1' } };
    // The list is read when the order is sent, and by the first search.
    await sandbox.fault({ operation: 'listAssets', skip: 2, times: 1, action });
    const body = order([deletion()], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    await sandbox.advance(ASYNC_ORDER_MS);
    await isFound(gateway, body);
    expect(await attemptsOf(gateway)).toMatchObject({ failed: 1, gone_once: 1, settled: 1 });
  });

  it.each<[string, object, (gateway: TestGateway, body: Body) => Promise<unknown>]>([
    [
      'was rejected',
      { syncMode: 'sync' },
      async (gateway, body) => {
        await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
        expect((await place(gateway, body)).status).toBe(422);
      },
    ],
    [
      'was cancelled',
      { notBefore: new Date(Date.now() + 86_400_000).toISOString() },
      async (gateway, body) => {
        expect((await place(gateway, body)).status).toBe(202);
        const path = `${ORDERS}/crm/${body.channelOrderId}`;
        expect((await onceServed(() => gateway.request('DELETE', path))).status).toBe(204);
      },
    ],
  ])('ends too where an earlier order of its number %s', async (_, over, before) => {
    const gateway = await gatewayOf();
    const body = order([deletion()], { syncMode: 'async' });
    await before(gateway, { ...body, ...over });
    expect((await place(gateway, body)).status).toBe(202);
    await sandbox.advance(ASYNC_ORDER_MS);
    await isFound(gateway, body);
  });

  it('of several items of one enterprise is looked at by one reading of its assets', async () => {
    const gateway = await gatewayOf({ asyncOrders: 'never' });
    const product = { assetNums: ['8000001002'], products: [{ productUri: 'cloud.model' }] };
    const over = { orderType: 'delete_product', srcLicenseOrderId: 'lic-5003', sequence: 2 };
    const body = order([deletion({}, { sequence: 1 }), deletion(product, over)], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    const calls = (await sandbox.calls()).map(({ operation }) => operation);
    expect(calls.slice(0, calls.indexOf('batchOrder')).filter((each) => each === 'listAssets')).toHaveLength(
      1,
    );
    // The gateway saw both, and sees them still.
    await seen(gateway, 'not_found');
  });

  it.each<[string, object, string]>([
    ['null', success(null), 'unreadable'],
    ['no data', NO_DATA, 'failed'],
    ['an item without its number', success([{ id: 'ast-1', licenseType: 'cloud_account' }]), 'unreadable'],
    ['an empty list', success([]), 'gone_once'],
    ['a list without the asset', success([{ id: 'ast-1', assetNum: '1' }]), 'gone_once'],
  ])('stays accepted where the list of assets is once %s', async (_, action, result) => {
    const gateway = await gatewayOf({ asyncOrders: 'never' });
    // The member center would show the asset.
    await sandbox.fault({ operation: 'listAssetNums', action: { code: '60017' } });
    await sandbox.fault({ operation: 'listAssets', skip: 1, times: 1, action });
    // The asset `ast-1` of a fault is none of the platform.
    const body = order([deletion()], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    await seen(gateway, result);
    await seen(gateway, 'not_found');
    expect(await stateOf(gateway, body)).toBe('accepted');
    expect((await attemptsOf(gateway))['settled']).toBeUndefined();
  });

  it.each<[string, string, object]>([
    ['asset cannot be read', 'ast-1002', { code: '60024' }],
    ['content came only after a wait', '', { httpStatus: 429, headers: { 'Retry-After': '1' } }],
  ])(
    'stays accepted where a list between two without the asset had it, and some %s',
    async (_, path, action) => {
      const gateway = await gatewayOf({ asyncOrders: 'never' });
      await sandbox.fault({ operation: 'listAssetNums', action: { code: '60017' } });
      const lacking = { operation: 'listAssets', times: 1, action: success([]) };
      // The first list is read when the order is sent.
      await sandbox.fault({ ...lacking, skip: 1 });
      await sandbox.fault({ ...lacking, skip: 2 });
      const body = order([deletion()], { syncMode: 'async' });
      expect((await place(gateway, body)).status).toBe(202);
      await sandbox.fault({
        operation: 'listAssetProducts',
        match: { path },
        ...(path === '' && { times: 1 }),
        action,
      });
      await seen(gateway, 'gone_once');
      await until('a search came after both, or the order has ended', async () => {
        const lists = await sandbox.journal('listAssets');
        return lists.length >= 5 || (await stateOf(gateway, body)) !== 'accepted';
      });
      expect(await stateOf(gateway, body)).toBe('accepted');
      expect((await attemptsOf(gateway))['settled']).toBeUndefined();
    },
  );

  it.each<[string, object, object]>([
    ['an empty list', {}, success([])],
    ['a list without the asset', {}, success([{ id: 'ast-1002', assetNum: '8000001002' }])],
    ['an empty list of all assets', { assetList: 'all' }, success([])],
  ])(
    'stays accepted where the order module sends %s again and again, and the member center has the asset',
    async (_, readings, action) => {
      const gateway = await gatewayOf({ asyncOrders: 'never', ...readings }, true);
      await sandbox.fault({ operation: 'listAssets', skip: 1, action });
      const body = order([deletion()], { syncMode: 'async' });
      expect((await place(gateway, body)).status).toBe(202);
      await seen(gateway, 'not_found', 3);
      expect(await stateOf(gateway, body)).toBe('accepted');
      expect(await attemptsOf(gateway)).not.toHaveProperty('gone_once');
    },
  );

  it('stays accepted while the list of the member center does not come', async () => {
    const gateway = await gatewayOf();
    const body = order([deletion()], { syncMode: 'async' });
    const faults = await sandbox.fault({ operation: 'listAssetNums', action: success(null) });
    expect((await place(gateway, body)).status).toBe(202);
    await sandbox.advance(ASYNC_ORDER_MS);
    await seen(gateway, 'unreadable', 2);
    expect(await stateOf(gateway, body)).toBe('accepted');
    await sandbox.heal(faults);
    await isFound(gateway, body);
  });

  it.each<[string, object, object]>([
    ['a lock', {}, {}],
    ['a product of a lock', { products: [{ productUri: 'draft.pro' }] }, { orderType: 'delete_product' }],
  ])('of %s that only the member center lists ends when it is gone there', async (_, asset, over) => {
    const gateway = await gatewayOf({ assetList: 'virtual' });
    const of = { licenseType: 'normal_recover_usbkey', srcLicenseOrderId: 'lic-1003', ...over };
    const body = order([deletion({ assetNums: ['8000001003'], ...asset }, of)], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    await seen(gateway, 'not_found');
    await sandbox.advance(ASYNC_ORDER_MS);
    await isFound(gateway, body);
  });

  it.each(['500', '60017', '77777'])(
    'of a lock that only the member center lists stays accepted while that refuses its list (%s)',
    async (code) => {
      const gateway = await gatewayOf({ assetList: 'virtual', asyncOrders: 'never' });
      const of = { licenseType: 'normal_recover_usbkey', srcLicenseOrderId: 'lic-1003' };
      const body = order([deletion({ assetNums: ['8000001003'] }, of)], { syncMode: 'async' });
      expect((await place(gateway, body)).status).toBe(202);
      await sandbox.fault({ operation: 'listAssetNums', action: { code } });
      await seen(gateway, 'unreadable', 2);
      expect(await stateOf(gateway, body)).toBe('accepted');
    },
  );

  it('stays accepted where the platform names another enterprise for its customer by now', async () => {
    const gateway = await gatewayOf({ asyncOrders: 'never' });
    const customer = { customerId: HARBOUR.customerId };
    const body = order([deletion({}, { customer })], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    const named = success([{ ...MERIDIAN, customerId: HARBOUR.customerId, channelCode: 'crm' }]);
    await sandbox.fault({ operation: 'queryCustomers', action: named });
    await seen(gateway, 'not_seen', 2);
    expect(await stateOf(gateway, body)).toBe('accepted');
  });

  it.each<[string, object]>([
    ['null', success(null)],
    ['lists that are null', success({ productInstanceList: null, children: null })],
    ['an item that is none', success({ productInstanceList: [7], children: [] })],
  ])('of a product stays accepted where the content of its asset is %s', async (_, action) => {
    const gateway = await gatewayOf({ asyncOrders: 'never' });
    const product = { assetNums: ['8000001002'], products: [{ productUri: 'cloud.model' }] };
    const over = { orderType: 'delete_product', srcLicenseOrderId: 'lic-5003' };
    await sandbox.fault({ operation: 'listAssetProducts', skip: 1, action });
    const body = order([deletion(product, over)], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    await seen(gateway, 'unreadable', 3);
    expect(await stateOf(gateway, body)).toBe('accepted');
  });

  it.each<[string, object, object, object]>([
    ['a misspelt number', { assetNums: ['8000001900'] }, {}, {}],
    ['another order than the one of the asset', {}, { srcLicenseOrderId: 'lic-none' }, {}],
    [
      'a product that is there and a misspelt one',
      { assetNums: ['8000001002'], products: [{ productUri: 'cloud.model' }, { productUri: 'cloud.modle' }] },
      { orderType: 'delete_product', srcLicenseOrderId: 'lic-5003' },
      {},
    ],
  ])('of %s stays accepted, and the history says why', async (_, asset, over, readings) => {
    const gateway = await gatewayOf(readings);
    const action = success([{ sequence: 1, licenseOrderId: 'lic-x', customerId: 'cus-harbour-default' }]);
    await sandbox.fault({ operation: 'batchOrder', phase: 'before', action });
    const body = order([deletion(asset, over)], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    await seen(gateway, 'not_seen', 3);
    expect(await stateOf(gateway, body)).toBe('accepted');
  });

  describe('of a product whose only node is moved into a lent lock', () => {
    const product = { assetNums: ['8000001012'], products: [{ productUri: 'draft.pro' }] };
    const over = { orderType: 'delete_product', srcLicenseOrderId: 'lic-1012' };

    /** Places the deletion, and lends the asset before the platform carries it out. */
    async function placedAndLent(gateway: TestGateway) {
      await sandbox.control('PATCH', '/state/assets/ast-1012', { lentInto: null });
      await sandbox.control('PATCH', '/state/products/prd-1012-1', { limitConcurrent: 1 });
      const body = order([deletion(product, over)], { syncMode: 'async' });
      expect((await place(gateway, body)).status).toBe(202);
      const loan = { lentLockNum: '8000001007', assetIds: ['ast-1012'] };
      const path = '/v1/enterprises/ent-harbour/members/mem-harbour-chen/loans';
      expect((await onceServed(() => gateway.post(path, loan))).status).toBe(204);
      return body;
    }

    it.each(['all', 'virtual'])(
      'ends when it is in no lock either: %s assets are listed',
      async (assetList) => {
        const gateway = await gatewayOf({ assetList });
        const body = await placedAndLent(gateway);
        const { not_found: before = 0 } = await attemptsOf(gateway);
        await seen(gateway, 'not_found', before + 2);
        expect([await stateOf(gateway, body), (await attemptsOf(gateway))['gone_once']]).toEqual([
          'accepted',
          undefined,
        ]);
        await sandbox.advance(ASYNC_ORDER_MS);
        await isFound(gateway, body);
      },
    );

    it.each<[string, string, object]>([
      ['list of locks', 'listLentLocks', success(null)],
      ['content of the lock', 'listAssetProducts', { code: '60024' }],
    ])('stays accepted where the %s is not shown', async (_, operation, action) => {
      const gateway = await gatewayOf({ assetList: 'virtual', asyncOrders: 'never' });
      const match = operation === 'listAssetProducts' ? { path: '/ast-1007/' } : {};
      await sandbox.fault({ operation, action, match });
      const body = await placedAndLent(gateway);
      await seen(gateway, 'unreadable', 2);
      expect(await stateOf(gateway, body)).toBe('accepted');
    });
  });

  it('ends where empty lists are known to be null', async () => {
    const gateway = await gatewayOf({ emptyLists: 'null', asyncOrders: 'done' }, true);
    const body = order([deletion()], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    for (const operation of ['listAssets', 'listAssetNums'])
      await sandbox.fault({ operation, action: success(null) });
    await isFound(gateway, body);
  });
});

describe('the user as whom the gateway looks for an order', () => {
  const users = (more: object = {}) => ({
    default: { username: 'admin@harbour', password: sandbox.seedPassword },
    beta: { username: 'admin@meridian', password: sandbox.seedPassword, ...more },
  });
  const withUsers = async (file: object) => {
    const gateway = await gatewayOf({ usersSee: 'own' });
    const reloaded = gateway.logged('users-reloaded');
    writeFileSync(gateway.usersFile, JSON.stringify(file));
    await reloaded;
    return gateway;
  };
  const body = () => order([purchase('draft.pro', 2, MERIDIAN)]);

  it('is the one whom the users file names for the enterprise', async () => {
    const gateway = await withUsers(users({ enterprises: ['ent-meridian'] }));
    const lost = body();
    await lose(gateway, 'after', lost);
    await expectFound(gateway, lost);
  });

  it('is the one whom the order names', async () => {
    const gateway = await withUsers(users());
    const lost = body();
    await lose(gateway, 'after', lost, { 'x-acting-user': 'beta' });
    await expectFound(gateway, lost);
    const refused = await place(gateway, body(), { 'x-acting-user': 'nobody' });
    expect([refused.status, refused.body['code']]).toEqual([403, 'forbidden']);
  });

  it('is nobody where no user serves the enterprise, which the history says', async () => {
    const gateway = await withUsers({ beta: users({ enterprises: ['ent-harbour'] }).beta });
    const lost = body();
    await lose(gateway, 'after', lost);
    await seen(gateway, 'no_user');
    expect(await stateOf(gateway, lost)).toBe('in_doubt');
  });

  it('is the first where two claim one enterprise, and the log says so', async () => {
    const enterprises = ['ent-meridian'];
    const { beta } = users({ enterprises });
    const shared = { beta, gamma: { ...users().default, enterprises } };
    const gateway = await withUsers(shared);
    const line = gateway.logLines.find((each) => each.includes('users-share-enterprise')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ level: 'warn', used: 'beta', passedOver: 'gamma' });
    const lost = body();
    await lose(gateway, 'after', lost);
    await expectFound(gateway, lost);
  });

  it('is refused in the file where its enterprises are no list', async () => {
    const gateway = await gatewayOf();
    const rejected = gateway.logged('users-rejected');
    writeFileSync(gateway.usersFile, JSON.stringify(users({ enterprises: 'ent-meridian' })));
    await rejected;
    expect(gateway.logLines.findLast((each) => each.includes('users-rejected'))).toContain(
      'beta.enterprises',
    );
  });
});

describe('a purchase in doubt', () => {
  it('of a lock is found where the platform lists the lock in the member center only', async () => {
    const gateway = await gatewayOf({ assetList: 'virtual' });
    const assets = [{ assetNums: ['8000001003'], products: [{ productUri: 'draft.pro' }] }];
    const lock = { orderType: 'new_buy', licenseType: 'normal_recover_usbkey', customer: HARBOUR, assets };
    const body = order([lock]);
    await lose(gateway, 'after', body);
    await expectFound(gateway, body);
  });

  it.each<[string, object]>([
    ['another product', purchase('draft.view', 2)],
    ['another number of nodes', purchase('draft.pro', 3)],
  ])('is not found by a licence order of its number with %s', async (_, other) => {
    const gateway = await gatewayOf();
    const body = order([purchase('draft.pro', 2)]);
    await lose(gateway, 'before', body);
    expect((await place(elsewhere, { ...body, items: [other] } as Body)).status).toBe(201);
    await seen(gateway, 'incomplete', 2);
    expect(await stateOf(gateway, body)).toBe('in_doubt');
  });

  it('is not found by the order of another channel with its number where the platform shows no channel', async () => {
    const gateway = await gatewayOf();
    const body = order([purchase('draft.pro', 2)]);
    expect((await place(gateway, { ...body, channelCode: 'partner' })).status).toBe(201);
    const odd = { pointer: '/data/productInstanceList/0/channelCode', value: null };
    await sandbox.fault({ operation: 'listAssetProducts', action: { odd } });
    await lose(gateway, 'before', body);
    await seen(gateway, 'not_found', 2);
    expect(await stateOf(gateway, body)).toBe('in_doubt');
    // Nor does the gateway say that the order made nothing.
    const assets = await gateway.get(`${ORDERS}/crm/${body.channelOrderId}/assets`);
    expect([assets.status, assets.body['code']]).toEqual([502, 'upstream-contract-violation']);
  });

  it.each(['item', 'batch'])(
    'of two products is found where each %s becomes a licence order',
    async (licenseOrders) => {
      const gateway = await gatewayOf({ licenseOrders });
      const body = order([purchase('draft.pro', 2), purchase('draft.view', 4)]);
      await lose(gateway, 'after', body);
      await isFound(gateway, body);
      const { items } = await recordOf(gateway, body);
      const ids = (items as { licenseOrderId: string | null }[]).map(({ licenseOrderId }) => licenseOrderId);
      expect(ids.every((id) => id !== null)).toBe(true);
      expect(new Set(ids).size).toBe(licenseOrders === 'batch' ? 1 : 2);
    },
  );

  it('that was placed twice as one licence order each time is an alarm', async () => {
    const gateway = await gatewayOf({ licenseOrders: 'batch' });
    const body = order([purchase('draft.pro', 2), purchase('draft.view', 4)]);
    const unseen = await sandbox.fault({ operation: 'listAssets', action: { code: '500' } });
    await lose(gateway, 'after', body);
    expect((await place(elsewhere, body)).status).toBe(201);
    await sandbox.heal(unseen);
    await seen(gateway, 'placed_twice');
    expect(await stateOf(gateway, body)).toBe('in_doubt');
  });
});

describe('an order whose result has no ids', () => {
  it.each<[string, object, boolean, number, string]>([
    ['a deletion', deletion(), false, 502, 'incomplete'],
    ['a deletion', deletion(), true, 201, 'succeeded'],
    ['a purchase', purchase('draft.pro', 2), true, 201, 'succeeded'],
  ])(
    '%s is told by the code where ids may be missing: %j, told %j',
    async (_, item, isTold, status, state) => {
      const orderIds = (item as { orderType: string }).orderType === 'new_buy' ? 'later' : 'purchases';
      const gateway = await gatewayOf({ orderIds }, isTold);
      const body = order([item]);
      expect((await place(gateway, body)).status).toBe(status);
      expect(await stateOf(gateway, body)).toBe(state);
      expect(await sandbox.commits()).toHaveLength(1);
    },
  );

  it('shows its assets where only its customer tells the enterprise', async () => {
    const gateway = await gatewayOf({ orderIds: 'later' }, true);
    const body = order([purchase('draft.pro', 2, { customerId: HARBOUR.customerId })]);
    expect((await place(gateway, body)).status).toBe(201);
    const [commit] = await sandbox.commits();
    const { status, body: page } = await gateway.get(`${ORDERS}/crm/${body.channelOrderId}/assets`);
    expect([status, page['items']]).toEqual([
      200,
      [expect.objectContaining({ sequence: 1, licenseOrderId: commit?.licenseOrderIds[0] })],
    ]);
  });

  it('is looked for, and gets its ids, where the platform is not known', async () => {
    const gateway = await gatewayOf({ orderIds: 'later' });
    const body = order([purchase('draft.pro', 2)]);
    const answer = await place(gateway, body);
    expect([answer.status, answer.body['outcome']]).toEqual([502, 'processed']);
    await isFound(gateway, body);
    const [commit] = await sandbox.commits();
    const { items } = await recordOf(gateway, body);
    expect(items).toMatchObject([{ licenseOrderId: commit?.licenseOrderIds[0] }]);
  });

  it('async is accepted, and gets its ids when it shows', async () => {
    const gateway = await gatewayOf({ orderIds: 'later' });
    const body = order([purchase('draft.pro', 2)], { syncMode: 'async' });
    expect((await place(gateway, body)).status).toBe(202);
    await sandbox.advance(ASYNC_ORDER_MS);
    await isFound(gateway, body);
  });
});

it('a package beside products is not deleted while the platform is not known to delete packages', async () => {
  const gateway = await gatewayOf();
  const asset = { assetNums: ['8000001002'], products: [{ productUri: 'cloud.model' }] };
  const both = { ...asset, merchandises: [{ merchandiseNum: 'PKG-SUITE' }] };
  const body = order([deletion(both, { orderType: 'delete_product', srcLicenseOrderId: 'lic-5002' })]);
  for (const path of [ORDERS, `${ORDERS}/dry-run`]) {
    const { status, body: problem } = await gateway.post(path, body);
    expect([status, problem['errors']]).toEqual([
      400,
      [{ pointer: '/items/0/assets/0/merchandises', detail: expect.stringContaining('packagesInDeletion') }],
    ]);
  }
  expect(await sandbox.journal('batchOrder')).toEqual([]);
});

it("a product's end of a trial fits into 32 bits where the platform is known to have seconds", async () => {
  const gateway = await gatewayOf({ productTrialEnd: 'seconds' }, true);
  const item = purchase('draft.pro', 2);
  const trial = { productUri: 'draft.pro', trial: true, trialEndsAt: '2027-01-01T00:00:00.000Z' };
  const body = order([{ ...item, assets: [{ products: [trial] }] }]);
  expect((await place(gateway, body)).status).toBe(201);
  const [sent] = await sandbox.journal('batchOrder');
  expect(JSON.stringify(sent?.body)).toMatch(/"trialEndDate":1798761600[,}]/);
  const again = await place(gateway, body);
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  const products = [{ ...trial, trialEndsAt: '2038-01-19T03:14:07.000Z' }];
  const late = [{ ...trial, trialEndsAt: '2038-01-19T03:14:08.000Z' }];
  expect((await place(gateway, order([{ ...item, assets: [{ products }] }]))).status).toBe(201);
  const nested = { merchandiseNum: 'PKG-SUITE', children: [{ merchandiseNum: 'PKG-A', products: late }] };
  const beyond = order([{ ...item, assets: [{ products: late, merchandises: [nested] }] }]);
  for (const path of [ORDERS, `${ORDERS}/dry-run`]) {
    const { status, body: problem } = await gateway.post(path, beyond);
    const detail = expect.stringContaining('productTrialEnd');
    const asset = '/items/0/assets/0';
    expect([path, status, problem['errors']]).toEqual([
      ...[path, 400],
      [
        { pointer: `${asset}/products/0/trialEndsAt`, detail },
        { pointer: `${asset}/merchandises/0/children/0/products/0/trialEndsAt`, detail },
      ],
    ]);
  }
});
