import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../test/support/redis.ts';
import { credential, RecordedLog, settings } from '../../test/support/settings.ts';
import { issueTokens, json, TokenServer } from '../../test/support/token-server.ts';
import { type RotatingSecret, Secret } from '../config/secret.ts';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { tokenConnections, UpstreamPools } from '../transport/upstream-pools.ts';
import type { Principal } from './principal.ts';
import { TokenEndpoint } from './token.endpoint.ts';
import { TokenFailure } from './token-failure.ts';
import { TokenManager } from './token.manager.ts';
import { TokenStore } from './token.store.ts';

const order: Principal = { kind: 'application', scope: 'auth_order' };
const member: Principal = { kind: 'application', scope: 'auth_me' };
/** A wait that is long enough for every test. A test that waits for it fails. */
const PATIENT_MS = 60_000;

let server: TokenServer;
let pools: UpstreamPools;
let recorded: RecordedLog;
let metrics: Metrics;
let manager: TokenManager;
let appSecret: RotatingSecret;

/** The time of the process. It stands still until a test moves it. */
let passedMs = 0;

beforeAll(async () => {
  server = await TokenServer.start();
  jest.spyOn(performance, 'now').mockImplementation(() => 1_000_000 + passedMs);
});
beforeEach(async () => {
  await pools?.onApplicationShutdown();
  passedMs = 0;
  server.requests.length = 0;
  server.answer = issueTokens;
  const { upstream, redis } = settings({ UPSTREAM_TOKEN_URL: server.url });
  ({ appSecret } = upstream);
  recorded = new RecordedLog();
  metrics = new Metrics();
  pools = new UpstreamPools(upstream, metrics);
  const store = new TokenStore(
    upstream,
    new SharedRedis(redis, recorded.log, metrics),
    recorded.log,
    metrics,
  );
  manager = new TokenManager(
    store,
    new TokenEndpoint(upstream, pools, recorded.files),
    metrics,
    recorded.log,
  );
});
afterAll(async () => {
  jest.restoreAllMocks();
  await pools.onApplicationShutdown();
  await server.close();
});

const get = async (...asked: Parameters<TokenManager['get']>) => manager.get(...asked);
const tokenFor = async (principal: Principal = order) => (await get(principal, PATIENT_MS)).value;
const failureOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

/** An endpoint that responds only once it is released. */
function heldBack() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  server.answer = async (...args) => {
    resolve();
    await released;
    await issueTokens(...args);
  };
  return { asked, release };
}

describe('one flight', () => {
  it('T4 serves a thousand callers', async () => {
    const used = await Promise.all(Array.from({ length: 1_000 }, () => tokenFor()));
    expect(new Set(used)).toEqual(new Set(['access_token_1']));
    expect(server.requests).toHaveLength(1);
    expect(await tokenFor()).toBe('access_token_1');
    expect(server.requests).toHaveLength(1);
  });

  it('goes on when a waiter runs out of time, and serves the others', async () => {
    const { asked, release } = heldBack();
    const hasty = failureOf(get(order, 1));
    const patient = tokenFor();
    await asked;
    expect(await hasty).toMatchObject({ kind: 'unavailable', reason: 'waited_too_long' });
    expect(await failureOf(get(order, -1))).toBeInstanceOf(TokenFailure);
    release();
    expect(await patient).toBe('access_token_1');
    expect(await tokenFor()).toBe('access_token_1');
    expect(server.requests).toHaveLength(1);
  });

  it('that fails after its last waiter left has no effect', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const failed = recorded.next('token-request-failed');
    server.answer = async (response) => {
      await released;
      response.destroy();
    };
    expect(await failureOf(get(order, 1))).toMatchObject({ reason: 'waited_too_long' });
    release();
    expect(await failed).toMatchObject({ level: 'error', kind: 'unavailable', principal: 'app:auth_order' });
  });
});

describe('a token that serves', () => {
  it('is renewed in the background from about 80 % of its use on, while callers go on with the old one', async () => {
    expect(await tokenFor()).toBe('access_token_1');
    passedMs = 3_240_000 * 0.71;
    expect(await tokenFor()).toBe('access_token_1');
    expect(server.requests).toHaveLength(1);

    const { asked, release } = heldBack();
    passedMs = 3_240_000 * 0.89;
    const used = await Promise.all(Array.from({ length: 100 }, () => tokenFor()));
    expect(new Set(used)).toEqual(new Set(['access_token_1']));
    await asked;
    expect(await tokenFor()).toBe('access_token_1');
    release();
    while ((await tokenFor()) === 'access_token_1') await setImmediate();
    // The life of a token counts from its own arrival: the new one is valid when the first has ended.
    passedMs = 3_240_000 * 1.5;
    expect(await tokenFor()).toBe('access_token_2');
    expect(server.requests).toHaveLength(2);
  });

  it('serves on when its renewal fails, and the renewal is tried again later', async () => {
    await tokenFor();
    passedMs = 3_240_000 * 0.9;
    server.answer = (response) => response.destroy();
    const failed = recorded.next('token-request-failed');
    expect(await tokenFor()).toBe('access_token_1');
    await failed;
    for (let each = 0; each < 100; each++) expect(await tokenFor()).toBe('access_token_1');
    expect(server.requests).toHaveLength(2);
    server.answer = issueTokens;
    passedMs += 2_000;
    while ((await tokenFor()) === 'access_token_1') await setImmediate();
    expect(server.requests).toHaveLength(3);
  });

  it.each([
    ['by an error', { error: 'invalid_grant' }, 400],
    ['by a code that is not known', { code: '41007', message: 'no' }, 200],
  ])(
    'of a user is renewed with the password where its refresh token is refused %s',
    async (_, refusal, status) => {
      const password = new Secret(credential());
      const user: Principal = { kind: 'user', alias: 'default', username: 'admin@harbour', password };
      const refreshToken = credential();
      server.answer = (response, { form }, count) =>
        form.get('grant_type') === 'refresh_token'
          ? json(response, refusal, status)
          : json(response, {
              ...{ access_token: `access_token_${count}`, expires_in: 3600 },
              refresh_token: refreshToken,
            });
      expect(await tokenFor(user)).toBe('access_token_1');
      passedMs = 3_240_000 * 0.89;
      await until('it is renewed', async () => (await tokenFor(user)) !== 'access_token_1');
      const grants = server.requests.map(({ form }) => form.get('grant_type'));
      expect(grants).toEqual(['password', 'refresh_token', 'password']);
    },
  );

  it('T23 of a user is not renewed with the password where the endpoint limits its refresh token', async () => {
    const password = new Secret(credential());
    const user: Principal = { kind: 'user', alias: 'default', username: 'admin@harbour', password };
    const token = { access_token: 'access_token_1', expires_in: 3600, refresh_token: credential() };
    server.answer = (response, { form }) =>
      form.get('grant_type') === 'refresh_token'
        ? json(response, { error: 'slow_down' }, 429)
        : json(response, token);
    expect(await tokenFor(user)).toBe('access_token_1');
    passedMs = 3_240_000 * 0.89;
    const failed = recorded.next('token-request-failed');
    expect(await tokenFor(user)).toBe('access_token_1');
    await failed;
    const grants = server.requests.map(({ form }) => form.get('grant_type'));
    expect(grants).toEqual(['password', 'refresh_token']);
  });

  it('without a life serves the callers that waited for it, and is never used again', async () => {
    server.answer = (response, _, count) =>
      json(response, { access_token: `access_token_${count}`, expires_in: 0 });
    expect(await Promise.all([tokenFor(), tokenFor()])).toEqual(['access_token_1', 'access_token_1']);
    expect(await tokenFor()).toBe('access_token_2');
  });
});

describe('a renewed token that is refused as well', () => {
  it('stays and is not renewed for ten seconds', async () => {
    const first = await get(order, PATIENT_MS);
    await manager.refused(order, first.version);
    const second = await get(order, PATIENT_MS);
    await manager.refused(order, second.version, true);
    for (let each = 0; each < 100; each++) {
      expect(await tokenFor()).toBe('access_token_2');
      await manager.refused(order, second.version);
    }
    expect(server.requests).toHaveLength(2);
    passedMs = 10_001;
    await manager.refused(order, second.version);
    expect(await tokenFor()).toBe('access_token_3');
  });
});

describe('a failure', () => {
  it('of the endpoint leads to a new request 1, 2, 4 … 60 s later, for every caller', async () => {
    server.answer = (response) => response.destroy();
    for (let second = 0; second < 200; second++) {
      passedMs = second * 1_000;
      await Promise.all([order, member].map((principal) => failureOf(get(principal, PATIENT_MS))));
    }
    expect(server.requests.length).toBeGreaterThanOrEqual(7);
    expect(server.requests.length).toBeLessThanOrEqual(10);
  });

  it('of the endpoint also counts for principals that wait for a connection', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    server.answer = async (response) => {
      if (server.requests.length === tokenConnections.user) resolve();
      await asked;
      response.destroy();
    };
    const users = Array.from({ length: 3 * tokenConnections.user }, (_, index): Principal => {
      const [alias, password] = [`user-${index}`, new Secret(credential())];
      return { kind: 'user', alias, username: `${alias}@harbour`, password };
    });
    const failures = await Promise.all(users.map((user) => failureOf(get(user, PATIENT_MS))));
    expect(new Set(failures.map((failure) => (failure as TokenFailure).kind))).toEqual(
      new Set(['unavailable']),
    );
    expect(server.requests.length).toBe(tokenConnections.user);
    // None of them holds up the next request.
    server.answer = issueTokens;
    passedMs = 2_000;
    expect(new Set(await Promise.all(users.map(tokenFor))).size).toBe(users.length);
  });

  it('G19 of each principal is told with the time of the next request, until the credentials change or a token comes', async () => {
    server.answer = (response) => json(response, { error: 'invalid_client' }, 401);
    const before = Date.now();
    for (const principal of [order, member]) await failureOf(get(principal, PATIENT_MS));
    const known = { of: 'application', kind: 'rejected', reason: 'invalid_client' };
    expect(manager.troubles).toEqual([
      { ...known, principal: 'app:auth_order', retryAt: expect.any(Number) },
      { ...known, principal: 'app:auth_me', retryAt: expect.any(Number) },
    ]);
    expect(manager.troubles[0]?.retryAt).toBeGreaterThanOrEqual(before + 60_000);

    appSecret.rotate(credential());
    expect(manager.troubles.map(({ retryAt }) => retryAt)).toEqual([undefined, undefined]);
    server.answer = issueTokens;
    await tokenFor(order);
    // The token of one scope does not tell anything about the token of another.
    expect(manager.troubles.map(({ principal }) => principal)).toEqual(['app:auth_me']);
    expect(manager.isFailing).toBe(true);
    await tokenFor(member);
    expect([manager.troubles, manager.isFailing]).toEqual([[], false]);
  });

  it('G19 of a user is forgotten when the users are read again, and is no failure of the gateway', async () => {
    server.answer = (response) => json(response, { error: 'invalid_grant' }, 400);
    const user: Principal = {
      ...{ kind: 'user', alias: 'anna', username: 'anna@harbour', password: new Secret(credential()) },
    };
    await failureOf(get(user, PATIENT_MS));
    expect(manager.troubles).toMatchObject([{ principal: 'user:anna', of: 'user', kind: 'rejected' }]);
    expect(manager.isFailing).toBe(false);
    manager.usersChanged();
    expect(manager.troubles).toEqual([]);
  });

  it('of a password is tried at most three times in an hour', async () => {
    server.answer = (response) => json(response, { error: 'invalid_grant' }, 400);
    const [username, password] = ['anna@harbour', new Secret('wrong')];
    const user: Principal = { kind: 'user', alias: 'default', username, password };
    for (passedMs = 0; passedMs < 3_600_000; passedMs += 36_000)
      expect(await failureOf(get(user, PATIENT_MS))).toMatchObject({ kind: 'rejected' });
    expect(server.requests).toHaveLength(3);
  });
});

describe('a token that is kept elsewhere', () => {
  it('is not asked for while the endpoint is known to fail, and its own failure counts as such', async () => {
    server.answer = (response) => response.destroy();
    expect(await failureOf(manager.forSession((endpoint) => endpoint.login('anna', 'secret')))).toMatchObject(
      {
        kind: 'unavailable',
      },
    );
    const remembered = await failureOf(manager.forSession((endpoint) => endpoint.login('bo', 'secret')));
    expect(remembered).toMatchObject({ kind: 'unavailable' });
    // A second, and up to a tenth of it by chance.
    expect([1, 2]).toContain((remembered as TokenFailure).retryAfter);
    expect(await failureOf(tokenFor())).toMatchObject({ kind: 'unavailable' });
    expect(server.requests).toHaveLength(1);
  });

  it('T23 whose request is limited (429) does not stop the requests of others', async () => {
    server.answer = (response) => json(response, {}, 429, { 'retry-after': '1800' });
    for (const failure of [
      await failureOf(manager.forSession((endpoint) => endpoint.login('anna', 'secret'))),
      await failureOf(manager.forSession((endpoint) => endpoint.refresh('secret'))),
    ])
      expect(failure).toMatchObject({ kind: 'unavailable', retryAfter: 1_800 });
    server.answer = issueTokens;
    expect(await tokenFor()).toMatch(/^access_token_/);
  });

  it('is asked for each time, never shared, and still given to others when it was refused to one', async () => {
    server.answer = (response) => json(response, { error: 'invalid_grant' }, 400);
    for (let each = 0; each < 5; each++)
      expect(await failureOf(manager.forSession((endpoint) => endpoint.login('anna', 'typo')))).toMatchObject(
        {
          reason: 'invalid_grant',
        },
      );
    server.answer = issueTokens;
    const request = () => manager.forSession((endpoint) => endpoint.login('anna', 'right'));
    const tokens = await Promise.all([request(), request(), request()]);
    expect(new Set(tokens.map(({ value }) => value)).size).toBe(3);
  });
});

describe('health, metrics and log', () => {
  it('metrics count renewals, refusals and failures by kind of principal', async () => {
    const { version } = await get(order, PATIENT_MS);
    await manager.refused(order, version);
    server.answer = (response) => json(response, { error: 'invalid_client' }, 401);
    await failureOf(tokenFor());
    await failureOf(tokenFor());
    server.answer = (response) => response.destroy();
    passedMs = 70_000;
    await failureOf(tokenFor());
    for (let each = 0; each < 2; each++) await manager.refused(member, 'any', true);
    const text = await metrics.registry.getSingleMetricAsString('gateway_token_events_total');
    for (const event of ['renewed', 'rejected', 'unavailable', 'remembered']) {
      expect(text).toContain(`{principal="application",event="${event}"} 1`);
    }
    expect(text).toContain('{principal="application",event="refused"} 3');
    expect(text).toContain('{principal="application",event="held_off"} 2');
    expect(await metrics.registry.getSingleMetricAsString('gateway_token_wait_seconds')).toContain(
      'gateway_token_wait_seconds_count{principal="application"} 4',
    );
  });

  it('G19 metrics tell how many principals the endpoint rejects, also while nothing is asked for', async () => {
    const rejected = async () => {
      const text = await metrics.registry.getSingleMetricAsString('gateway_principals_rejected');
      return ['application', 'user'].map((kind) => new RegExp(`"${kind}"} (\\d+)`).exec(text)?.[1]);
    };
    expect(await rejected()).toEqual(['0', '0']);
    server.answer = (response) => json(response, { error: 'invalid_client' }, 401);
    for (const principal of [order, member]) await failureOf(tokenFor(principal));
    passedMs = 59_000;
    await failureOf(tokenFor());
    expect([await rejected(), server.requests.length]).toEqual([['2', '0'], 2]);
    server.answer = issueTokens;
    passedMs = 200_000;
    await tokenFor();
    expect(await rejected()).toEqual(['1', '0']);
    server.answer = (response) => json(response, { error: 'invalid_client' }, 401);
    // The next call tries the new secret.
    appSecret.rotate(credential());
    expect(await rejected()).toEqual(['0', '0']);
    await failureOf(tokenFor(member));
    expect(await rejected()).toEqual(['1', '0']);
    const later = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 2 * 3_600_000);
    expect(await rejected()).toEqual(['0', '0']);
    later.mockRestore();
  });

  it('the state of the endpoint is that of a breaker: open while the gateway must not ask', async () => {
    const state = async () =>
      /breaker_state\{group="tokens"\} (\d)/.exec(
        await metrics.registry.getSingleMetricAsString('gateway_upstream_breaker_state'),
      )?.[1];
    expect(await state()).toBe('0');
    server.answer = (response) => response.destroy();
    await failureOf(tokenFor());
    expect(await state()).toBe('2');
    passedMs = 2_000;
    const { asked, release } = heldBack();
    const token = tokenFor();
    await asked;
    expect(await state()).toBe('1');
    release();
    await token;
    expect(await state()).toBe('0');
  });

  it('the state of the endpoint is told until nobody has called for an hour', async () => {
    const state = async () => (await metrics.samples('gateway_upstream_breaker_state'))[0]?.value;
    server.answer = (response) => response.destroy();
    await failureOf(tokenFor());
    passedMs = 3_599_000;
    expect(await state()).toBe(2);
    passedMs = 3_600_000;
    expect(await state()).toBe(0);
    await failureOf(tokenFor());
    expect(await state()).toBe(2);
  });
});
