import { describe, expect, it } from '@jest/globals';
import { PlatformClient, useSandbox } from '../testing.ts';

/** The delay of an async order. It takes effect when a test moves the clock, and not because the machine was slow. */
const ASYNC_ORDER_MS = 600_000;

const test = useSandbox({ asyncOrderMs: ASYNC_ORDER_MS });

const numbers = async (): Promise<unknown[]> => (await test.assets()).map(({ assetNum }) => assetNum);
const buying = {
  customerId: 'cus-harbour-default',
  orderType: 'new_buy',
  licenseType: 'softkey',
  assets: [{ assetNos: ['8600000001'], products: [{ productUri: 'a.b' }] }],
};

const cloud = { customerId: 'cus-acme', licenseType: 'cloud_account' };
const placed = { channelCode: 'crm', channelOrderId: 'SO-1', licenseOrderId: 'lic-1' };
const customer = { customerId: 'cus-acme', channelCode: 'crm', customerName: 'Acme' };
const ann = { id: '11', globalId: 'mem-ann', userId: '12', userName: 'ann@acme', name: 'Ann' };

/** The smallest company for a test: one employee, one asset with one product. */
const company: Record<string, any> = {
  enterprises: [{ globalId: 'ent-acme', enterpriseId: '1', name: 'Acme', suffix: '@acme' }],
  customers: [{ ...customer, enterpriseGlobalId: 'ent-acme', isDefault: true }],
  employees: [{ ...ann, enterpriseGlobalId: 'ent-acme' }],
  assets: [
    {
      ...cloud,
      id: 'ast-1',
      assetNum: '8000000001',
      grantable: true,
      limitEndTime: '2099-01-01T00:00:00Z',
    },
  ],
  orders: [{ ...cloud, ...placed }],
  products: [{ ...cloud, ...placed, id: 'prd-1', assetId: 'ast-1', productUri: 'draft.pro' }],
};

describe('the state that is put', () => {
  it('takes the place of all data, with defaults for what it leaves out', async () => {
    const { status, body } = await test.control('PUT', '/state', company);
    expect(status).toBe(200);
    expect(body).toEqual(await test.state());
    expect(body.merchandises).toEqual([]);
    expect(body.assets).toMatchObject([
      { id: 'ast-1', limitEndTime: Date.UTC(2099, 0, 1), freezing: false, lentLock: false },
    ]);
    expect(
      await test.call('listAssets', { parameters: { enterpriseGlobalId: 'ent-harbour' } }),
    ).toMatchObject({ code: '13004' });
    const users = await test.memberHeaders('ann@acme');
    const { data } = await test.call('listAssetProducts', {
      parameters: { assetId: 'ast-1' },
      headers: users,
      user: 'ann@acme',
    });
    expect(data).toMatchObject({ productInstanceList: [{ id: 'prd-1', activateFlag: true }] });
  });

  it('can be what was shown, and new ids are then not those that it has', async () => {
    const [first] = (await test.order([buying])).data as { licenseOrderId: string }[];
    const shown = await test.state();
    expect((await test.control('PUT', '/state', shown)).status).toBe(200);
    expect(await test.state()).toEqual(shown);
    const [second] = (await test.order([buying])).data as { licenseOrderId: string }[];
    expect(second?.licenseOrderId).not.toBe(first?.licenseOrderId);
    expect((await test.state()).orders).toHaveLength(shown.orders.length + 1);
  });

  const changed = (collection: string, changes: object): object => ({
    ...company,
    [collection]: [{ ...company[collection][0], ...changes }],
  });

  const twice = (changes: object): object => ({
    ...company,
    assets: [company['assets'][0], { ...company['assets'][0], ...changes }],
  });

  it.each<[string, unknown, string, string]>([
    ['an unknown collection', { asset: [] }, 'body.asset', 'known: enterprises, customers'],
    ['no array', { assets: {} }, 'body.assets', 'must be an array'],
    ['an unknown field', changed('assets', { frozen: true }), 'body.assets[0].frozen', 'freezing'],
    ['a missing field', { assets: [{ id: 'a' }] }, 'body.assets[0].assetNum', 'is required'],
    ['a wrong type', changed('assets', { locked: 1 }), 'body.assets[0].locked', 'must be true or false'],
    ['a wrong word', changed('assets', { licenseType: 'paper' }), 'body.assets[0].licenseType', 'usbkey'],
    ['a wrong time', changed('assets', { limitEndTime: 'noon' }), 'body.assets[0].limitEndTime', '1970'],
    [
      'a wrong row in a row',
      changed('assets', { extensions: [{ extendCode: 'a', value: 'b' }] }),
      'body.assets[0].extensions[0].value',
      'extendCode, extendValue',
    ],
    ['a key twice', twice({}), 'body.assets[1]', 'ast-1'],
    ['a number twice', twice({ id: 'ast-2' }), 'body.assets[0].assetNum', 'the number of two assets'],
    [
      'an owner who is not there',
      changed('assets', { customerId: 'c-0' }),
      'body.assets[0].customerId',
      'c-0',
    ],
    ['an order that waits', changed('orders', { state: 'waiting' }), 'body.orders[0].state', 'done, failed'],
    ['an id that is no text', changed('orders', { customerId: 7 }), 'body.orders[0].customerId', 'a string'],
  ])('with %s is refused, and nothing changes', async (_what, body, field, problem) => {
    const before = await test.state();
    const answer = await test.control('PUT', '/state', body);
    expect([answer.status, answer.body.field]).toEqual([400, field]);
    expect(answer.body.error).toContain(problem);
    expect(await test.state()).toEqual(before);
  });
});

describe('a row', () => {
  it.each([
    ['assets/ast-1009', { freezing: true, online: true, memberGlobalId: 'mem-harbour-bo' }],
    ['products/prd-5001-2', { trial: 0, trialEndTime: null, limitConcurrent: 7 }],
    ['employees/3002', { online: false, remark: null }],
    ['enterprises/ent-meridian', { trialMemberLimit: null }],
  ])('of any collection is changed in the named fields: %s', async (path, changes) => {
    const [collection = '', id = ''] = path.split('/');
    const before = await test.state();
    const { status, body } = await test.control('PATCH', `/state/${path}`, changes);
    expect(status).toBe(200);
    const row = before[collection].find((one: any) => Object.values(one).includes(id));
    expect(body).toEqual({ ...row, ...changes });
    const after = await test.state();
    expect(after[collection]).toContainEqual(body);
    expect({ ...after, [collection]: [] }).toEqual({ ...before, [collection]: [] });
  });

  it('shows through the operations at once', async () => {
    await test.control('PATCH', '/state/assets/ast-1001', {
      freezing: true,
      limitEndTime: 1_700_000_000_000,
    });
    const asset = (await test.assets()).find(({ id }) => id === 'ast-1001');
    expect(asset).toMatchObject({ freezing: true, limitEndTime: 1_700_000_000_000 });
    await test.control('PATCH', '/state/employees/3001', { password: 'another-one' });
    expect(await test.logIn('admin@harbour')).toBe(400);
    expect(await test.logIn('admin@harbour', 'another-one')).toBe(200);
    expect(JSON.stringify(await test.state())).not.toContain('another-one');
  });

  it.each<[string, unknown, number, string | undefined, string]>([
    ['asset/ast-1001', {}, 404, undefined, 'known: enterprises, customers'],
    ['assets/ast-0', {}, 404, undefined, 'no row ast-0 in assets'],
    ['assets/ast-1001', { locked: true, freezing: 'yes' }, 400, 'body.freezing', 'true or false'],
    ['assets/ast-1001', { id: 'ast-1' }, 400, 'body.id', 'cannot be changed'],
    ['assets/ast-1001', { locked: true, customerId: 'cus-0' }, 400, 'body.customerId', 'cus-0'],
    ['assets/ast-1001', { lentInto: 'ast-1002' }, 400, 'body.lentInto', 'must be a lent lock'],
    ['assets/ast-1001', { lentToMember: 'mem-harbour-bo' }, 400, 'body.lentToMember', 'no lent lock'],
    ['employees/3002', { userName: 'admin@harbour' }, 400, 'body.userName', 'two employees'],
    ['assets/%ff', {}, 400, 'path', 'percent-encoded'],
  ])('%s with %j is refused, and nothing changes', async (path, changes, status, field, problem) => {
    const before = await test.state();
    const answer = await test.control('PATCH', `/state/${path}`, changes);
    expect([answer.status, answer.body.field]).toEqual([status, field]);
    expect(answer.body.error).toContain(problem);
    expect(await test.state()).toEqual(before);
  });

  it('of an order that waits may become failed, and the order then has no effect', async () => {
    const { data } = await test.order([buying], { syncMode: 'async' });
    const [{ licenseOrderId }] = data as [{ licenseOrderId: string }];
    const path = `/state/orders/${licenseOrderId}`;
    expect((await test.control('PATCH', path, { state: 'done' })).body.field).toBe('body.state');
    const failed = await test.control('PATCH', path, {
      state: 'failed',
      failure: 'the printer is out of paper',
    });
    expect(failed.body).toMatchObject({ state: 'failed' });
    await test.control('PUT', '/clock', { advanceMs: ASYNC_ORDER_MS });
    expect(await numbers()).not.toContain('8600000001');
    expect((await test.state()).orders.at(-1)).toMatchObject({ failure: 'the printer is out of paper' });
  });
});

describe('a snapshot', () => {
  it('brings back data, passwords, orders under way, ids and the clock, as often as wanted, also after a reset', async () => {
    await test.advance(86_400_000);
    await test.control('PATCH', '/state/employees/3001', { password: 'another-one' });
    await test.order([buying], { syncMode: 'async' });
    const before = [await test.state(), await test.commits()];
    expect(await test.control('POST', '/snapshots/one', undefined)).toEqual({
      status: 200,
      body: { name: 'one' },
    });
    expect((await test.control('GET', '/snapshots')).body).toEqual({ snapshots: ['one'] });
    await test.order([{ ...buying, assets: [{ products: [{ productUri: 'c.d' }] }] }]);
    for (const between of ['POST /reset', 'PUT /state']) {
      const [method = '', path = ''] = between.split(' ');
      await test.control(method, path, method === 'PUT' ? company : undefined);
      expect((await test.control('POST', '/snapshots/one/restore')).status).toBe(200);
      expect([await test.state(), await test.commits()]).toEqual(before);
      expect(await test.logIn('admin@harbour', 'another-one')).toBe(200);
      const { body } = await test.control('GET', '/clock');
      expect(Date.parse(body.now) - Date.now()).toBeGreaterThan(86_000_000);
    }
    await test.control('PUT', '/clock', { advanceMs: ASYNC_ORDER_MS });
    expect((await test.state()).assets.map(({ assetNum }: any) => assetNum)).toContain('8600000001');
    expect((await test.control('DELETE', '/snapshots/one')).status).toBe(204);
    expect((await test.control('GET', '/snapshots')).body).toEqual({ snapshots: [] });
  });

  it('that does not exist is 404 and names those that do; a wrong name is 400', async () => {
    await test.control('POST', '/snapshots/here');
    const missing = await test.control('POST', '/snapshots/there/restore');
    expect([missing.status, missing.body.error]).toEqual([404, 'no snapshot there; known: here']);
    expect((await test.control('DELETE', '/snapshots/there')).status).toBe(404);
    const wrong = await test.control('POST', '/snapshots/a%20b');
    expect([wrong.status, wrong.body.field]).toEqual([400, 'name']);
    await test.control('DELETE', '/snapshots/here');
  });

  it('is refused beyond the hundredth, and an earlier one may be taken again', async () => {
    const other = await PlatformClient.start();
    for (let place = 1; place <= 100; place++) await other.control('POST', `/snapshots/s${place}`);
    expect((await other.control('POST', '/snapshots/more')).body.field).toBe('name');
    expect((await other.control('POST', '/snapshots/s1')).status).toBe(200);
    await other.close();
  });
});

describe('a state given at the start', () => {
  it('takes the place of the seed, also after a reset', async () => {
    const own = await PlatformClient.start({ state: company });
    await own.control('PATCH', '/state/assets/ast-1', { locked: true });
    await own.control('POST', '/reset');
    const { body } = await own.control('GET', '/state');
    expect(body.assets).toMatchObject([{ id: 'ast-1', locked: false }]);
    expect(body.enterprises).toHaveLength(1);
    await own.close();
  });

  it('that is wrong stops the start', async () => {
    const wrong = { ...company, assets: [{ ...company['assets'][0], customerId: 'cus-0' }] };
    await expect(PlatformClient.start({ state: wrong })).rejects.toThrow(
      'state.assets[0].customerId must be',
    );
  });
});
