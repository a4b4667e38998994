import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { metric } from '../support/expected.ts';
import { Fleet, type FleetAnswer } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';
import { credential } from '../support/settings.ts';
import { json, raw, TokenServer } from '../support/token-server.ts';

/** Faults of the token endpoint (T): with one gateway without Redis, and with a fleet. Both live on from test to test, and their clocks are moved. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const HOURS_MS = 2 * 3_600_000;

const sandbox = useSandbox();
/** All gateways ask here. It passes their requests on to the sandbox until a test changes that. */
let endpoint: TokenServer;

beforeAll(async () => {
  endpoint = await TokenServer.start();
});
afterAll(() => Promise.all([sandbox.close(), endpoint.close()]));

const passOn: TokenServer['answer'] = async (response, { headers, form }) => {
  const authorization = headers.authorization ?? '';
  const answer = await fetch(sandbox.tokenUrl, { method: 'POST', headers: { authorization }, body: form });
  json(response, await answer.text(), answer.status);
};
const isDown: TokenServer['answer'] = (response) => response.destroy();

/** The endpoint keeps the next request back until it is released. */
function heldBack() {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  endpoint.answer = async (...args) => {
    endpoint.answer = passOn;
    isAsked();
    await released;
    await passOn(...args);
  };
  return { asked, release };
}

/** The state of a test's beginning; the gateways forget by `passed`. */
async function anew(passed: () => Promise<unknown>): Promise<void> {
  endpoint.answer = passOn;
  await sandbox.reset({ tokens: true });
  await passed();
  endpoint.requests.length = 0;
}

/** Returns the statuses with the code of what failed. */
const outcomes = (answers: readonly Pick<FleetAnswer, 'status' | 'body'>[]) => [
  ...new Set(
    answers.map(({ status, body }) => (status < 400 ? status : `${status} ${String(body['code'])}`)),
  ),
];

const NO_TOKEN = { code: 'dependency-unavailable', outcome: 'not_processed', retryable: true };
const REFUSED = {
  ...{ code: 'upstream-credential-rejected', outcome: 'not_processed', retryable: false },
  // No token was renewed.
  detail: expect.stringContaining('own credentials: its key and secret, its access token'),
};

describe('one gateway', () => {
  const gateway = new TestGateway([{ name: 'neighbour', scopes: ['sessions:write'] }]);
  const secretFile = join(gateway.callersFile, '..', 'app-secret');
  let child: GatewayProcess;
  let passedMs = 0;
  const later = (ms: number) => child.disturb({ uptime: (passedMs += ms), settled: true });

  beforeAll(async () => {
    endpoint.answer = isDown;
    writeFileSync(secretFile, sandbox.appSecret);
    const environment = {
      UPSTREAM_TOKEN_URL: endpoint.url,
      UPSTREAM_APP_SECRET: '',
      UPSTREAM_APP_SECRET_FILE: secretFile,
      UPSTREAM_DEADLINE_MS: '2000',
      UPSTREAM_ORDER_DEADLINE_MS: '60000',
    };
    const start = async (all: Record<string, string>) =>
      (child = await startGatewayProcess(all, { disturbed: true }));
    await gateway.open(sandbox, environment, start);
  });
  afterAll(() => gateway.stop());

  const read = () => gateway.get(ASSETS);

  it('T1 down at start: the gateway starts, says that it is degraded, responds with 503 and a time, and serves once it is up', async () => {
    const answer = await read();
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject(NO_TOKEN);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const line = (await gateway.log()).findLast((each) => each.includes('"event":"request"'));
    expect(JSON.parse(line ?? '')).toMatchObject({ tokenFailure: 'unavailable', tokenReason: 'no_answer' });
    const ready = await gateway.get('/health/ready');
    expect([ready.status, ready.body]).toEqual([
      200,
      expect.objectContaining({ status: 'degraded', tokens: 'down' }),
    ]);
    expect((await gateway.get('/health/live')).status).toBe(200);
    expect(await sandbox.calls()).toEqual([]);
    endpoint.answer = passOn;
    await later(60_000);
    expect((await read()).status).toBe(200);
    expect((await gateway.get('/health/ready')).body).toMatchObject({ status: 'ok', tokens: 'up' });
  });

  describe('that has started', () => {
    beforeEach(() => anew(() => later(HOURS_MS)));

    it('T21 a rate limit that names its waits does not make the pauses of later failures longer', async () => {
      endpoint.answer = (response) =>
        raw(response, '{"error":"invalid_client"}', 429, { 'retry-after': '1' });
      for (let count = 1; count <= 8; count++) {
        expect(outcomes([await read()])).toEqual([`503 ${NO_TOKEN.code}`]);
        expect(endpoint.requests).toHaveLength(count);
        await later(1_500);
      }
      endpoint.answer = isDown;
      const { headers } = await read();
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(2);
      endpoint.answer = passOn;
      await later(2_000);
      expect((await read()).status).toBe(200);
    });

    it('T2 down later: all callers are served while the token is valid, then 503, and again once it is up', async () => {
      expect((await read()).status).toBe(200);
      endpoint.answer = isDown;
      // The gateway uses 54 minutes of the hour.
      for (const minutes of [50, 3]) {
        await later(minutes * 60_000);
        expect((await read()).status).toBe(200);
      }
      await later(120_000);
      const last = await read();
      expect(last.status).toBe(503);
      expect(last.body).toMatchObject(NO_TOKEN);
      endpoint.answer = passOn;
      await later(120_000);
      expect((await read()).status).toBe(200);
      const calls = await sandbox.journal('listAssets');
      expect(calls.map(({ code }) => code)).toEqual(['0', '0', '0', '0']);
      expect(new Set(calls.map(({ headers }) => headers['authorization'])).size).toBe(2);
    });

    it('T3 slow: each waiting request ends at its own deadline, and the one token request goes on for the others', async () => {
      const { release } = heldBack();
      const patient = gateway.post('/v1/license-orders', orderOf('SO-T3'));
      const hasty = await Promise.all(Array.from({ length: 5 }, read));
      for (const answer of hasty) {
        expect(answer.status).toBe(503);
        expect(answer.body).toMatchObject(NO_TOKEN);
      }
      release();
      expect((await patient).status).toBe(201);
      expect((await read()).status).toBe(200);
      expect(endpoint.requests).toHaveLength(1);
    });

    it('T3 slow: logins beyond the connections wait for them until their deadline, one of another caller does not wait behind them, and no token request counts as failed', async () => {
      const login = { username: 'anna@harbour', password: sandbox.seedPassword };
      endpoint.answer = (...args) =>
        setTimeout(() => void passOn(...args), args[1].form.has('password') ? 600 : 0);
      const logins = Promise.all(Array.from({ length: 60 }, () => gateway.post('/v1/sessions', login)));
      await until('logins are at the endpoint', () => endpoint.requests.length >= 4);
      const key = gateway.keys['neighbour'];
      expect((await gateway.post('/v1/sessions', login, { key })).status).toBe(201);
      expect((await read()).status).toBe(200);
      expect(outcomes(await logins).toSorted()).toEqual([201, `503 ${NO_TOKEN.code}`]);
      expect((await gateway.get('/health/ready')).body).toMatchObject({ status: 'ok', tokens: 'up' });
      const sent = endpoint.requests.length;
      // 600 ms each, four at a time, for two seconds.
      expect(sent).toBeLessThan(30);
      expect((await gateway.post('/v1/sessions', login)).status).toBe(201);
      // Nothing was sent for those whose deadline had passed.
      expect(endpoint.requests).toHaveLength(sent + 1);
    });

    it('T6 a wrong application secret is 502, logged as an error, counted, and not tried repeatedly', async () => {
      const count = (event: string) =>
        metric(gateway, `gateway_token_events_total{principal="application",event="${event}"}`);
      const before = await count('rejected');
      await sandbox.acceptSecrets(credential());
      const answers = await Promise.all(Array.from({ length: 20 }, read));
      expect(outcomes([...answers, await read()])).toEqual([`502 ${REFUSED.code}`]);
      expect(answers[0]?.body).toMatchObject(REFUSED);
      expect(endpoint.requests).toHaveLength(1);
      expect(await count('rejected')).toBe(before + 1);
      expect(await count('remembered')).toBeGreaterThanOrEqual(1);
      expect((await gateway.log()).join('\n')).toMatch(
        /"level":"error".*"event":"token-request-failed".*"invalid_client"/,
      );
    });

    it('T7 a response without a token is 503, and the endpoint is asked again after the backoff alone', async () => {
      const bodies = ['<html>', '{"access_token":', '{"token_type":"bearer"}'];
      for (const [index, body] of bodies.entries()) {
        endpoint.answer = (response) => json(response, body);
        await later(70_000);
        const answers = [await read(), await read()];
        expect([body, outcomes(answers)]).toEqual([body, [`503 ${NO_TOKEN.code}`]]);
        expect([body, endpoint.requests.length]).toEqual([body, index + 1]);
      }
      endpoint.answer = passOn;
      await later(70_000);
      expect((await read()).status).toBe(200);
    });

    it('T24 a password that is refused in unknown words is sent three times an hour', async () => {
      endpoint.answer = (response, request, count) =>
        request.form.has('password')
          ? json(response, { code: '41007', message: 'name or password' })
          : passOn(response, request, count);
      const waits: number[] = [];
      for (let minute = 0; minute < 60; minute += 5) {
        const answer = await gateway.get(MEMBERS);
        expect(outcomes([answer])).toEqual([`503 ${NO_TOKEN.code}`]);
        waits.push(Number(answer.headers.get('retry-after')));
        await later(5 * 60_000);
      }
      expect(waits[0]).toBeGreaterThanOrEqual(60);
      expect(endpoint.requests.filter(({ form }) => form.has('password'))).toHaveLength(3);
      endpoint.answer = passOn;
      await later(HOURS_MS);
      expect((await gateway.get(MEMBERS)).status).toBe(200);
    });

    it('T11 a token that stays refused is renewed every ten seconds, however steady the refusals are', async () => {
      const refused = { operation: 'listAssets', action: { code: '60000' } };
      await sandbox.fault(refused);
      for (let second = 0; second <= 36; second += 4) {
        expect(outcomes([await read()])).toEqual([`502 ${REFUSED.code}`]);
        await later(4_000);
      }
      // The first call asks for two tokens, and after each pause one call asks for another.
      expect(endpoint.requests.length).toBeGreaterThanOrEqual(4);
      expect(endpoint.requests.length).toBeLessThanOrEqual(8);
    });

    it('T22 a call that has waited for the token of its session until its deadline is not sent', async () => {
      const username = 'admin@harbour';
      const { body } = await gateway.post('/v1/sessions', { username, password: sandbox.seedPassword });
      const headers = { 'x-session-id': String(body['sessionId']) };
      const path = `${MEMBERS}/mem-harbour-bo/password`;
      const reset = () => gateway.request('PUT', path, { body: { password: newSecret('m') }, headers });
      expect((await reset()).status).toBe(204);
      for (const isTimeUp of [true, false]) {
        await sandbox.reset();
        await sandbox.revokeTokens({ username });
        const { asked, release } = heldBack();
        const call = reset();
        await asked;
        // Either the token comes after the deadline, or the deadline passes without a token.
        if (isTimeUp) {
          await later(2_001);
          release();
        }
        const answer = await call;
        expect([answer.status, answer.body['code'], answer.body['outcome']]).toEqual([
          503,
          NO_TOKEN.code,
          'not_processed',
        ]);
        const codes = async () => (await sandbox.journal('resetPassword')).map(({ code }) => code);
        expect(await codes()).toEqual(['60005']);
        release();
        // The renewal has gone on.
        expect((await reset()).status).toBe(204);
        expect((await codes()).at(-1)).toBe('0');
      }
    });

    it("T17 the application's secret is changed without a restart: in the file after upstream, or before it", async () => {
      expect((await read()).status).toBe(200);
      const second = credential();
      await sandbox.acceptSecrets(second);
      await sandbox.revokeTokens();
      expect((await read()).body).toMatchObject(REFUSED);
      writeFileSync(secretFile, second);
      await until('the new secret serves', async () => (await read()).status === 200);

      const third = credential();
      const reloaded = gateway.logged('secret-reloaded');
      writeFileSync(secretFile, third);
      await reloaded;
      await sandbox.revokeTokens();
      expect((await read()).status).toBe(200);
      const log = (await gateway.log()).join('\n');
      for (const secret of [sandbox.appSecret, second, third]) expect(log).not.toContain(secret);
    });
  });
});

describe('two processes', () => {
  let fleet: Fleet;
  let passedMs = 0;
  const secretFile = join(mkdtempSync(join(tmpdir(), 'gateway-secret-')), 'app-secret');
  const environment = () => ({
    UPSTREAM_TOKEN_URL: endpoint.url,
    UPSTREAM_APP_SECRET: '',
    UPSTREAM_APP_SECRET_FILE: secretFile,
    // A connection on a busy machine takes longer than the default.
    UPSTREAM_CONNECT_TIMEOUT_MS: '5000',
  });

  beforeAll(async () => {
    await sandbox.reset({ tokens: true });
    await sandbox.acceptSecrets(sandbox.appSecret);
    writeFileSync(secretFile, sandbox.appSecret);
    fleet = await Fleet.start(sandbox, 2, { environment: environment(), how: { disturbed: true } });
  });
  afterAll(async () => {
    await fleet.stop();
    rmSync(dirname(secretFile), { recursive: true });
  });
  // The gateways begin without tokens.
  beforeEach(() =>
    anew(async () => {
      await ask(fleet.redis, async (client) => {
        const keys = await client.keys('*:tok:*');
        if (keys.length > 0) await client.del(keys);
      });
      // A process looks at Redis again after a minute at most.
      passedMs += 61_000;
      const step = { uptime: passedMs, settled: true };
      await Promise.all(fleet.gateways.map((each) => each.disturb(step)));
    }),
  );

  /** A process for which Redis was too slow once, on a busy machine, asks by itself. */
  const atMost = () => 1 + fleet.gateways.filter((each) => each.output().includes('redis-away')).length;
  const tokensUsed = async () =>
    new Set((await sandbox.journal('listAssets')).map(({ headers }) => headers['authorization']));

  // A thousand in one process: src/token/token.manager.spec.ts. On a busy machine a cold process refuses some of a hundred as overloaded.
  it('T4 make one request when they are cold', async () => {
    expect(outcomes(await fleet.herd(10, ASSETS))).toEqual([200]);
    expect(endpoint.requests.length).toBeLessThanOrEqual(atMost());
    expect((await tokensUsed()).size).toBe(endpoint.requests.length);
  });

  it('T10 renew a token that is revoked during calls once, and each caller is served at its second attempt', async () => {
    await fleet.herd(1, ASSETS);
    await sandbox.reset();
    await sandbox.revokeTokens();
    endpoint.requests.length = 0;
    expect(outcomes(await fleet.herd(10, ASSETS))).toEqual([200]);
    expect(endpoint.requests.length).toBeLessThanOrEqual(atMost());
    const calls = await sandbox.journal('listAssets');
    const revoked = calls.filter(({ code }) => code === '60000');
    expect(revoked.length).toBeGreaterThan(0);
    expect(calls.length).toBe(20 + revoked.length);
    expect(calls.at(-1)?.headers['authorization']).not.toBe(revoked[0]?.headers['authorization']);
  });

  it('T11 send one more request to an endpoint that keeps issuing revoked tokens, and then pause', async () => {
    const refused = { operation: 'listAssets', action: { code: '60000' } };
    await sandbox.fault(refused);
    const answers = await fleet.herd(10, ASSETS);
    expect(outcomes(answers)).toEqual([`502 ${REFUSED.code}`]);
    expect(answers[0]?.body).toMatchObject(REFUSED);
    // Callers that got the first renewed token before it was found revoked may have caused one more renewal.
    expect(endpoint.requests.length).toBeLessThanOrEqual(2 + atMost());
    await sandbox.reset();
    await sandbox.fault(refused);
    endpoint.requests.length = 0;
    await fleet.herd(5, ASSETS);
    expect((await sandbox.journal('listAssets')).length).toBeLessThanOrEqual(10 * 2);
    expect(endpoint.requests).toEqual([]);
  });

  it("T5 try a user's wrong password once, all remember it, and it is tried again after a change", async () => {
    const wrong = { username: 'admin@harbour', password: credential() };
    const anna = { username: 'anna@harbour', password: sandbox.seedPassword };
    fleet.writeUsers({ default: wrong, anna });
    const haveRead = () => fleet.gateways.every((each) => each.output().includes('users-reloaded'));
    await until('all have read it', haveRead);
    const answers = await fleet.herd(10, MEMBERS);
    expect(outcomes(answers)).toEqual([`502 ${REFUSED.code}`]);
    expect(answers[0]?.body).toMatchObject(REFUSED);
    const logins = () => endpoint.requests.filter(({ form }) => form.get('username') === wrong.username);
    const refused = logins().length;
    expect(refused).toBeLessThanOrEqual(atMost());
    expect((await fleet.get(0, MEMBERS, { 'x-acting-user': 'anna' })).status).toBe(200);
    fleet.writeUsers({ default: { ...wrong, password: sandbox.seedPassword }, anna });
    await until('it serves', async () => (await fleet.get(0, MEMBERS)).status === 200);
    expect(logins()).toHaveLength(refused + 1);
    expect(fleet.gateways.map((each) => each.output()).join()).not.toContain(wrong.password);
  });

  it('T13 obey the Retry-After of a 429, each of them', async () => {
    endpoint.answer = (response) => raw(response, '', 429, { 'retry-after': '1800' });
    const answers = [await fleet.get(0, ASSETS)];
    endpoint.answer = passOn;
    answers.push(await fleet.get(1, ASSETS));
    expect(outcomes(answers)).toEqual([`503 ${NO_TOKEN.code}`]);
    for (const { headers } of answers) {
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(1_800);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(1_600);
    }
    expect(endpoint.requests).toHaveLength(1);
  });

  it('T23 are not stopped where the logins of one user are limited, as a session or as a configured user', async () => {
    const username = 'anna@harbour';
    endpoint.answer = (response, request, count) =>
      request.form.get('username') === username
        ? raw(response, '', 429, { 'retry-after': '1800' })
        : passOn(response, request, count);
    const session = await fleet.post(0, '/v1/sessions', { username, password: credential() });
    expect([session.body, session.headers.get('retry-after')]).toMatchObject([NO_TOKEN, '1800']);
    // No process has a token of the application or of the other user yet.
    expect(outcomes(await fleet.herd(1, ASSETS))).toEqual([200]);
    const before = endpoint.requests.length;
    const asAnna = { 'x-acting-user': 'anna' };
    expect(outcomes(await fleet.herd(2, MEMBERS, asAnna))).toEqual([`503 ${NO_TOKEN.code}`]);
    const logins = () => endpoint.requests.slice(before).filter(({ form }) => form.has('username'));
    expect(logins().length).toBeLessThanOrEqual(atMost());
    expect(outcomes(await fleet.herd(1, MEMBERS))).toEqual([200]);
  });

  it('T16 with clocks that are an hour off use the same token, and no expired one', async () => {
    for (const [index, hours] of [1, -1].entries())
      await fleet.gateways[index]?.disturb({ clock: hours * 3_600_000 });
    for (let round = 0; round < 2; round++) expect(outcomes(await fleet.herd(2, ASSETS))).toEqual([200]);
    expect(endpoint.requests.length).toBeLessThanOrEqual(atMost());
    expect(new Set((await sandbox.journal('listAssets')).map(({ code }) => code))).toEqual(new Set(['0']));
  });

  /** The one lock, of the process that asks the endpoint now. */
  const lock = () => ask(fleet.redis, async (client) => (await client.keys('*:lock'))[0] ?? '');

  it('T15 send one more request where one is slower than the lock, and its older token does not replace the newer one', async () => {
    const { asked, release } = heldBack();
    const slow = fleet.get(0, ASSETS);
    await asked;
    const held = await lock();
    const token = held.replace(/:lock$/, '');
    await ask(fleet.redis, (client) => client.pexpire(held, 1));
    expect((await fleet.get(1, ASSETS)).status).toBe(200);
    const newer = await ask(fleet.redis, (client) => client.get(token));
    expect(newer).not.toBeNull();
    release();
    expect((await slow).status).toBe(200);
    expect(await ask(fleet.redis, (client) => client.get(token))).toBe(newer);
    expect(outcomes(await fleet.herd(1, ASSETS))).toEqual([200]);
    expect(endpoint.requests).toHaveLength(2);
  });

  it('T15 keep a session that one has renewed, where a slower one is refused the used refresh token', async () => {
    const username = 'anna@harbour';
    const { body } = await fleet.post(0, '/v1/sessions', { username, password: sandbox.seedPassword });
    const headers = { 'x-session-id': String(body['sessionId']) };
    expect(outcomes(await fleet.herd(1, MEMBERS, headers))).toEqual([200]);
    await sandbox.revokeTokens({ username });
    const { asked, release } = heldBack();
    const slow = fleet.get(0, MEMBERS, headers);
    await asked;
    await ask(fleet.redis, async (client) => client.pexpire((await client.keys('*:ses:*:lock'))[0] ?? '', 1));
    expect((await fleet.get(1, MEMBERS, headers)).status).toBe(200);
    release();
    expect((await slow).status).toBe(200);
    expect(outcomes(await fleet.herd(1, MEMBERS, headers))).toEqual([200]);
  });

  it('T17 serve with the former secret while the platform refuses the next one to a process that knows no other', async () => {
    const next = credential();
    // The former secret counts once it has worked.
    expect(outcomes(await fleet.herd(1, MEMBERS))).toEqual([200]);
    const reloads = () => fleet.gateways.map((each) => each.output().split('secret-reloaded').length - 1);
    writeFileSync(secretFile, next);
    await until('both have read it', () => reloads().every((count) => count === 1));
    await fleet.launch(environment());
    const onThird = async () => outcomes([await fleet.get(2, ASSETS), await fleet.get(2, MEMBERS)]);
    expect(await onThird()).toEqual([`502 ${REFUSED.code}`]);
    for (const index of [0, 1])
      expect(outcomes([await fleet.get(index, ASSETS), await fleet.get(index, MEMBERS)])).toEqual([200]);
    // The third process gets the tokens of the others.
    expect(await onThird()).toEqual([200]);
    await fleet.gateways.pop()?.stop();
    // The next test begins with one secret.
    writeFileSync(secretFile, sandbox.appSecret);
    await until('both have read it', () => reloads().every((count) => count === 2));
    expect(outcomes(await fleet.herd(1, MEMBERS))).toEqual([200]);
  });

  // The last one: it kills one of them.
  it('T14 of which one dies during its request wait for the lifetime of its lock, 10 s at most', async () => {
    const { asked } = heldBack();
    const lost = fleet.get(0, ASSETS).catch(() => undefined);
    await asked;
    const held = await lock();
    fleet.gateways[0]?.child.kill('SIGKILL');
    await lost;
    const leftMs = await ask(fleet.redis, (client) => client.pttl(held));
    expect(leftMs).toBeLessThanOrEqual(10_000);
    const other = fleet.get(1, ASSETS);
    // The test shortens the rest of it; until then no other process sends a request.
    await ask(fleet.redis, (client) => client.pexpire(held, 300));
    expect((await other).status).toBe(200);
    expect(endpoint.requests).toHaveLength(2);
  });
});
