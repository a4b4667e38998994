import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { get, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import { SteppedClock } from '../support/clock-shim.ts';
import { endings } from '../support/endings.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { AUDIENCE, Issuer } from '../support/issuer.ts';
import { RawServer } from '../support/raw-server.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { whenClosed } from '../support/socket.ts';

/** Risk 10 of the security design: forged callers with JWTs. API keys: test/faults/callers.faults.ts, K29. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'];
const CALLER = { azp: 'portal', scope: 'orders:read profile' };

const { ended } = endings();
let sandbox: TestSandbox;
let issuer: Issuer;
let handsOut: Issuer['answer'];
let gateway: TestGateway;
/** The forger's server, which forged tokens name as the source of keys. */
let sink: RawServer;

beforeAll(async () => {
  [sandbox, issuer, sink] = await Promise.all([TestSandbox.start(), Issuer.start(), RawServer.start()]);
  for (const alg of ALGORITHMS) await issuer.addKey(`of-${alg}`, alg);
  handsOut = issuer.answer;
  const entry = { scopes: [], enterprises: ['ent-harbour'], channels: ['crm'], users: ['default'] };
  gateway = await TestGateway.start(sandbox, issuer.environment, [
    { name: 'portal', ...entry, rateLimit: { requests: 100_000, perSeconds: 3_600 } },
    { name: 'nightly', ...entry },
  ]);
});
beforeEach(async () => {
  issuer.answer = handsOut;
  await sandbox.reset();
});
afterEach(() => {
  expect(sink.connections).toEqual([]);
  expect(issuer.requests.filter((path) => path !== '/keys')).toEqual([]);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([sink.close(), issuer.close(), sandbox.close()]);
});

const send = (token: string, path = ASSETS, at = gateway): Promise<TestAnswer> =>
  at.get(path, { key: null, headers: { authorization: `Bearer ${token}` } });
const base64 = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const now = () => Math.floor(Date.now() / 1_000);
const goodClaims = () => ({ iss: issuer.url, aud: AUDIENCE, exp: now() + 600, ...CALLER });

async function expectRefused(token: string, detail = ''): Promise<void> {
  const { status, body, headers } = await send(token);
  expect([status, body['code']]).toEqual([401, 'unauthenticated']);
  expect(body['detail']).toContain(detail);
  expect(headers.get('www-authenticate')).toBe(
    'ApiKey realm="licensing-gateway", Bearer realm="licensing-gateway", error="invalid_token"',
  );
  expect(await sandbox.calls()).toEqual([]);
}

describe('a token of the issuer', () => {
  it.each([
    ...ALGORITHMS.map((alg) => [alg, {}, { kid: `of-${alg}`, alg }] as const),
    ['typ JWT', {}, { typ: 'JWT' }],
    ['typ application/at+jwt', {}, { typ: 'application/AT+JWT' }],
    ['no typ', {}, { typ: undefined }],
    // The claims are as the issuers write them.
    ['the claims of Keycloak', { scope: 'openid orders:read', realm_access: { roles: ['x'] } }, {}],
    ['the claims of Auth0', { scope: 'openid orders:read', permissions: [], sub: 'x@clients' }, {}],
    ['the permissions of Auth0', { scope: undefined, permissions: ['orders:read'] }, {}],
    [
      'the claims of Cognito',
      { azp: undefined, client_id: 'portal', scope: `${AUDIENCE}/orders:read`, token_use: 'access' },
      { typ: undefined },
    ],
    ['the claims of Okta', { azp: undefined, cid: 'portal', scope: undefined, scp: ['orders:read'] }, {}],
    ['the claims of Entra ID, v2', { scope: undefined, scp: 'orders:read User.Read', roles: ['x'] }, {}],
    [
      'the claims of Entra ID, v1, for an application',
      { azp: undefined, appid: 'portal', appidacr: '1', scope: undefined, roles: ['orders:read'] },
      { typ: 'JWT' },
    ],
    ['the claims of Ping', { azp: undefined, client_id: 'portal', scope: ['openid', 'orders:read'] }, {}],
    ['sub, and no client', { azp: undefined, sub: 'portal' }, {}],
    ['an audience among others', { aud: ['other', AUDIENCE] }, {}],
    ['a clock that is 8 s ahead', { nbf: now() + 8 }, {}],
  ] as const)('is accepted with %s', async (_, claims, header) => {
    expect((await send(await issuer.token({ ...CALLER, ...claims }, header))).status).toBe(200);
  });

  it('has its own scopes, the grants and the limit of its entry, and its name in the log', async () => {
    const token = await issuer.token(CALLER);
    const { status, headers } = await send(token);
    expect([status, headers.get('ratelimit-policy')]).toEqual([200, '"default";q=100000;w=3600']);
    expect((await send(token, '/v1/enterprises/ent-meridian/assets')).status).toBe(403);
    const members = await send(token, '/v1/enterprises/ent-harbour/members');
    expect(members.body).toMatchObject({ code: 'forbidden', detail: 'The scope members:read is needed.' });
    const log = (await gateway.log()).join('\n');
    expect(log).toContain('"caller":"portal"');
    expect(log).not.toContain(token.split('.')[2]);
  });

  it.each<[what: string, claims: object, why: string]>([
    ['no claim for scopes', {}, 'has none of the claims `scope`, `scp`, `permissions`, `roles`.'],
    ['an empty scope, and roles', { scope: '', roles: ['orders:read'] }, 'The claim `scope` of the token'],
    ['others in scp, and permissions', { scp: ['x'], permissions: ['orders:read'] }, 'The claim `scp`'],
    ['null for a scope, and scp', { scope: null, scp: 'orders:read' }, 'The claim `scope`'],
    ['capitals', { scope: 'ORDERS:READ' }, 'The claim `scope`'],
    ['commas', { scope: 'orders:read,members:read' }, 'The claim `scope`'],
    ['the audience of another', { scope: 'billing/orders:read' }, 'The claim `scope`'],
    ['an object in roles', { roles: { 'orders:read': true } }, 'The claim `roles`'],
    ['lists in scp', { scp: [['orders:read']] }, 'The claim `scp`'],
  ])('with %s gets 403, which says why', async (_, claims, why) => {
    const refused = await send(await issuer.token({ azp: 'portal', ...claims }));
    expect([refused.status, refused.body['code']]).toEqual([403, 'forbidden']);
    expect(refused.body['detail']).toMatch(/^The scope orders:read is needed\. The /);
    expect(refused.body['detail']).toContain(why);
  });

  it('gets no more rights by roles than it was issued for', async () => {
    const token = await issuer.token({ ...CALLER, roles: ['members:read'], permissions: ['members:read'] });
    const members = await send(token, '/v1/enterprises/ent-harbour/members');
    expect(members.body).toMatchObject({ code: 'forbidden', detail: 'The scope members:read is needed.' });
  });

  it('follows the callers file, also when the gateway has verified it before', async () => {
    const token = await issuer.token({ ...CALLER, azp: 'nightly' });
    expect((await send(token)).status).toBe(200);
    const change = async (act: () => void) => {
      const reloaded = gateway.logged('callers-reloaded');
      act();
      gateway.writeCallers();
      await reloaded;
    };
    const entry = gateway.callers.find(({ name }) => name === 'nightly');
    await change(() => entry && (entry.enterprises = ['ent-meridian']));
    expect((await send(token)).status).toBe(403);
    await change(() => (gateway.callers = gateway.callers.filter(({ name }) => name !== 'nightly')));
    expect((await send(token)).status).toBe(401);
  });
});

describe('S10 a forged token is 401, and the server that it names gets no request:', () => {
  /** Signed with the forger's key, which may be in its header. */
  const byForger = async (header: object, claims: object = {}, isKeyShown = false): Promise<string> => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const shown = isKeyShown && { jwk: await exportJWK(publicKey) };
    return new SignJWT({ ...goodClaims(), ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'key-1', ...shown, ...header })
      .sign(privateKey);
  };
  const publicPem = async () => {
    const key = issuer.keys.get('key-1');
    if (!key) throw new Error('no key');
    return exportSPKI(key.publicKey);
  };
  const byHmac = (secret: string): string => {
    const text = `${base64({ alg: 'HS256', kid: 'key-1' })}.${base64(goodClaims())}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const unsigned = (header: object) => `${base64(header)}.${base64(goodClaims())}.`;
  /** Header, claims and signature of a valid token, which the tests change. */
  const parts = async (): Promise<[string, string, string]> =>
    (await issuer.token(CALLER)).split('.') as [string, string, string];
  /** Signed by the issuer, with these claims or header fields. */
  const signed =
    (claims: object, header: object = {}) =>
    () =>
      issuer.token({ ...CALLER, ...claims }, { ...header });

  it.each<[string, () => string | Promise<string>, detail?: string]>([
    ['alg none', () => unsigned({ alg: 'none', kid: 'key-1' })],
    ['no signature', async () => `${(await parts()).slice(0, 2).join('.')}.`],
    ['HS256 by the public key as PEM', async () => byHmac(await publicPem())],
    [
      "another's key under the id of a known one",
      () => byForger({}, { exp: now() - 20, aud: 'billing' }),
      'not signed by a key of the issuer',
    ],
    ['a key of its own in jwk', () => byForger({}, {}, true)],
    ['jku', () => byForger({ jku: `${sink.origin}/keys`, kid: 'forged' })],
    ['jku, signed by the issuer', signed({}, { jku: 'http://forged.invalid' })],
    ['jwk, signed by the issuer', signed({}, { jwk: { kty: 'EC' } })],
    ['x5u, signed by the issuer', signed({}, { x5u: 'http://forged.invalid' })],
    ['x5c, signed by the issuer', signed({}, { x5c: ['MIIB'] })],
    [
      'an unknown critical extension',
      async () => {
        const [, claims, signature] = await parts();
        return `${base64({ alg: 'ES256', kid: 'key-1', crit: ['exp'], exp: 1 })}.${claims}.${signature}`;
      },
    ],
    ['an unknown key id', () => byForger({ kid: 'forged' }), 'not signed by a key of the issuer'],
    ['no key id', signed({}, { kid: undefined }), 'header of the token'],
    ['a key id that is no text', () => unsigned({ alg: 'ES256', kid: 1 })],
    ['a type that is no access token', signed({}, { typ: 'logout+jwt' }), 'header of the token'],
    ['the issuer with a slash', () => signed({ iss: `${issuer.url}/` })(), '`iss` of the token'],
    ['another audience', signed({ aud: 'billing' }), '`aud` of the token'],
    ['no audience', signed({ aud: undefined })],
    ['a time that is over', signed({ exp: now() - 20 }), '`exp` is over'],
    ['no end', signed({ exp: undefined }), '`exp` must be a number'],
    ['an end in text', signed({ exp: String(now() + 600) })],
    ['a time that has not begun', signed({ nbf: now() + 60 }), '`nbf` lies ahead'],
    ['an unknown caller', signed({ azp: 'stranger' }), 'no caller of that name'],
    ['a caller that is no text, before one that is', signed({ azp: ['portal'], sub: 'portal' })],
    [
      'a client_id that is null, before a subject',
      signed({ azp: undefined, client_id: null, sub: 'portal' }),
    ],
    ['a caller that every object has', signed({ azp: 'constructor' })],
    ['no caller', signed({ azp: undefined })],
    ['an appid of another, before a subject', signed({ azp: undefined, appid: 'stranger', sub: 'portal' })],
    ['a cid that is no text', signed({ azp: undefined, cid: 5, sub: 'portal' }), '`appid`, `cid`, `sub`'],
    [
      'other claims under the same signature',
      async () => {
        const [header, , signature] = await parts();
        return `${header}.${base64({ ...goodClaims(), scope: 'orders:write' })}.${signature}`;
      },
    ],
    ['a token in five parts', async () => `${await issuer.token(CALLER)}.a.b`],
    ['a header that is no JSON', async () => `${base64('{"alg":')}.${(await parts()).slice(1).join('.')}`],
    ['a word', () => 'x', 'not a signed JWT'],
    ['an API key', () => gateway.key, 'without `Bearer`'],
  ])(
    '%s; the response says it, and of a claim only where the issuer signed it',
    async (_, forge, detail = '') => {
      await expectRefused(await forge(), detail);
    },
  );

  it('a known key with an algorithm that is not its own', async () => {
    const key = issuer.keys.get('of-RS256');
    if (!key) throw new Error('no key');
    const { alg: _, ...jwk } = await exportJWK(key.privateKey);
    const by = async (alg: string) =>
      new SignJWT(goodClaims()).setProtectedHeader({ alg, kid: 'of-RS256' }).sign(await importJWK(jwk, alg));
    for (const alg of ['PS256', 'RS512']) await expectRefused(await by(alg));
    expect((await send(await by('RS256'))).status).toBe(200);
  });

  it('a session that has ended is no fault of a valid token: the challenge does not call it invalid', async () => {
    const token = await issuer.token({ ...CALLER, scope: 'members:read' });
    const headers = { authorization: `Bearer ${token}`, 'x-session-id': 'x'.repeat(22) };
    const answer = await gateway.get('/v1/enterprises/ent-harbour/members', { key: null, headers });
    expect([answer.status, answer.body['code']]).toEqual([401, 'session-expired']);
    expect(answer.headers.get('www-authenticate')).toBe(
      'ApiKey realm="licensing-gateway", Bearer realm="licensing-gateway"',
    );
  });

  it('a valid token beside a valid key: two credentials are refused', async () => {
    const token = await issuer.token(CALLER);
    const answer = await gateway.get(ASSETS, { headers: { authorization: `bearer ${token}` } });
    expect(answer.status).toBe(401);
  });
});

it('K48 a caller that hangs up while its token is verified is not counted, and its call is not made', async () => {
  const limited = { name: 'portal', enterprises: ['*'], rateLimit: { requests: 2, perSeconds: 3_600 } };
  const own = ended(await startInProcess(sandbox, issuer.environment, [limited]));
  const [asked, given] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  issuer.answer = async (response) => {
    asked.resolve();
    await given.promise;
    handsOut(response);
  };
  const token = await issuer.token(CALLER);
  const connected = once(own.app.getHttpServer() as Server, 'connection') as Promise<[Socket]>;
  const caller = get(`${own.url}${ASSETS}`, { agent: false, headers: { authorization: `Bearer ${token}` } });
  caller.on('error', () => undefined);
  const [socket] = await connected;
  await asked.promise;
  const closed = whenClosed(socket);
  caller.destroy();
  await closed;
  given.resolve();
  const { status, headers } = await send(token, ASSETS, own);
  expect([status, headers.get('ratelimit')]).toEqual([200, expect.stringContaining('r=1;')]);
  expect(await sandbox.journal('listAssets')).toHaveLength(1);
});

describe('without the keys of the issuer', () => {
  it('the gateway cannot check tokens: 503, nothing is sent, and callers with keys are served', async () => {
    issuer.answer = (response) => response.writeHead(500).end();
    const own = ended(
      await TestGateway.start(sandbox, issuer.environment, [{ name: 'portal', enterprises: ['*'] }]),
    );
    const refused = await send(await issuer.token(CALLER), ASSETS, own);
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({ code: 'dependency-unavailable', outcome: 'not_processed' });
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await sandbox.calls()).toEqual([]);
    expect((await own.get(ASSETS)).status).toBe(200);
    expect((await own.get('/health/live', { headers: { authorization: 'Bearer x.y.z' } })).status).toBe(200);
  });

  it('without a configured issuer the gateway accepts no token and does not offer them', async () => {
    const own = ended(await TestGateway.start(sandbox, {}, [{ name: 'portal', enterprises: ['*'] }]));
    const refused = await send(await issuer.token(CALLER), ASSETS, own);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'ApiKey realm="licensing-gateway"',
    ]);
  });
});

it('a token is accepted until it expires, also when it was verified before and the issuer is down', async () => {
  const clock = SteppedClock.make();
  const environment = { ...issuer.environment, ...clock.environment };
  const own = ended(await TestGateway.start(sandbox, environment, [{ name: 'portal', enterprises: ['*'] }]));
  const token = await issuer.token({ ...CALLER, exp: now() + 300 });
  expect((await send(token, ASSETS, own)).status).toBe(200);
  issuer.answer = (response) => response.writeHead(503).end();
  expect((await send(token, ASSETS, own)).status).toBe(200);
  clock.step(320_000);
  expect((await send(token, ASSETS, own)).status).toBe(401);
  clock.stop();
});
