import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RawServer, writeEndlessly } from '../../test/support/raw-server.ts';
import { credential, RecordedLog, settings } from '../../test/support/settings.ts';
import { issueTokens, json, raw, TokenServer } from '../../test/support/token-server.ts';
import { Metrics } from '../observability/metrics.ts';
import { UpstreamPools } from '../transport/upstream-pools.ts';
import type { AccessToken } from './principal.ts';
import { TokenEndpoint } from './token.endpoint.ts';
import { TokenFailure } from './token-failure.ts';

let server: TokenServer;
let elsewhere: TokenServer;
const pools: UpstreamPools[] = [];

beforeAll(async () => {
  [server, elsewhere] = await Promise.all([TokenServer.start(), TokenServer.start()]);
});
beforeEach(() => {
  server.requests.length = 0;
  elsewhere.requests.length = 0;
  server.answer = issueTokens;
});
afterAll(async () => {
  await Promise.all(pools.map((each) => each.onApplicationShutdown()));
  await Promise.all([server.close(), elsewhere.close()]);
});

function endpoint(environment: Record<string, string> = {}): TokenEndpoint {
  const { upstream } = settings({ UPSTREAM_TOKEN_URL: server.url, ...environment });
  const own = new UpstreamPools(upstream, new Metrics());
  pools.push(own);
  return new TokenEndpoint(upstream, own, new RecordedLog().files);
}

const request = (of = endpoint()): Promise<AccessToken> =>
  of.request({ kind: 'application', scope: 'auth_order' });

async function failureOf(of = endpoint()): Promise<TokenFailure> {
  const outcome = await request(of).catch((error: unknown) => error);
  if (outcome instanceof TokenFailure) return outcome;
  throw new Error('was no token failure', { cause: outcome });
}

// The key contains characters that Basic authentication and forms have to encode.
const key = `${credential()}:+%/ é&=`;
const secret = `${credential()}:+%/ é&=?#`;

describe('a token request', () => {
  it('is one form post with the scope', async () => {
    expect((await request()).value).toBe('access_token_1');
    const [sent] = server.requests;
    expect(server.requests).toHaveLength(1);
    expect(sent?.method).toBe('POST');
    expect(sent?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
    expect(sent?.form.get('grant_type')).toBe('client_credentials');
    expect(sent?.form.get('scope')).toBe('auth_order');
  });

  it('keeps the query of the URL', async () => {
    const UPSTREAM_TOKEN_URL = `${server.url}?tenant=a%20b&api-version=1`;
    for (const UPSTREAM_TOKEN_AUTH of ['basic', 'body'])
      await request(endpoint({ UPSTREAM_TOKEN_URL, UPSTREAM_TOKEN_AUTH }));
    const [target, form] = ['/oauth/token?tenant=a%20b&api-version=1', 'client_credentials'];
    expect(server.requests.map((sent) => [sent.target, sent.form.get('grant_type')])).toEqual([
      ...[
        [target, form],
        [target, form],
      ],
    ]);
  });

  it('for a user has the scope that is configured for users, and else none', async () => {
    const login = (environment: Record<string, string>) => endpoint(environment).login('anna', credential());
    await login({});
    await login({ UPSTREAM_USER_SCOPE: 'auth_me openid' });
    const forms = server.requests.map(({ form }) => [form.get('grant_type'), form.get('scope')]);
    expect(forms).toEqual([
      ['password', null],
      ['password', 'auth_me openid'],
    ]);
  });

  it('carries them in the body where that is configured, and in no header', async () => {
    await request(
      endpoint({ UPSTREAM_TOKEN_AUTH: 'body', UPSTREAM_APP_KEY: key, UPSTREAM_APP_SECRET: secret }),
    );
    const [sent] = server.requests;
    expect(sent?.form.get('client_id')).toBe(key);
    expect(sent?.form.get('client_secret')).toBe(secret);
    expect(sent?.headers.authorization).toBeUndefined();
  });
});

describe('a token that arrives', () => {
  it('is accepted as Bearer, without a type, and with members of its own, null or not', async () => {
    for (const members of [
      {},
      { token_type: 'Bearer', uid: 12345678901234567n.toString(), nested: { a: [1.5] } },
      { token_type: null, scope: null, refresh_token: null, id_token: null },
    ]) {
      server.answer = (response) =>
        json(response, { access_token: 'access_token_9', expires_in: 3600, ...members });
      const token = { value: 'access_token_9', usableMs: 3_240_000 };
      expect([members, await request()]).toEqual([members, expect.objectContaining(token)]);
    }
  });

  const oddFields: object[] = [
    ...['', 5, [], {}, true, null].map((odd) => ({ refresh_token: odd })),
    ...[['auth_me', 'auth_order'], 5, {}, '', null].map((odd) => ({ scope: odd })),
    ...['bearer', 'BEARER', 'mac', '', 5, [], null].map((odd) => ({ token_type: odd })),
    ...['soon', [], {}, false, ''].map((odd) => ({ expires_in: odd })),
    ...['not a JWT', '', 5].map((odd) => ({ id_token: odd })),
    { error: null, code: 0, message: '', data: null },
    { code: 200, data: [], error: '' },
    { user: { roles: [[[[[[[[[['admin']]]]]]]]]] }, uid: 12345678901234567n.toString(), jti: 1.5 },
  ];
  it('is taken whatever the fields beside it look like, at the top and in `data`', async () => {
    for (const fields of oddFields) {
      const token = { access_token: 'access_token_9', ...fields };
      for (const body of [token, { code: 0, message: 'success', data: token }, { code: '0', data: token }]) {
        server.answer = (response) => json(response, body);
        const { value, refreshToken } = await request();
        expect([body, value, refreshToken]).toEqual([body, 'access_token_9', undefined]);
      }
    }
  });

  it.each([200, 201, 202, 299])('is taken with HTTP %i and any type of content', async (status) => {
    for (const type of ['application/json', 'text/plain', 'text/html;charset=UTF-8', 'nonsense']) {
      server.answer = (response) => raw(response, '{"access_token":"a"}', status, { 'content-type': type });
      expect([type, (await request()).value]).toEqual([type, 'a']);
    }
  });

  it('brings a refresh token along from where it is itself', async () => {
    const [outer, inner] = [credential(), credential()];
    const data = { access_token: 'a', refresh_token: inner, expires_in: '120' };
    server.answer = (response) => json(response, { code: 0, refresh_token: outer, expires_in: 5, data });
    expect(await request()).toMatchObject({ value: 'a', refreshToken: inner, usableMs: 60_000 });
  });

  it.each<[string, json: string, usableMs: number]>([
    ['missing', '', 240_000],
    ['text', ',"expires_in":"3600"', 3_240_000],
    ['30 digits', `,"expires_in":${'9'.repeat(30)}`, 77_760_000],
  ])('T8 with its life %s is used as long as it may be', async (_, life, usableMs) => {
    server.answer = (response) => json(response, `{"access_token":"a"${life}}`);
    expect((await request()).usableMs).toBe(usableMs);
  });
});

describe('credentials that are refused', () => {
  it.each([
    ['invalid_client', 401],
    ['invalid_grant', 400],
    ['invalid_scope', 400],
  ])('as %s with HTTP %i are rejected', async (error, status) => {
    server.answer = (response) => json(response, { error, error_description: `no, ${secret}` }, status);
    const failure = await failureOf();
    expect(failure).toMatchObject({ kind: 'rejected', reason: error });
    expect(failure.message).not.toContain(secret);
    expect(server.requests).toHaveLength(1);
  });

  it.each<[status: number, body: object, reason: string]>([
    [200, { code: '60000', message: 'no' }, 'invalid_client'],
    [299, { code: 60000, message: 'no', data: null }, 'invalid_client'],
    [299, { code: '60005', message: 'no', cause: '' }, 'invalid_grant'],
    [200, { code: 'invalid_grant', message: 'no' }, 'invalid_grant'],
    [200, { error: 'invalid_client' }, 'invalid_client'],
    [299, { error: 'invalid_grant', error_description: 'no' }, 'invalid_grant'],
    [200, { code: 401, data: { error: 'invalid_grant' } }, 'invalid_grant'],
    [400, { error: 'Bad Request', code: '60005' }, 'invalid_grant'],
    [401, { code: '10010', message: 'no' }, 'invalid_client'],
    [401, {}, 'invalid_client'],
  ])('with HTTP %i and %j are rejected as %s', async (status, body, reason) => {
    server.answer = (response) => json(response, body, status);
    expect(await failureOf()).toMatchObject({ kind: 'rejected', reason });
  });

  it('by a code that the profile teaches are those of the application, or of the user', async () => {
    server.answer = (response) => json(response, { code: 41007, message: 'no' }, 299);
    const config = settings({ UPSTREAM_TOKEN_URL: server.url }).upstream;
    const own = new UpstreamPools(config, new Metrics());
    pools.push(own);
    const of = new TokenEndpoint(config, own, new RecordedLog().files);
    const outcomes = () =>
      Promise.all(
        [request(of), of.login('anna', credential()), of.refresh(credential())].map((each) =>
          each.catch(({ kind, reason, code }: TokenFailure) => [kind, reason, code]),
        ),
      );
    const unknown = ['unavailable', 'error_response', '41007'];
    expect(await outcomes()).toEqual([unknown, unknown, unknown]);
    for (const module of ['order', 'member'] as const) {
      config.profile.replace({ readings: {}, codes: { [module]: { '41007': 'credentials' } } });
      expect(await outcomes()).toEqual([
        ['rejected', 'invalid_client', '41007'],
        ['rejected', 'invalid_grant', '41007'],
        ['rejected', 'invalid_grant', '41007'],
      ]);
    }
    config.profile.replace({ readings: {}, codes: { member: { '41007': 'busy' } } });
    expect(await outcomes()).toEqual([unknown, unknown, unknown]);
  });

  it('in unknown words count for a password, unless the endpoint itself failed', async () => {
    const of = endpoint();
    const isCounted = async (asked: Promise<AccessToken>) =>
      asked.then(
        () => undefined,
        ({ kind, ofPassword }: TokenFailure) => [kind, ofPassword],
      );
    const answers: [counts: boolean, number, string][] = [
      [true, 200, '{"code":"41007"}'],
      [true, 403, '{"error":"wrong password"}'],
      [false, 200, '{"code":"500"}'],
      [false, 400, '{"error":"temporarily_unavailable"}'],
      [false, 400, '<html>'],
      [false, 302, ''],
      [false, 200, '{"access_token":"a b"}'],
      [false, 429, '{"code":"41007"}'],
      [false, 503, '{"code":"41007"}'],
    ];
    for (const [counts, status, body] of answers) {
      server.answer = (response) => raw(response, body, status, {});
      const counted = await isCounted(of.login('anna', credential()));
      expect([status, body, counted]).toEqual([status, body, ['unavailable', counts]]);
      for (const other of [request(of), of.refresh(credential())])
        expect(await isCounted(other)).toEqual(['unavailable', false]);
    }
    server.answer = (response) => response.destroy();
    expect(await isCounted(of.login('anna', credential()))).toEqual(['unavailable', false]);
  });

  it('by a challenge are rejected', async () => {
    server.answer = (response) => raw(response, '', 401, { 'www-authenticate': 'Basic realm="user center"' });
    expect(await failureOf()).toMatchObject({ kind: 'rejected', reason: 'invalid_client' });
  });
});

describe('an endpoint that gives no token', () => {
  const jsonType = { 'content-type': 'application/json' };
  it.each<[string, number, body: string, headers: Record<string, string>]>([
    ['an error that may pass', 400, '{"error":"temporarily_unavailable"}', jsonType],
    ['an envelope', 200, '{"code":"500","message":"retry"}', jsonType],
    ['HTTP 502 in HTML', 502, '<html>', { 'content-type': 'text/html' }],
    ['HTML', 200, '<html>', { 'content-type': 'text/html' }],
    ['a list', 200, '[]', jsonType],
    ['a token that is a number', 200, '{"access_token":5}', jsonType],
    ['a token of two lines', 200, String.raw`{"access_token":"a\r\nb: c"}`, jsonType],
    ['two tokens', 200, '{"access_token":"a","access_token":"b"}', jsonType],
    ['too deep a response', 200, `{"access_token":"a","x":${'['.repeat(64)}${']'.repeat(64)}}`, jsonType],
    ['too large a response', 200, `{"access_token":"a","x":"${'x'.repeat(64 * 1024)}"}`, jsonType],
  ])('%s is unavailable', async (_, status, body, headers) => {
    server.answer = (response) => raw(response, body, status, headers);
    const failure = await failureOf();
    expect(failure.kind).toBe('unavailable');
    // The reason is a word of the protocol or of the gateway, never a text of the endpoint.
    expect(failure.reason).toMatch(/^[a-z_]{1,40}$/);
    if (status >= 500) expect(failure.reason).toBe('server_error');
  });

  it.each<[string, reason: string, code: string | undefined, (response: ServerResponse) => void]>([
    [
      'a code that is not known',
      'error_response',
      '41007',
      (to) => json(to, { code: '41007', message: secret }),
    ],
    ['a number that is not known', 'error_response', '500', (to) => json(to, { code: 500 }, 299)],
    ['a text as the code', 'error_response', undefined, (to) => json(to, { code: secret })],
    ['an error in other words', 'error_response', undefined, (to) => json(to, { error: secret }, 400)],
    ['success without a token', 'unusable_answer', undefined, (to) => json(to, { code: 0, data: null })],
    ['a token with no text', 'unusable_answer', undefined, (to) => json(to, { access_token: '' })],
    ['a token with spaces', 'unusable_token', undefined, (to) => json(to, { access_token: 'a b' })],
    ['HTML', 'unusable_answer', undefined, (to) => raw(to, '<html>', 200, { 'content-type': 'text/html' })],
    ['nothing', 'unusable_answer', undefined, (to) => raw(to, '', 204, {})],
    [
      'nothing with a length',
      'unusable_answer',
      undefined,
      (to) => raw(to, '', 200, { 'content-length': 0 }),
    ],
    ['half of it', 'unusable_answer', undefined, (to) => json(to, '{"access_token":"a"')],
    [
      'a token with a status of failure',
      'unusable_answer',
      undefined,
      (to) => json(to, { access_token: 'a' }, 404),
    ],
    [
      'a coding that is not what it says',
      'unusable_answer',
      undefined,
      (to) => raw(to, '{"access_token":"a"}', 200, { 'content-encoding': 'gzip' }),
    ],
    ['a broken connection', 'no_answer', undefined, (to) => to.destroy()],
  ])('%s is %s', async (_, reason, code, answer) => {
    server.answer = answer;
    const failure = await failureOf();
    expect(failure).toMatchObject({ kind: 'unavailable', reason, code });
    expect(JSON.stringify([failure.message, failure.logFields])).not.toContain(secret);
  });

  it('a decompression bomb is unavailable, and is not unpacked', async () => {
    const body = gzipSync(`{"access_token":"a","x":"${'x'.repeat(50 * 1024 * 1024)}"}`);
    server.answer = (response) =>
      raw(response, body, 200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    expect(await failureOf()).toMatchObject({ kind: 'unavailable', reason: 'answer_too_large' });
  });

  it('an endless response is unavailable, and the connection is closed', async () => {
    const gone = Promise.withResolvers<void>();
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.on('close', gone.resolve);
      const more = () => {
        while (response.write(' '.repeat(16 * 1024)));
      };
      response.on('drain', more);
      more();
    };
    expect(await failureOf()).toMatchObject({ kind: 'unavailable', reason: 'answer_too_large' });
    await gone.promise;
  });

  it('S27 a response with no end of interim responses is cut off', async () => {
    const endless = await RawServer.start();
    let sent = () => 0;
    endless.respond = (socket) => (sent = writeEndlessly(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'));
    const failure = await failureOf(endpoint({ UPSTREAM_TOKEN_URL: endless.origin }));
    expect(failure).toMatchObject({ kind: 'unavailable', reason: 'no_answer' });
    expect(sent()).toBeLessThan(16 * 1_048_576);
    await endless.close();
  });

  it('T18 a redirect is unavailable and not followed, since the body holds the secret', async () => {
    server.answer = (response) => raw(response, '', 307, { location: elsewhere.url });
    expect((await failureOf()).kind).toBe('unavailable');
    expect(elsewhere.requests).toEqual([]);
  });

  it.each<[string, number, string | undefined, number]>([
    ['as long as it says', 429, '600', 600],
    ['as long as it says', 503, '600', 600],
    ['no longer than an hour', 429, '1000000000', 3_600],
    ['a minute', 429, undefined, 60],
  ])('is left alone for %s (%i, Retry-After: %s)', async (_, status, given, retryAfter) => {
    const headers: Record<string, string> = given === undefined ? {} : { 'retry-after': given };
    server.answer = (response) => raw(response, '<html>', status, headers);
    expect(await failureOf()).toMatchObject({ kind: 'unavailable', retryAfter });
    server.answer = (response) => json(response, { error: 'slow_down' }, status, headers);
    expect(await failureOf()).toMatchObject({ kind: 'unavailable', retryAfter });
  });
});

describe('a failure of the endpoint, or of one principal', () => {
  it.each<[string, boolean, (response: ServerResponse) => void]>([
    ['a connection that breaks', true, (response) => response.destroy()],
    ['HTTP 429', true, (response) => raw(response, '', 429, {})],
    ['HTTP 503 with an error of the protocol', true, (response) => json(response, { error: 'busy' }, 503)],
    ['HTTP 500, which may concern one user', false, (response) => json(response, { error: 'oops' }, 500)],
    ['HTML with 200', false, (response) => raw(response, '<html>', 200, { 'content-type': 'text/html' })],
    ['refused credentials', false, (response) => json(response, { error: 'invalid_grant' }, 400)],
  ])("%s: the endpoint's is %s", async (_, ofEndpoint, answer) => {
    server.answer = answer;
    expect(await failureOf()).toMatchObject({ ofEndpoint });
  });
});

describe("an application's secret in a file", () => {
  const folder = mkdtempSync(join(tmpdir(), 'secret-'));
  const file = join(folder, 'secret');
  const watching: RecordedLog[] = [];
  afterEach(() => {
    for (const each of watching.splice(0)) each.files.onApplicationShutdown();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Returns an endpoint that accepts one secret. */
  const accept = (right: string) => {
    server.answer = (response, asked, count) =>
      asked.form.get('client_secret') === right
        ? issueTokens(response, asked, count)
        : json(response, { error: 'invalid_client' }, 401);
  };

  async function watched(first: string) {
    writeFileSync(file, `${first}\n`);
    const { upstream } = settings({
      UPSTREAM_TOKEN_URL: server.url,
      UPSTREAM_TOKEN_AUTH: 'body',
      UPSTREAM_APP_SECRET: '',
      UPSTREAM_APP_SECRET_FILE: file,
    });
    const own = new UpstreamPools(upstream, new Metrics());
    pools.push(own);
    const recorded = new RecordedLog();
    const made = new TokenEndpoint(upstream, own, recorded.files);
    made.onModuleInit();
    watching.push(recorded);
    return { endpoint: made, recorded };
  }

  const rewritten = async (recorded: RecordedLog, content: string, event = 'secret-reloaded') => {
    const told = recorded.next(event);
    writeFileSync(file, content);
    await told;
  };

  it('that changed before the platform knows it: the old one is tried as well, once', async () => {
    const [before, after] = [credential(), credential()];
    const { endpoint: of, recorded } = await watched(before);
    accept(before);
    await rewritten(recorded, after);
    expect((await request(of)).value).toBe('access_token_2');
    expect(server.requests.map(({ form }) => form.get('client_secret'))).toEqual([after, before]);
    accept(after);
    await request(of);
    accept('neither');
    expect(await failureOf(of)).toMatchObject({ reason: 'invalid_client' });
    // After the first success of the new secret the gateway does not try the old one.
    expect(server.requests.map(({ form }) => form.get('client_secret'))).toEqual([
      after,
      before,
      after,
      after,
    ]);
  });

  it('T17 that changed twice before the platform knows it: the one that has worked is tried, and not the one between', async () => {
    const [before, wrong, after] = [credential(), credential(), credential()];
    const { endpoint: of, recorded } = await watched(before);
    accept(before);
    await rewritten(recorded, wrong);
    await request(of);
    await rewritten(recorded, after);
    await request(of);
    accept(after);
    await request(of);
    expect(server.requests.map(({ form }) => form.get('client_secret'))).toEqual([
      ...[wrong, before],
      ...[after, before],
      after,
    ]);
  });

  it('T17 that is changed back: the one between is tried as well, because the platform may have taken it', async () => {
    const [before, between] = [credential(), credential()];
    const { endpoint: of, recorded } = await watched(before);
    await rewritten(recorded, between);
    await rewritten(recorded, before);
    accept(between);
    expect((await request(of)).value).toBe('access_token_2');
    expect(server.requests.map(({ form }) => form.get('client_secret'))).toEqual([before, between]);
  });

  it('that changed during a request: the success of the old one does not make the gateway forget it', async () => {
    const [before, after] = [credential(), credential()];
    const { endpoint: of, recorded } = await watched(before);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    server.answer = async (...args) => {
      isAsked();
      await released;
      await issueTokens(...args);
    };
    const slow = request(of);
    await asked;
    await rewritten(recorded, after);
    release();
    await slow;
    accept(before);
    expect((await request(of)).value).toBe('access_token_3');
    expect(server.requests.map(({ form }) => form.get('client_secret'))).toEqual([before, after, before]);
  });

  it('that is emptied leaves the last one in use', async () => {
    const only = credential();
    const { endpoint: of, recorded } = await watched(only);
    accept(only);
    await rewritten(recorded, '\n', 'secret-rejected');
    expect((await request(of)).value).toBe('access_token_1');
    expect(recorded.files.refusedNow).toEqual([
      {
        file: 'UPSTREAM_APP_SECRET_FILE',
        reason: 'must be the path of a usable file: it is empty, or no UTF-8 text of one line',
      },
    ]);
    await rewritten(recorded, only);
    expect(recorded.files.refusedNow).toEqual([]);
  });
});
