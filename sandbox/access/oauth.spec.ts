import { describe, expect, it } from '@jest/globals';
import { PlatformClient, secret, useSandbox } from '../testing.ts';

const user = { username: 'visitor', password: secret() };
const trickySecret = `a:b c%d+e&f${secret()}ü`;

const test = useSandbox({ users: [user], tokenLifetimeSeconds: 120 });

function raw(body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(test.running.tokenUrl, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
}

function basic(key: string, appSecret: string): { authorization: string } {
  const encode = (text: string): string => encodeURIComponent(text).replaceAll('%20', '+');
  return { authorization: `Basic ${Buffer.from(`${encode(key)}:${encode(appSecret)}`).toString('base64')}` };
}

describe('client credentials', () => {
  it('give a bearer token of the requested scope with `no-store`, and no refresh token', async () => {
    const { status, headers, body } = await test.token({
      grant_type: 'client_credentials',
      scope: 'auth_me',
    });
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]{32}$/),
      token_type: 'Bearer',
      expires_in: 120,
      scope: 'auth_me',
    });
  });

  it('give several scopes at once', async () => {
    const { body } = await test.token({
      grant_type: 'client_credentials',
      scope: 'auth_me auth_order auth_me',
    });
    expect(body['scope']).toBe('auth_me auth_order');
  });

  it.each([{}, { scope: 'auth_admin' }, { scope: 'auth_me auth_admin' }])(
    'refuse the scope %j',
    async (scope) => {
      const { status, body } = await test.token({ grant_type: 'client_credentials', ...scope } as Record<
        string,
        string
      >);
      expect([status, body['error']]).toEqual([400, 'invalid_scope']);
    },
  );
});

describe('client authentication', () => {
  it('decodes key and secret of Basic after the base64', async () => {
    const other = await PlatformClient.start({ appKey: 'key:1', appSecret: trickySecret });
    const response = await fetch(other.running.tokenUrl, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'auth_me' }),
      headers: basic('key:1', trickySecret),
    });
    expect(response.status).toBe(200);
    await other.close();
  });

  it('challenges a client that used Basic with a wrong secret', async () => {
    const response = await raw('grant_type=client_credentials&scope=auth_me', basic(test.appKey, 'wrong'));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(/^Basic /);
    expect(await response.json()).toMatchObject({ error: 'invalid_client' });
  });

  it.each(['', '&client_id=nobody&client_secret=nothing'])(
    'responds with 401 without a challenge to a body of %j',
    async (more) => {
      const response = await raw(`grant_type=client_credentials&scope=auth_me${more}`);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBeNull();
    },
  );

  it('refuses two ways of authentication in one request', async () => {
    const response = await raw(
      `grant_type=client_credentials&scope=auth_me&client_id=${test.appKey}&client_secret=${test.appSecret}`,
      basic(test.appKey, test.appSecret),
    );
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  it('accepts a rotated secret and no longer the old one', async () => {
    const next = secret();
    await test.control('PUT', '/app-secrets', { secrets: [next] });
    const form = { grant_type: 'client_credentials', scope: 'auth_me' };
    expect((await test.token(form)).status).toBe(401);
    expect((await test.token({ ...form, client_secret: next })).status).toBe(200);
  });
});

describe('a token request', () => {
  it.each([
    ['no grant type', '', 'invalid_request'],
    ['an unknown grant type', '&grant_type=magic', 'unsupported_grant_type'],
    ['a repeated parameter', '&grant_type=client_credentials&scope=auth_me&scope=auth_me', 'invalid_request'],
    ['a password grant without a password', '&grant_type=password&username=x', 'invalid_request'],
    ['a refresh without a token', '&grant_type=refresh_token&refresh_token=', 'invalid_request'],
    ['an unknown refresh token', '&grant_type=refresh_token&refresh_token=x', 'invalid_grant'],
  ])('with %s is refused', async (_what, form, error) => {
    const response = await raw(`client_id=${test.appKey}&client_secret=${test.appSecret}${form}`);
    expect([response.status, await response.json()]).toMatchObject([400, { error }]);
  });

  it('must be form encoded', async () => {
    const response = await raw('{}', { 'content-type': 'application/json' });
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  it('must be a POST', async () => {
    const response = await fetch(test.running.tokenUrl);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('the password grant', () => {
  it.each([
    ['a given user', () => user],
    ['a seeded employee', () => ({ username: 'anna@harbour', password: test.running.seedPassword })],
  ])('logs in %s and gives a refresh token', async (_who, credentials) => {
    const { status, body } = await test.token({ grant_type: 'password', ...credentials() });
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', refresh_token: expect.any(String) });
  });

  it.each(['visitor', 'anna@harbour', 'nobody'])('refuses %s with a wrong password', async (username) => {
    const { status, body } = await test.token({ grant_type: 'password', username, password: secret() });
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('uses the new password after a change', async () => {
    const password = secret();
    await test.control('PUT', '/users', { username: 'dora@harbour', password });
    expect([await test.logIn('dora@harbour'), await test.logIn('dora@harbour', password)]).toEqual([
      400, 200,
    ]);
  });
});

describe('a refresh token', () => {
  it('serves once and is replaced', async () => {
    const first = await test.token({ grant_type: 'password', ...user });
    const refresh = { grant_type: 'refresh_token', refresh_token: String(first.body['refresh_token']) };
    const second = await test.token(refresh);
    expect(second.status).toBe(200);
    expect(second.body['refresh_token']).not.toBe(first.body['refresh_token']);
    expect((await test.token(refresh)).body['error']).toBe('invalid_grant');
  });

  it('cannot widen the scope', async () => {
    const { body } = await test.token({ grant_type: 'password', scope: 'auth_me', ...user });
    const refresh = {
      grant_type: 'refresh_token',
      refresh_token: String(body['refresh_token']),
      scope: 'auth_order',
    };
    expect((await test.token(refresh)).body['error']).toBe('invalid_scope');
  });
});
