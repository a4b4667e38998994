import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../support/canary.ts';
import { Fleet, type FleetAnswer } from '../support/fleet.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, freePort, type RunningRedis, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { credential } from '../support/settings.ts';

/** Faults of the token endpoint (T), with one gateway or a fleet of processes. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const ORDER = orderOf('SO-T3');

let sandbox: TestSandbox;
let redis: RunningRedis;
const gateways: TestGateway[] = [];
const fleets: Fleet[] = [];

beforeAll(async () => {
  [sandbox, redis] = await Promise.all([TestSandbox.start(), startRedis()]);
});
beforeEach(async () => {
  await sandbox.reset({ tokens: true });
  await sandbox.acceptSecrets(sandbox.appSecret);
});
afterEach(async () => {
  await Promise.all([...gateways.splice(0), ...fleets.splice(0)].map((each) => each.stop()));
});
afterAll(() => Promise.all([sandbox.close(), redis.stop()]));

/** The settings of replicas that share a database of the Redis. */
function stored() {
  return { REDIS_URL: `${redis.url}/${++databases}`, ENCRYPTION_KEYS: newEncryptionKey() };
}
let databases = 0;

async function gatewayWith(
  environment: Record<string, string> = {},
  platform = sandbox,
): Promise<TestGateway> {
  const gateway = await startInProcess(platform, environment);
  gateways.push(gateway);
  return gateway;
}

async function fleetOf(count: number, options: Parameters<typeof Fleet.start>[2] = {}): Promise<Fleet> {
  const fleet = await Fleet.start(sandbox, count, options);
  fleets.push(fleet);
  return fleet;
}

const tokenRequests = async () => (await sandbox.journal('token')).length;
const spoil = (action: object, rest: object = {}) => sandbox.fault({ operation: 'token', action, ...rest });
/** With the code of what failed. */
const outcomes = (answers: readonly FleetAnswer[]) => [
  ...new Set(
    answers.map(({ status, body }) => (status < 400 ? status : `${status} ${String(body['code'])}`)),
  ),
];

const NO_TOKEN = { code: 'dependency-unavailable', outcome: 'not_processed', retryable: true };
const REFUSED = { code: 'upstream-credential-rejected', outcome: 'not_processed', retryable: false };

async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

it('T1 down at start: the gateway starts, says that it is degraded, and responds with 503 and a time', async () => {
  const gateway = await gatewayWith({
    UPSTREAM_TOKEN_URL: `http://127.0.0.1:${await freePort()}/oauth/token`,
  });
  const answer = await gateway.get(ASSETS);
  expect(answer.status).toBe(503);
  expect(answer.body).toMatchObject(NO_TOKEN);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  const ready = await gateway.get('/health/ready');
  expect(ready.status).toBe(200);
  expect(ready.body).toMatchObject({ status: 'degraded', tokens: 'down' });
  expect((await gateway.get('/health/live')).status).toBe(200);
  expect(await sandbox.calls()).toEqual([]);
});

it('T2 down later: all callers are served while the token is valid, then 503', async () => {
  const short = await TestSandbox.start({ tokenLifetimeSeconds: 4 });
  const gateway = await gatewayWith({}, short);
  const started = performance.now();
  expect((await gateway.get(ASSETS)).status).toBe(200);
  await short.fault({ operation: 'token', action: { httpStatus: 503 } });
  let last = await gateway.get(ASSETS);
  while (last.status === 200) last = await gateway.get(ASSETS);
  expect(last.status).toBe(503);
  expect(last.body).toMatchObject(NO_TOKEN);
  // The gateway uses half of a lifetime of 4 s.
  expect(performance.now() - started).toBeGreaterThan(1_000);
  const codes = (await short.journal('listAssets')).map(({ code }) => code);
  expect(new Set(codes)).toEqual(new Set(['0']));
  await short.close();
});

it('T3 slow: each waiting request ends at its own deadline, and the one token request goes on for the others', async () => {
  const gateway = await gatewayWith({ UPSTREAM_DEADLINE_MS: '1000', UPSTREAM_ORDER_DEADLINE_MS: '30000' });
  await spoil({ delayMs: 3_500 }, { times: 1 });
  const patient = gateway.post('/v1/license-orders', ORDER);
  const hasty = await Promise.all(Array.from({ length: 5 }, () => gateway.get(ASSETS)));
  for (const answer of hasty) {
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject(NO_TOKEN);
  }
  expect((await patient).status).toBe(201);
  await eventually(async () => (await gateway.get(ASSETS)).status === 200 || undefined);
  expect(await tokenRequests()).toBe(1);
});

describe('three processes with many callers', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await Fleet.start(sandbox, 3);
  });
  afterAll(() => fleet.stop());

  it('T4 make one request when they are cold', async () => {
    expect(outcomes(await fleet.herd(100, ASSETS))).toEqual([200]);
    expect(await tokenRequests()).toBe(1);
    const labels = (await sandbox.journal('listAssets')).map(({ headers }) => headers['authorization']);
    expect(new Set(labels)).toEqual(new Set(['app:auth_order#1']));
  });

  it('T10 renew a token that is revoked during calls once, and each caller is served at its second attempt', async () => {
    await fleet.herd(1, ASSETS);
    await sandbox.reset();
    await sandbox.revokeTokens();
    expect(outcomes(await fleet.herd(100, ASSETS))).toEqual([200]);
    expect(await tokenRequests()).toBe(1);
    const calls = await sandbox.journal('listAssets');
    const revoked = calls.filter(({ code }) => code === '60000');
    expect(revoked.length).toBeGreaterThan(0);
    expect(revoked.length).toBeLessThanOrEqual(300);
    expect(calls.length).toBeLessThanOrEqual(300 * 2);
    expect(calls.at(-1)?.headers['authorization']).not.toBe(revoked[0]?.headers['authorization']);
  });

  // The last one: a pause remains.
  it('T11 send one more request to an endpoint that keeps issuing revoked tokens, and then pause', async () => {
    await sandbox.fault({ operation: 'listAssets', action: { code: '60000' } });
    const answers = await fleet.herd(30, ASSETS);
    expect(outcomes(answers)).toEqual([`502 ${REFUSED.code}`]);
    expect(answers[0]?.body).toMatchObject(REFUSED);
    // Callers that got the first renewed token before it was found revoked may have caused one more renewal.
    expect(await tokenRequests()).toBeLessThanOrEqual(3);
    await sandbox.reset();
    await sandbox.fault({ operation: 'listAssets', action: { code: '60000' } });
    await fleet.herd(10, ASSETS);
    expect((await sandbox.journal('listAssets')).length).toBeLessThanOrEqual(30 * 2);
    expect(await tokenRequests()).toBe(0);
  });
});

it("T5 a user's wrong password is tried once, remembered by all replicas, and tried again after a change", async () => {
  const fleet = await fleetOf(2);
  const wrong = { username: 'admin@harbour', password: credential() };
  fleet.writeUsers({ default: wrong, anna: { username: 'anna@harbour', password: sandbox.seedPassword } });
  await eventually(
    async () => fleet.gateways.every((gateway) => gateway.output().includes('users-reloaded')) || undefined,
  );
  const answers = await fleet.herd(50, MEMBERS);
  expect(outcomes(answers)).toEqual([`502 ${REFUSED.code}`]);
  expect(answers[0]?.body).toMatchObject(REFUSED);
  const logins = async () =>
    (await sandbox.journal('token')).filter(
      ({ body }) => (body as { username?: string }).username === wrong.username,
    );
  expect(await logins()).toHaveLength(1);
  expect((await fleet.get(0, MEMBERS, { 'x-acting-user': 'anna' })).status).toBe(200);
  fleet.writeUsers({ default: { ...wrong, password: sandbox.seedPassword } });
  await eventually(async () => (await fleet.get(0, MEMBERS)).status === 200 || undefined);
  expect(await logins()).toHaveLength(2);
  expect(fleet.gateways.map((gateway) => gateway.output()).join()).not.toContain(wrong.password);
});

it('T6 a wrong application secret is 502, logged as an error, counted, and not tried repeatedly', async () => {
  await sandbox.acceptSecrets(credential());
  const gateway = await gatewayWith();
  const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.get(ASSETS)));
  expect(outcomes(answers)).toEqual([`502 ${REFUSED.code}`]);
  expect((await gateway.get(ASSETS)).body).toMatchObject(REFUSED);
  expect(await tokenRequests()).toBe(1);
  expect((await gateway.log()).join('\n')).toMatch(
    /"level":"error".*"event":"token-request-failed".*"invalid_client"/,
  );
  const metrics = await gateway.metrics();
  expect(metrics).toContain('gateway_token_events_total{principal="application",event="rejected"} 1');
  expect(metrics).toContain('gateway_token_events_total{principal="application",event="remembered"} 1');
});

it.each<[string, object]>([
  ['HTML', { html: true, httpStatus: 200 }],
  ['no JSON', { raw: { text: '{"access_token":' } }],
  ['no token', { raw: { text: '{"token_type":"bearer"}' } }],
  ['an envelope', { raw: { text: '{"code":"500","message":"retry"}' } }],
])('T7 a response that is %s is 503, and the next request waits for the backoff', async (_, action) => {
  const gateway = await gatewayWith();
  await spoil(action, { times: 1 });
  const started = performance.now();
  const requests: number[] = [];
  // After one step of the backoff it serves again.
  const served = await eventually(async () => {
    const answer = await gateway.get(ASSETS);
    if (answer.status === 200) return performance.now();
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject(NO_TOKEN);
    requests.push(await tokenRequests());
    return undefined;
  });
  expect(served - started).toBeGreaterThan(1_000);
  expect(new Set(requests)).toEqual(new Set([1]));
  expect(await tokenRequests()).toBe(2);
});

it('T9 a token of two lines is refused, sent nowhere and not stored', async () => {
  await spoil({ patch: { access_token: 'token\r\nx-forged: 1' } });
  const store = stored();
  const gateway = await gatewayWith(store);
  const answer = await gateway.get(ASSETS);
  expect(answer.status).toBe(503);
  expect(answer.body).toMatchObject(NO_TOKEN);
  expect(await sandbox.calls()).toEqual([]);
  const keys = await ask({ url: store.REDIS_URL }, (client) => client.keys('*'));
  expect(keys).not.toEqual([]);
  expect(keys.filter((key) => /:tok:app:[^:]+:[^:]+$/.test(key))).toEqual([]);
});

it("T12 60005 affects that user's token and no other user's", async () => {
  const gateway = await gatewayWith();
  const as = (user: string) => gateway.get(MEMBERS, { headers: { 'x-acting-user': user } });
  await as('default');
  await as('anna');
  await sandbox.revokeTokens({ username: 'anna@harbour' });
  expect((await as('anna')).status).toBe(200);
  expect((await as('default')).status).toBe(200);
  const requests = (await sandbox.journal('token')).map(
    ({ body }) => (body as { username?: string }).username,
  );
  expect(requests.filter((username) => username === 'anna@harbour')).toHaveLength(2);
  expect(requests.filter((username) => username === 'admin@harbour')).toHaveLength(1);
  expect(requests.filter((username) => username === undefined || username === null)).toHaveLength(1);
});

it.each([429, 503])('T13 %i with Retry-After is obeyed by every replica', async (status) => {
  const shared = stored();
  const [one, other] = [await gatewayWith(shared), await gatewayWith(shared)];
  await spoil({ httpStatus: status, headers: { 'retry-after': '2' } }, { times: 1 });
  const started = performance.now();
  const first = await one.get(ASSETS);
  expect(first.status).toBe(503);
  expect(first.headers.get('retry-after')).toBe('2');
  const second = await other.get(ASSETS);
  expect(second.status).toBe(503);
  expect(Number(second.headers.get('retry-after'))).toBeLessThanOrEqual(2);
  expect(await tokenRequests()).toBe(1);
  await eventually(async () => (await other.get(ASSETS)).status === 200 || undefined);
  expect(performance.now() - started).toBeGreaterThan(1_500);
  expect(await tokenRequests()).toBe(2);
});

describe('with a lock in Redis', () => {
  /** The one lock, once its owner has called the endpoint. */
  async function lockOf(client: Redis): Promise<string> {
    await eventually(async () => (await sandbox.spoiled()) > 0 || undefined);
    return eventually(async () => (await client.keys('*:lock'))[0]);
  }

  it('T14 a process that dies during its request delays the others by the lifetime of its lock, 10 s at most', async () => {
    const fleet = await fleetOf(2);
    const client = new Redis(fleet.redis.url);
    await spoil({ hang: true }, { times: 1 });
    const lost = fleet.get(0, ASSETS).catch(() => undefined);
    const lock = await lockOf(client);
    fleet.gateways[0]?.child.kill('SIGKILL');
    await lost;
    const leftMs = await client.pttl(lock);
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(10_000);
    const other = fleet.get(1, ASSETS);
    // The test shortens the rest of it; until then no other process sends a request.
    await client.pexpire(lock, 300);
    expect((await other).status).toBe(200);
    client.disconnect();
  });

  it('T15 a request slower than the lock causes one more, and its older token does not replace the newer one', async () => {
    const fleet = await fleetOf(2);
    const client = new Redis(fleet.redis.url);
    await spoil({ delayMs: 3_000 }, { times: 1, phase: 'after' });
    const slow = fleet.get(0, ASSETS);
    await client.pexpire(await lockOf(client), 1);
    expect((await fleet.get(1, ASSETS)).status).toBe(200);
    const [key = ''] = (await client.keys('*:tok:app:*')).filter(
      (name) => !/:(lock|hold|failure)$/.test(name),
    );
    const newer = await client.get(key);
    expect((await slow).status).toBe(200);
    expect(await client.get(key)).toBe(newer);
    expect(outcomes(await fleet.herd(1, ASSETS))).toEqual([200]);
    expect(await tokenRequests()).toBe(2);
    client.disconnect();
  });
});

it('T16 a replica whose clock is an hour off uses the same token, and no expired one', async () => {
  const shifted = (hours: number) => {
    const code = `const of=Date;globalThis.Date=class extends of{constructor(...a){if(a.length)super(...a);else super(of.now()+${hours}*36e5)}static now(){return of.now()+${hours}*36e5}}`;
    return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` };
  };
  const fleet = await fleetOf(2, { each: [shifted(1), shifted(-1)] });
  for (let round = 0; round < 2; round++) expect(outcomes(await fleet.herd(5, ASSETS))).toEqual([200]);
  expect(await tokenRequests()).toBe(1);
  const codes = (await sandbox.journal('listAssets')).map(({ code }) => code);
  expect(new Set(codes)).toEqual(new Set(['0']));
});

it("T17 the application's secret is changed without a restart: in the file after upstream, or before it", async () => {
  const gateway = await gatewayWith();
  const file = join(gateway.callersFile, '..', 'app-secret');
  writeFileSync(file, sandbox.appSecret);
  const watching = await gatewayWith({ UPSTREAM_APP_SECRET: '', UPSTREAM_APP_SECRET_FILE: file });
  expect((await watching.get(ASSETS)).status).toBe(200);

  const second = credential();
  await sandbox.acceptSecrets(second);
  await sandbox.revokeTokens();
  expect((await watching.get(ASSETS)).body).toMatchObject(REFUSED);
  writeFileSync(file, second);
  await eventually(async () => (await watching.get(ASSETS)).status === 200 || undefined);

  const third = credential();
  const reloaded = watching.logged('secret-reloaded');
  writeFileSync(file, third);
  await reloaded;
  await sandbox.revokeTokens();
  expect((await watching.get(ASSETS)).status).toBe(200);
  const log = (await watching.log()).join('\n');
  for (const secret of [sandbox.appSecret, second, third]) expect(log).not.toContain(secret);
});
