import { describe, expect, it } from '@jest/globals';
import { PlatformClient, secret, useSandbox } from '../testing.ts';

const user = { username: 'visitor', password: secret() };

const test = useSandbox({ users: [user] });

const query = { channelCode: 'crm', channelCustomerId: 'CH-1001' };
const buying = { orderType: 'new_buy', licenseType: 'softkey', customerId: 'cus-harbour-default' };

describe('the journal', () => {
  it('shows each request and its response', async () => {
    await test.call('obtainAssetNums', { query: { g_nonce: 'nonce-1', extra: '1' }, body: { size: 2 } });
    expect(await test.journal()).toEqual([
      {
        id: expect.any(Number),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        operation: 'obtainAssetNums',
        method: 'POST',
        path: '/order/api/order/v1/shellnums',
        query: { g_nonce: 'nonce-1', extra: '1' },
        headers: expect.objectContaining({
          'content-type': 'application/json',
          authorization: expect.stringMatching(/^app:auth_order#\d+$/),
        }),
        body: { size: 2 },
        status: 200,
        code: '0',
        committed: true,
        fault: null,
      },
    ]);
  });

  it('tells refusals, reads, odd bodies and unknown paths apart, and keeps exact integers', async () => {
    await test.call('queryCustomers', { query, headers: { authorization: 'Bearer nonsense' } });
    await test.call('queryCustomers', { query });
    await test.call('obtainAssetNums', { body: '{"size"' });
    await test.send('obtainAssetNums', { body: '{"size":9007199254740993}' });
    await test.send('obtainAssetNums', { body: '['.repeat(50_000) + ']'.repeat(50_000) });
    await fetch(`${test.running.url}/elsewhere?a=1&a=2`);
    expect(await test.journal()).toMatchObject([
      { status: 299, code: '60000', committed: false, headers: { authorization: 'unknown' } },
      { status: 200, code: '0', committed: false, body: null },
      { status: 299, code: '13004', committed: false, body: '{"size"' },
      { body: { size: 9007199254740993n } },
      { code: '13004', body: '(nested deeper than 500)' },
      { status: 404, operation: null, path: '/elsewhere', query: { a: ['1', '2'] } },
    ]);
  });

  it('can be filtered by operation and by entry, and be emptied', async () => {
    await test.call('queryCustomers', { query });
    await test.assets();
    const [first, second] = await test.journal();
    expect(await test.journal(`?after=${first.id}`)).toEqual([second]);
    expect(await test.journal('?operation=queryCustomers')).toEqual([first]);
    expect((await test.control('DELETE', '/journal')).status).toBe(204);
    expect(await test.journal()).toEqual([]);
    expect((await test.control('GET', '/journal?after=x')).body.field).toBe('after');
  });

  it('keeps the latest entries only', async () => {
    const small = await PlatformClient.start({ journalLimit: 2 });
    for (let i = 0; i < 3; i++) await small.call('queryCustomers', { query });
    expect((await small.journal()).map(({ id }) => id)).toEqual([3, 4]);
    await small.close();
  });

  it('has no secret, password or token of any request or response', async () => {
    const app = await test.token({ grant_type: 'client_credentials', scope: 'auth_me' });
    const logIn = await test.token({ grant_type: 'password', ...user });
    const refreshToken = String(logIn.body['refresh_token']);
    const refreshed = await test.token({ grant_type: 'refresh_token', refresh_token: refreshToken });
    const clientToken = String(app.body['access_token']);
    const userToken = String(refreshed.body['access_token']);
    await fetch(`${test.running.url}/me/api/v1/enterprise/ent-harbour/members?g_nonce=${secret()}`, {
      headers: { authorization: `Bearer ${clientToken}`, clientToken, userToken },
    });
    const text = JSON.stringify(await test.journal());
    for (const hidden of [test.appSecret, user.password, refreshToken, clientToken, userToken])
      expect(text).not.toContain(hidden);
    const client = { grant_type: 'client_credentials', scope: 'auth_me', username: null };
    const usertoken = 'user:visitor#2';
    expect(await test.journal()).toMatchObject([
      { body: { ...client, client_auth: 'body' } },
      { body: { username: 'visitor' }, committed: true },
      { body: { grant_type: 'refresh_token' } },
      { headers: { authorization: 'app:auth_me#1', clienttoken: 'app:auth_me#1', usertoken } },
    ]);
  });

  it('hides the passwords of employees and shows the rest as it was sent', async () => {
    const parameters = { enterpriseGlobalId: 'ent-harbour', memberGlobalId: 'mem-harbour-anna' };
    const password = secret();
    const row = { userName: 'mia', name: 'Mia', passwordMobile: '13800000009' };
    const userList = [{ ...row, password }, { ...row, password: '' }, { ...row, password: 12345678 }, row];
    await test.call('addMembers', { parameters, body: { userList } });
    await test.call('resetPassword', { parameters, body: { password } });
    await test.call('resetPassword', { parameters, body: `{"password":"${password}"` });
    const products = [{ productUri: 'x.y', passwords: ['lock-code'] }];
    await test.order([{ ...buying, assets: [{ products }] }]);
    const calls = (await test.journal()).filter(({ operation }) => operation !== 'token');
    const shown = ['[password]', '', '[password]'].map((hidden) => ({ ...row, password: hidden }));
    expect(calls.slice(0, 3).map(({ body }) => body)).toEqual([
      { userList: [...shown, row] },
      { password: '[password]' },
      '(not JSON)',
    ]);
    expect(calls[3].body.orderList[0].assets[0].products).toEqual(products);
    expect(JSON.stringify(calls)).not.toContain(password);
  });
});

describe('reset', () => {
  it('goes back to the seed, its passwords and its clock, and keeps tokens', async () => {
    const before = await test.state();
    await test.order([{ ...buying, assets: [{ products: [{ productUri: 'x.y' }] }] }]);
    await test.call('createEnterprise', { body: { crmCustomerId: 'CRM-9', customerName: 'N' } });
    expect(await test.state()).not.toEqual(before);
    await test.control('PUT', '/users', { username: user.username, password: secret() });
    await test.control('PUT', '/clock', { now: '2099-01-01T00:00:00Z' });
    await test.control('POST', '/reset');
    expect([await test.state(), await test.commits(), await test.journal()]).toEqual([before, [], []]);
    expect((await test.call('queryCustomers', { query })).code).toBe(0);
    expect(await test.logIn(user.username, user.password)).toBe(200);
    expect((await test.control('GET', '/clock')).body.aheadMs).toBe(0);
  });

  it('ends the tokens too when the request says so', async () => {
    await test.control('POST', '/reset', { tokens: true });
    expect((await test.call('queryCustomers', { query })).code).toBe('60000');
    expect((await test.control('POST', '/reset', { token: true })).body.field).toBe('body.token');
  });
});

describe('the clock', () => {
  it('is set and moved, and stamps new records', async () => {
    const set = async (body: object) => (await test.control('PUT', '/clock', body)).body.now;
    expect(await set({ now: '2030-01-01T00:00:00Z' })).toMatch(/^2030-01-01T00:/);
    expect(await set({ advanceMs: -86_400_000 })).toMatch(/^2029-12-31T00:/);
    await test.renew();
    await test.call('updateCustomer', { body: { crmCustomerId: 'CRM-2001', address: 'x' } });
    const { customers } = await test.state();
    const changed = customers.find((one: any) => one.crmCustomerId === 'CRM-2001');
    expect(new Date(changed.updateTime).toISOString()).toMatch(/^2029-12-31T00:/);
  });

  it.each([
    {},
    { now: '+012026-01-01T00:00:00Z' },
    { advanceMs: 9e15 },
    { advanceMs: -9e12 },
    { now: '2030-01-01T00:00:00Z', advanceMs: 1 },
    { advanceMs: 'x' },
  ])('refuses %j', async (body) => {
    expect((await test.control('PUT', '/clock', body)).status).toBe(400);
  });
});

it('revoking picks tokens by user, and access and refresh tokens apart', async () => {
  const { body } = await test.token({ grant_type: 'password', ...user });
  const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
  const { username } = user;
  await test.control('POST', '/tokens/revoke', { username, tokens: 'access' });
  const again = await test.token(refresh);
  expect(again.status).toBe(200);
  const revoked = await test.control('POST', '/tokens/revoke', { username, tokens: 'refresh' });
  expect(revoked.body.revoked).toBeGreaterThan(0);
  const spent = { ...refresh, refresh_token: String(again.body['refresh_token']) };
  expect((await test.token(spent)).body['error']).toBe('invalid_grant');
  expect((await test.call('queryCustomers', { query })).code).toBe(0);
});

describe('the control side', () => {
  it('reports its health, and refuses unknown paths with the nearest call', async () => {
    expect(await test.control('GET', '/health')).toEqual({ status: 200, body: { status: 'ok' } });
    expect((await test.control('GET', '/constructor')).status).toBe(404);
    const { status, body } = await test.control('POST', '/snapshot/one');
    expect([status, body.error]).toEqual([404, expect.stringContaining('nearest: POST /snapshots/{name};')]);
  });

  it('lists its calls, as JSON and as a page whose links work', async () => {
    const { body } = await test.control('GET', '');
    const clock = { method: 'PUT', path: '/__sandbox/clock', does: expect.any(String) };
    expect(body.routes).toContainEqual(clock);
    const headers = { accept: 'text/html,*/*' };
    const response = await fetch(`${test.running.url}/__sandbox`, { headers });
    expect(response.headers.get('content-type')).toMatch(/^text\/html/);
    const links = [...(await response.text()).matchAll(/href="([^"]+)"/g)].map(([, link]) => link);
    expect(links).toContain('/__sandbox/state');
    for (const link of links) expect((await fetch(test.running.url + link)).status).toBe(200);
  });

  it.each([
    [{ maxPageSize: 0 }, 'body.maxPageSize'],
    [{ largerPages: 'drop' }, 'body.largerPages'],
    [{ pages: 50 }, 'body.pages'],
    [{ codes: { order: { '13017': 'denied' } } }, 'body.codes.order.13017'],
    [{ codes: { member: { '500': 'busy' } } }, 'body.codes.member.500'],
    [{ codes: { orders: {} } }, 'body.codes.orders'],
  ])('refuses a profile with %j, and changes nothing', async (profile, field) => {
    const { body: before } = await test.control('GET', '/profile');
    const { status, body } = await test.control('PUT', '/profile', { largerPages: 'cut', ...profile });
    expect([status, body.field]).toEqual([400, field]);
    expect((await test.control('GET', '/profile')).body).toEqual(before);
  });

  it('takes the codes of a profile as a file has them, and refuses a repeated order by one of them', async () => {
    const codes = { order: { E_TWICE: 'placed-before' } };
    const file = { version: 1, readings: { repeatedOrder: 'other-code' }, codes, notAsked: [] };
    expect((await test.control('PUT', '/profile', file)).body).toMatchObject({ codes });
    const channelOrderId = 'SO-twice';
    const items = [{ ...buying, assets: [{ products: [{ productUri: 'x.y' }] }] }];
    const first = await test.order(items, { channelOrderId });
    const again = await test.order(items, { channelOrderId });
    expect([first.code, again.code]).toEqual([0, 'E_TWICE']);
    await test.control('POST', '/reset');
    expect((await test.control('GET', '/profile')).body).toMatchObject({ codes: {} });
  });

  it('is missing when it is switched off', async () => {
    const closed = await PlatformClient.start({ controlEnabled: false });
    const { status, body } = await closed.control('GET', '/state');
    await closed.close();
    expect([status, body.error, body.help]).toEqual([404, 'no such path', undefined]);
  });
});
