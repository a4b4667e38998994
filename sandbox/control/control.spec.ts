import { describe, expect, it } from '@jest/globals';
import { PlatformClient, secret, useSandbox } from '../testing.ts';

const user = { username: 'visitor', password: secret() };

const test = useSandbox({ users: [user] });

const query = { channelCode: 'crm', channelCustomerId: 'CH-1001' };

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

  it('tells refusals, reads, unreadable bodies and unknown paths apart', async () => {
    await test.call('queryCustomers', { query, headers: { authorization: 'Bearer nonsense' } });
    await test.call('queryCustomers', { query });
    await test.call('obtainAssetNums', { body: '{"size"' });
    await fetch(`${test.running.url}/elsewhere?a=1&a=2`);
    expect(await test.journal()).toMatchObject([
      { status: 299, code: '60000', committed: false, headers: { authorization: 'unknown' } },
      { status: 200, code: '0', committed: false, body: null },
      { status: 299, code: '13004', committed: false, body: '{"size"' },
      { status: 404, operation: null, path: '/elsewhere', query: { a: ['1', '2'] } },
    ]);
  });

  it('keeps exact integers of a body', async () => {
    await test.send('obtainAssetNums', { body: '{"size":9007199254740993}' });
    expect((await test.journal())[0].body).toEqual({ size: 9007199254740993n });
  });

  it('survives a body that is nested deeper than it can write', async () => {
    await test.send('obtainAssetNums', { body: '['.repeat(50_000) + ']'.repeat(50_000) });
    expect(await test.journal()).toMatchObject([{ code: '13004', body: '(nested deeper than 500)' }]);
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
    for (let i = 0; i < 7; i++) await small.call('queryCustomers', { query });
    const { body } = await small.control('GET', '/journal');
    expect(body.entries.map(({ id }: { id: number }) => id)).toEqual([7, 8]);
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
    for (const hidden of [test.appSecret, user.password, refreshToken, clientToken, userToken]) {
      expect(text).not.toContain(hidden);
    }
    const [first, second, third, call] = await test.journal();
    expect(first.body).toEqual({
      grant_type: 'client_credentials',
      scope: 'auth_me',
      username: null,
      client_auth: 'body',
    });
    expect([second.body.username, second.committed, third.body.grant_type]).toEqual([
      'visitor',
      true,
      'refresh_token',
    ]);
    expect(call.headers).toMatchObject({
      authorization: 'app:auth_me#1',
      clienttoken: 'app:auth_me#1',
      usertoken: 'user:visitor#2',
    });
  });

  it('hides the passwords of employees and shows the rest as it was sent', async () => {
    const parameters = { enterpriseGlobalId: 'ent-harbour', memberGlobalId: 'mem-harbour-anna' };
    const password = secret();
    const row = { userName: 'mia', name: 'Mia', passwordMobile: '13800000009' };
    const userList = [{ ...row, password }, { ...row, password: '' }, { ...row, password: 12345678 }, row];
    await test.call('addMembers', { parameters, body: { userList } });
    await test.call('resetPassword', { parameters, body: { password } });
    await test.call('resetPassword', { parameters, body: `{"password":"${password}"` });
    const members = (await test.journal()).filter(({ operation }) => operation !== 'token');
    expect(members.map(({ body }) => body)).toEqual([
      {
        userList: [
          { ...row, password: '[password]' },
          { ...row, password: '' },
          { ...row, password: '[password]' },
          row,
        ],
      },
      { password: '[password]' },
      '(not JSON)',
    ]);
    expect(JSON.stringify(await test.journal())).not.toContain(password);
    const products = [{ productUri: 'x.y', passwords: ['lock-code'] }];
    await test.order([
      {
        orderType: 'new_buy',
        licenseType: 'softkey',
        customerId: 'cus-harbour-default',
        assets: [{ products }],
      },
    ]);
    expect((await test.journal()).at(-1).body.orderList[0].assets[0].products).toEqual(products);
  });
});

describe('reset', () => {
  it('goes back to the seed and keeps tokens', async () => {
    const before = await test.state();
    const assets = [{ products: [{ productUri: 'x.y' }] }];
    await test.order([
      { orderType: 'new_buy', licenseType: 'softkey', customerId: 'cus-harbour-default', assets },
    ]);
    await test.call('bindCustomer', {
      body: { channelCode: 'crm', channelCustomerId: 'CH-9', customerName: 'N', enterpriseName: 'N' },
    });
    expect(await test.state()).not.toEqual(before);
    await test.control('POST', '/reset');
    expect(await test.state()).toEqual(before);
    expect(await test.commits()).toEqual([]);
    expect(await test.journal()).toEqual([]);
    expect((await test.call('queryCustomers', { query })).code).toBe(0);
  });

  it('ends the tokens too when the request says so', async () => {
    await test.control('POST', '/reset', { tokens: true });
    expect((await test.call('queryCustomers', { query })).code).toBe('60000');
    await test.renew();
    expect((await test.control('POST', '/reset', { token: true })).body.field).toBe('body.token');
  });

  it('forgets changed passwords and moved clocks', async () => {
    await test.control('PUT', '/users', { username: user.username, password: secret() });
    await test.control('PUT', '/clock', { now: '2099-01-01T00:00:00Z' });
    await test.control('POST', '/reset');
    expect((await test.token({ grant_type: 'password', ...user })).status).toBe(200);
    const { body } = await test.control('GET', '/clock');
    expect(Math.abs(Date.parse(body.now) - Date.now())).toBeLessThan(60_000);
  });
});

describe('the clock', () => {
  it('is set and moved, and stamps new records', async () => {
    expect((await test.control('PUT', '/clock', { now: '2030-01-01T00:00:00Z' })).body.now).toMatch(
      /^2030-01-01T00:00:/,
    );
    expect((await test.control('PUT', '/clock', { advanceMs: -86_400_000 })).body.now).toMatch(
      /^2029-12-31T00:00:/,
    );
    await test.renew();
    await test.call('updateCustomer', { body: { crmCustomerId: 'CRM-2001', address: 'x' } });
    const body = await test.state();
    const changed = body.customers.find((one: any) => one.crmCustomerId === 'CRM-2001');
    expect(new Date(changed.updateTime).toISOString()).toMatch(/^2029-12-31T00:00:/);
  });

  it.each([
    {},
    { now: 'noon' },
    { now: '+012026-01-01T00:00:00Z' },
    { advanceMs: 9e15 },
    { advanceMs: -9e12 },
    { now: '2030-01-01T00:00:00Z', advanceMs: 1 },
    { advanceMs: 'x' },
  ])('refuses %j', async (body) => {
    expect((await test.control('PUT', '/clock', body)).status).toBe(400);
  });
});

describe('revoking', () => {
  it('picks tokens by user, and access and refresh tokens apart', async () => {
    const { body } = await test.token({ grant_type: 'password', ...user });
    const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
    const username = user.username;
    await test.control('POST', '/tokens/revoke', { username, tokens: 'access' });
    const again = await test.token(refresh);
    expect(again.status).toBe(200);
    const revoked = await test.control('POST', '/tokens/revoke', { username, tokens: 'refresh' });
    expect(revoked.body.revoked).toBeGreaterThan(0);
    const spent = { ...refresh, refresh_token: String(again.body['refresh_token']) };
    expect((await test.token(spent)).body['error']).toBe('invalid_grant');
    expect((await test.call('queryCustomers', { query })).code).toBe(0);
  });
});

describe('the control side', () => {
  it('reports its health, and refuses unknown paths', async () => {
    expect(await test.control('GET', '/health')).toEqual({ status: 200, body: { status: 'ok' } });
    expect((await test.control('GET', '/nothing')).status).toBe(404);
    expect((await test.control('GET', '/constructor')).status).toBe(404);
  });

  it('lists its calls, as JSON and as a page whose links work', async () => {
    const { status, body } = await test.control('GET', '');
    expect(status).toBe(200);
    expect(body.routes).toContainEqual({
      method: 'PUT',
      path: '/__sandbox/clock',
      does: expect.any(String),
    });
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
    [{ products: 'all' }, 'body.products'],
    [{ pages: 50 }, 'body.pages'],
  ])('refuses a profile with %j, and changes nothing', async (profile, field) => {
    const { body: before } = await test.control('GET', '/profile');
    const { status, body } = await test.control('PUT', '/profile', { largerPages: 'cut', ...profile });
    expect([status, body.field]).toEqual([400, field]);
    expect((await test.control('GET', '/profile')).body).toEqual(before);
  });

  it('names the nearest call, and the nearest operation of a fault rule', async () => {
    const { body } = await test.control('POST', '/snapshot/one');
    expect(body.error).toContain('nearest: POST /snapshots/{name};');
    const rule = { operation: 'listAsset', action: { code: '500' } };
    expect((await test.control('POST', '/faults', rule)).body.error).toContain('nearest: listAssets;');
  });

  it('shows no password in its state', async () => {
    expect(JSON.stringify(await test.state())).not.toContain(test.running.seedPassword);
  });

  it('is missing when it is switched off', async () => {
    const closed = await PlatformClient.start({ controlEnabled: false });
    const { status, body } = await closed.control('GET', '/state');
    expect(status).toBe(404);
    expect(body.error).toBe('no such path');
    expect(body.help).toBeUndefined();
    await closed.close();
  });
});
