import { describe, expect, it } from '@jest/globals';
import { secret, useSandbox } from '../testing.ts';

const test = useSandbox();

async function accessToken(form: Record<string, string>): Promise<string> {
  return String((await test.token(form)).body['access_token']);
}

const query = { channelCode: 'crm', channelCustomerId: 'CH-1001' };

describe('g_nonce', () => {
  it('is accepted once only', async () => {
    const nonce = secret();
    expect((await test.call('queryCustomers', { query: { ...query, g_nonce: nonce } })).code).toBe(0);
    const repeated = await test.call('queryCustomers', { query: { ...query, g_nonce: nonce } });
    expect(repeated).toMatchObject({ status: 299, code: '70001', message: 'security check failed' });
  });

  it('must not be empty', async () => {
    expect((await test.call('queryCustomers', { query: { ...query, g_nonce: '' } })).code).toBe('70001');
  });

  it('is used up by a call that is refused for its token', async () => {
    const nonce = secret();
    const bad = { query: { ...query, g_nonce: nonce }, headers: { authorization: 'Bearer nonsense' } };
    expect((await test.call('queryCustomers', bad)).code).toBe('60000');
    expect((await test.call('queryCustomers', { query: { ...query, g_nonce: nonce } })).code).toBe('70001');
  });
});

describe('the application token', () => {
  it('must be there, be known, be an application token and have the scope', async () => {
    const wrong = [
      '',
      'Bearer x',
      'Basic x',
      `Bearer ${await accessToken({ grant_type: 'client_credentials', scope: 'auth_me' })}`,
      `Bearer ${await accessToken({ grant_type: 'password', username: 'admin@harbour', password: test.running.seedPassword })}`,
    ];
    for (const authorization of wrong) {
      expect((await test.call('queryCustomers', { query, headers: { authorization } })).code).toBe('60000');
    }
  });

  it('ends with its lifetime on the sandbox clock', async () => {
    await test.renew();
    await test.control('PUT', '/clock', { advanceMs: 3_540_000 });
    expect((await test.call('queryCustomers', { query })).code).toBe(0);
    await test.control('PUT', '/clock', { advanceMs: 60_000 });
    expect((await test.call('queryCustomers', { query })).code).toBe('60000');
    await test.renew();
    expect((await test.call('queryCustomers', { query })).code).toBe(0);
  });

  it('ends when it is revoked', async () => {
    expect(
      (await test.control('POST', '/tokens/revoke', { scope: 'auth_order' })).body.revoked,
    ).toBeGreaterThan(0);
    expect((await test.call('queryCustomers', { query })).code).toBe('60000');
  });
});

describe('a body', () => {
  it('must be sent as JSON', async () => {
    const parts = { body: '{"size":1}', headers: { 'content-type': 'text/plain' } };
    expect((await test.call('obtainAssetNums', parts)).code).toBe('13004');
  });

  it('of JSON is announced by every order operation, a GET too, and by POST and PUT of the member center', async () => {
    const headers = { 'content-type': 'text/plain' };
    const parameters = { enterpriseGlobalId: 'ent-harbour' };
    expect(await test.call('queryCustomers', { query, headers })).toMatchObject({
      code: '13004',
      message: 'Content-Type must be application/json',
    });
    expect((await test.call('listAssets', { parameters, headers })).code).toBe('13004');
    expect((await test.call('listAssetNums', { parameters, headers })).code).toBe(0);
  });
});

describe('member operations', () => {
  const path = '/me/api/v1/enterprise/ent-harbour/members';

  async function code(headers: Record<string, string>): Promise<unknown> {
    const response = await fetch(`${test.running.url}${path}?g_nonce=${secret()}`, { headers });
    return ((await response.json()) as { code?: unknown }).code;
  }

  it('need the application token twice and a user token', async () => {
    const app = await accessToken({ grant_type: 'client_credentials', scope: 'auth_me' });
    const order = await accessToken({ grant_type: 'client_credentials', scope: 'auth_order' });
    const user = await accessToken({
      grant_type: 'password',
      username: 'admin@harbour',
      password: test.running.seedPassword,
    });
    const authorization = `Bearer ${app}`;
    expect(await code({})).toBe('60000');
    expect(await code({ authorization: `Bearer ${order}`, clientToken: app, userToken: user })).toBe('60000');
    expect(await code({ authorization, userToken: user })).toBe('60000');
    expect(await code({ authorization, clientToken: order, userToken: user })).toBe('60000');
    expect(await code({ authorization, clientToken: app })).toBe('60005');
    expect(await code({ authorization, clientToken: app, userToken: app })).toBe('60005');
  });
});

describe('paths', () => {
  it('that are unknown are answered with 404, known ones with another method with 405', async () => {
    const unknown = await fetch(`${test.running.url}/order/api/order/v2/shellnums`);
    const nearest = { operation: 'obtainAssetNums', method: 'POST', path: '/order/api/order/v1/shellnums' };
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      { status: 404, error: 'no such path', nearest, help: '/__sandbox' },
    ]);
    const wrong = await fetch(`${test.running.url}/order/api/order/v1/shellnums`);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each([
    ['GET', '/order/api/order/v1/assets/ent-harbour/list', 'listAssets'],
    ['GET', '/me/api/v1/enterprise/ent-harbour/asset/assetNum', 'listAssetNums'],
    ['GET', '/enterprise/ent-harbour/members', 'listMembers'],
    ['POST', '/me/api/v1/enterprise/ent-harbour/members/', 'addMembers'],
    ['DELETE', '/me/api/v1/enterprises/ent-harbour/member/mem-1', 'deleteMember'],
    ['PUT', '/me/api/v1/enterprise/ent-harbour/member/mem-1/password', 'resetPassword'],
    ['POST', '/order/api/order/v1/licenseOrder', 'batchOrder'],
  ])('that are nearly right name the nearest operation: %s %s', async (method, path, operation) => {
    const response = await fetch(test.running.url + path, { method });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ nearest: { operation } });
  });
});
