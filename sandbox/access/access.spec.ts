import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { PlatformClient, secret, useSandbox } from '../testing.ts';

const user = { username: 'visitor', password: secret() };
const trickySecret = `a:b c%d+e&f${secret()}ü`;

const test = useSandbox({ users: [user], tokenLifetimeSeconds: 120 });

const query = { channelCode: 'crm', channelCustomerId: 'CH-1001' };
const client = { grant_type: 'client_credentials', scope: 'auth_me' };

async function accessToken(form: Record<string, string>): Promise<string> {
  return String((await test.token(form)).body['access_token']);
}

const seeded = () => ({
  grant_type: 'password',
  username: 'admin@harbour',
  password: test.running.seedPassword,
});

describe('g_nonce', () => {
  it('is accepted once only, and must not be empty', async () => {
    const g_nonce = secret();
    expect((await test.call('queryCustomers', { query: { ...query, g_nonce } })).code).toBe(0);
    for (const wrong of [g_nonce, '']) {
      const answer = await test.call('queryCustomers', { query: { ...query, g_nonce: wrong } });
      expect(answer).toMatchObject({ status: 299, code: '70001', message: 'security check failed' });
    }
  });

  it('is used up by a call that is refused for its token', async () => {
    const once = { query: { ...query, g_nonce: secret() } };
    const headers = { authorization: 'Bearer nonsense' };
    expect((await test.call('queryCustomers', { ...once, headers })).code).toBe('60000');
    expect((await test.call('queryCustomers', once)).code).toBe('70001');
  });
});

describe('the application token', () => {
  const code = async () => (await test.call('queryCustomers', { query })).code;

  it('must be there, be known, be an application token and have the scope', async () => {
    const wrong = ['', 'Bearer x', 'Basic x'];
    for (const form of [client, seeded()]) wrong.push(`Bearer ${await accessToken(form)}`);
    for (const authorization of wrong) {
      const answer = await test.call('queryCustomers', { query, headers: { authorization } });
      expect([authorization, answer.code]).toEqual([authorization, '60000']);
    }
  });

  it('ends with its lifetime on the sandbox clock, and when it is revoked', async () => {
    await test.renew();
    await test.control('PUT', '/clock', { advanceMs: 60_000 });
    expect(await code()).toBe(0);
    await test.control('PUT', '/clock', { advanceMs: 60_000 });
    expect(await code()).toBe('60000');
    await test.renew();
    expect(await code()).toBe(0);
    const { body } = await test.control('POST', '/tokens/revoke', { scope: 'auth_order' });
    expect(body.revoked).toBeGreaterThan(0);
    expect(await code()).toBe('60000');
  });
});

it('JSON is announced by every order operation, a GET too, and by POST and PUT of the member center', async () => {
  const headers = { 'content-type': 'text/plain' };
  const message = 'Content-Type must be application/json';
  expect(await test.call('queryCustomers', { query, headers })).toMatchObject({ code: '13004', message });
  expect((await test.call('obtainAssetNums', { body: { size: 1 }, headers })).code).toBe('13004');
  expect((await test.call('listAssetNums', { headers })).code).toBe(0);
});

it('member operations need the application token twice and a user token', async () => {
  const url = `${test.running.url}/me/api/v1/enterprise/ent-harbour/members`;
  const app = await accessToken(client);
  const order = await accessToken({ ...client, scope: 'auth_order' });
  const userToken = await accessToken(seeded());
  const authorization = `Bearer ${app}`;
  for (const [expected, headers] of [
    ['60000', {}],
    ['60000', { authorization: `Bearer ${order}`, clientToken: app, userToken }],
    ['60000', { authorization, userToken }],
    ['60000', { authorization, clientToken: order, userToken }],
    ['60005', { authorization, clientToken: app }],
    ['60005', { authorization, clientToken: app, userToken: app }],
  ] as [string, Record<string, string>][]) {
    const response = await fetch(`${url}?g_nonce=${secret()}`, { headers });
    expect([headers, await response.json()]).toMatchObject([headers, { code: expected }]);
  }
});

describe('paths', () => {
  it('that are unknown are answered with 404, known ones with another method with 405', async () => {
    const unknown = await fetch(`${test.running.url}/order/api/order/v2/shellnums`);
    const nearest = { operation: 'obtainAssetNums', method: 'POST', path: '/order/api/order/v1/shellnums' };
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      { status: 404, error: 'no such path', nearest, help: '/__sandbox' },
    ]);
    for (const url of [`${test.running.url}/order/api/order/v1/shellnums`, test.running.tokenUrl]) {
      const wrong = await fetch(url);
      expect([url, wrong.status, wrong.headers.get('allow')]).toEqual([url, 405, 'POST']);
    }
  });

  it.each([
    ['GET', '/order/api/order/v1/assets/ent-harbour/list', 'listAssets'],
    ['GET', '/enterprise/ent-harbour/members', 'listMembers'],
  ])('that are nearly right name the nearest operation: %s %s', async (method, path, operation) => {
    const response = await fetch(test.running.url + path, { method });
    expect([response.status, await response.json()]).toMatchObject([404, { nearest: { operation } }]);
  });
});

describe('the token endpoint', () => {
  function raw(form: string, headers: Record<string, string> = {}): Promise<Response> {
    const body = `grant_type=client_credentials&scope=auth_me${form}`;
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    return fetch(test.running.tokenUrl, { method: 'POST', body, headers: { ...type, ...headers } });
  }

  function basic(key: string, appSecret: string): { authorization: string } {
    const pair = [key, appSecret].map((text) => encodeURIComponent(text).replaceAll('%20', '+')).join(':');
    return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
  }

  it('gives a client a bearer token of the requested scopes with `no-store`, and no refresh token', async () => {
    const { status, headers, body } = await test.token({ ...client, scope: 'auth_me auth_order auth_me' });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]{32}$/),
      token_type: 'Bearer',
      expires_in: 120,
      scope: 'auth_me auth_order',
    });
  });

  it('decodes key and secret of Basic after the base64', async () => {
    const other = await PlatformClient.start({ appKey: 'key:1', appSecret: trickySecret });
    const body = new URLSearchParams(client);
    const headers = basic('key:1', trickySecret);
    const response = await fetch(other.running.tokenUrl, { method: 'POST', body, headers });
    expect(response.status).toBe(200);
    await other.close();
  });

  it('refuses unknown clients with 401, and challenges those that used Basic', async () => {
    for (const [form, headers, challenge] of [
      ['', basic(test.appKey, 'wrong'), expect.stringMatching(/^Basic /)],
      ['', {}, null],
      ['&client_id=nobody&client_secret=nothing', {}, null],
    ] as const) {
      const response = await raw(form, headers);
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge]);
      expect(await response.json()).toMatchObject({ error: 'invalid_client' });
    }
  });

  it('refuses two ways of authentication, a repeated parameter, and a body that is no form', async () => {
    const both = `&client_id=${test.appKey}&client_secret=${test.appSecret}`;
    const json = { 'content-type': 'application/json' };
    for (const response of [
      await raw(both, basic(test.appKey, test.appSecret)),
      await raw(`&scope=auth_me${both}`),
      await raw('', json),
    ])
      expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  it('accepts a rotated secret and no longer the old one', async () => {
    const next = secret();
    await test.control('PUT', '/app-secrets', { secrets: [next] });
    expect((await test.token(client)).status).toBe(401);
    expect((await test.token({ ...client, client_secret: next })).status).toBe(200);
  });

  it.each<[Record<string, string>, string]>([
    [{}, 'invalid_request'],
    [{ grant_type: 'magic' }, 'unsupported_grant_type'],
    [{ grant_type: 'client_credentials' }, 'invalid_scope'],
    [{ grant_type: 'client_credentials', scope: 'auth_me auth_admin' }, 'invalid_scope'],
    [{ grant_type: 'password', username: 'x' }, 'invalid_request'],
    [{ grant_type: 'password', username: 'visitor', password: 'wrong' }, 'invalid_grant'],
    [{ grant_type: 'password', username: 'nobody', password: 'wrong' }, 'invalid_grant'],
    [{ grant_type: 'refresh_token', refresh_token: '' }, 'invalid_request'],
    [{ grant_type: 'refresh_token', refresh_token: 'x' }, 'invalid_grant'],
  ])('refuses %j with %s', async (form, error) => {
    const { status, body } = await test.token(form);
    expect([status, body['error']]).toEqual([400, error]);
  });

  it('logs in given users and seeded employees, and takes the new password after a change', async () => {
    const { body } = await test.token({ grant_type: 'password', ...user });
    expect(body).toMatchObject({ token_type: 'Bearer', refresh_token: expect.any(String) });
    expect(await test.logIn('dora@harbour')).toBe(200);
    const password = secret();
    await test.control('PUT', '/users', { username: 'dora@harbour', password });
    const logins = [await test.logIn('dora@harbour'), await test.logIn('dora@harbour', password)];
    expect(logins).toEqual([400, 200]);
  });

  it('takes a refresh token once, replaces it, and widens no scope', async () => {
    const first = await test.token({ grant_type: 'password', scope: 'auth_me', ...user });
    const refresh = { grant_type: 'refresh_token', refresh_token: String(first.body['refresh_token']) };
    expect((await test.token({ ...refresh, scope: 'auth_order' })).body['error']).toBe('invalid_scope');
    const second = await test.token(refresh);
    expect(second.status).toBe(200);
    expect(second.body['refresh_token']).not.toBe(first.body['refresh_token']);
    expect((await test.token(refresh)).body['error']).toBe('invalid_grant');
  });
});

describe('the profile', () => {
  const play = (profile: object) => test.control('PUT', '/profile', profile);

  it.each([
    ['any', secret(), ''],
    ['uuid', randomUUID(), secret()],
    ['digits', '123456789012345678', '1234567890123456789'],
    ['short', 'aZ09aZ09aZ09aZ09', 'aZ09aZ09aZ09aZ0'],
  ])('says which form a nonce has: %s', async (nonceForm, right, wrong) => {
    await play({ nonceForm });
    for (const [g_nonce, code] of [
      [wrong, '70001'],
      [right, 0],
    ] as const)
      expect((await test.call('queryCustomers', { query: { ...query, g_nonce } })).code).toBe(code);
  });

  it.each(['clientToken', 'userToken'])(
    'says whether %s has `Bearer` in front of the token',
    async (name) => {
      const own = await test.memberHeaders();
      const refusal = name === 'clientToken' ? '60000' : '60005';
      const withBearer = { [name]: `Bearer ${own[name]}` };
      expect((await test.call('listAssetNums', { headers: withBearer })).code).toBe(refusal);
      await play({ [name]: 'bearer' });
      expect((await test.call('listAssetNums', { headers: withBearer })).code).toBe(0);
      expect((await test.call('listAssetNums')).code).toBe(refusal);
      const [entry] = await test.journal('?operation=listAssetNums');
      expect(JSON.stringify(entry.headers)).not.toContain(own[name]);
    },
  );

  it('says whether a request for a token may have a scope', async () => {
    await play({ tokenScope: 'refused' });
    expect((await test.token(client)).body['error']).toBe('invalid_scope');
    const { status, body } = await test.token({ grant_type: 'client_credentials' });
    expect([status, body['scope']]).toEqual([200, 'auth_order auth_me']);
  });

  it('says what the answer with a token looks like', async () => {
    await play({ tokenEnvelope: 'data', tokenStatus: '201', tokenType: 'absent' });
    const { status, body } = await test.token(client);
    expect([status, body]).toEqual([
      201,
      {
        ...{ code: 0, message: 'success' },
        data: { access_token: expect.any(String), expires_in: 120, scope: 'auth_me' },
      },
    ]);
    await play({ tokenEnvelope: 'plain', tokenStatus: '200', tokenType: 'bearer' });
    expect((await test.token(client)).body['token_type']).toBe('bearer');
  });

  it.each(['200', '299'])('says how a token is refused: %s', async (tokenRefusals) => {
    await play({ tokenRefusals });
    for (const [form, code] of [
      [{ ...client, client_secret: 'wrong' }, '60000'],
      [{ ...client, scope: 'auth_admin' }, '60000'],
      [{ grant_type: 'password', username: 'visitor', password: 'wrong' }, '60005'],
      [{ grant_type: 'magic' }, '40000'],
    ] as const) {
      const { status, body } = await test.token(form);
      expect([status, body]).toEqual([
        Number(tokenRefusals),
        { code, message: 'no token', cause: expect.any(String) },
      ]);
    }
  });
});
