import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { type RunningRedis, startCluster, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Sessions and acting users, on two processes of one fleet. */

const MEMBERS = '/v1/enterprises/ent-harbour/members';

let sandbox: TestSandbox;
let redis: RunningRedis;
let gateway: TestGateway;
let replica: TestGateway;
let replicaProcess: GatewayProcess;

beforeAll(async () => {
  [sandbox, redis] = await Promise.all([TestSandbox.start(), startRedis()]);
  const shared = { REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() };
  const callers = [{ name: 'anna-only', scopes: ['members:read'], enterprises: ['*'], users: ['anna'] }];
  gateway = await TestGateway.start(sandbox, shared, callers);
  const files = { CALLERS_FILE: gateway.callersFile, UPSTREAM_USERS_FILE: gateway.usersFile };
  const start = async (all: Record<string, string>) =>
    (replicaProcess = await startGatewayProcess(all, { disturbed: true }));
  replica = await TestGateway.start(sandbox, { ...shared, ...files }, [], start);
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await Promise.all([gateway.stop(), replica.stop()]);
  await Promise.all([redis.stop(), sandbox.close()]);
});

async function logIn(on = gateway, username = 'anna@harbour'): Promise<{ 'x-session-id': string }> {
  const login = { username, password: sandbox.seedPassword };
  const answer = await on.post('/v1/sessions', login, { key: gateway.key });
  expect(answer.status).toBe(201);
  return { 'x-session-id': answer.body['sessionId'] as string };
}

const grantOf = (body: unknown) => (body as { grant_type: string }).grant_type;
const actingUsers = async () =>
  (await sandbox.journal('listMembers')).map(({ headers }) => headers['usertoken']);

describe('a member operation', () => {
  it('carries the application token twice and the token of its acting user', async () => {
    expect((await gateway.get(MEMBERS)).status).toBe(200);
    expect((await gateway.get(MEMBERS, { headers: { 'x-acting-user': 'anna' } })).status).toBe(200);
    const [first, second] = await sandbox.journal('listMembers');
    expect(first?.headers['authorization']).toMatch(/^app:auth_me#\d+$/);
    expect(first?.headers['clienttoken']).toBe(first?.headers['authorization']);
    expect(first?.headers['usertoken']).toContain('admin@harbour');
    expect(second?.headers['usertoken']).toContain('anna@harbour');
  });

  it('is refused with the same message for an unknown alias and for one without a grant, and for a malformed one', async () => {
    const key = gateway.keys['anna-only'];
    const answers = await Promise.all(
      ['meridian', 'nobody-knows', undefined].map((alias) =>
        gateway.get(MEMBERS, { key, headers: alias === undefined ? {} : { 'x-acting-user': alias } }),
      ),
    );
    for (const { status, body } of answers) {
      expect(status).toBe(403);
      expect(body['detail']).toBe('This acting user is not granted to the caller.');
    }
    expect((await gateway.get(MEMBERS, { key, headers: { 'x-acting-user': 'anna' } })).status).toBe(200);
    expect((await gateway.get(MEMBERS, { headers: { 'x-acting-user': 'a b' } })).status).toBe(400);
    const both = await gateway.get(MEMBERS, { headers: { 'x-acting-user': 'anna', 'x-session-id': 'x' } });
    expect(both.status).toBe(400);
    expect(await actingUsers()).toHaveLength(1);
  });

  it("T12 has the token of its user renewed once when the platform refuses it, and no other user's", async () => {
    await gateway.get(MEMBERS);
    await gateway.get(MEMBERS, { headers: { 'x-acting-user': 'anna' } });
    await sandbox.revokeTokens({ username: 'anna@harbour' });
    expect((await gateway.get(MEMBERS, { headers: { 'x-acting-user': 'anna' } })).status).toBe(200);
    const before = (await sandbox.journal('token')).length;
    expect((await gateway.get(MEMBERS)).status).toBe(200);
    expect((await sandbox.journal('token')).length).toBe(before);
  });

  it("whose user's token is refused again is 502 after one more attempt", async () => {
    await sandbox.fault({ operation: 'listMembers', action: { code: '60005' } });
    const answer = await gateway.get(MEMBERS);
    expect(answer.status).toBe(502);
    expect(answer.body).toMatchObject({ code: 'upstream-credential-rejected', outcome: 'not_processed' });
    expect(await sandbox.journal('listMembers')).toHaveLength(2);
  });

  it('without an acting user is 401 user-required, also when the users file loses its default', async () => {
    const anna = { username: 'anna@harbour', password: sandbox.seedPassword };
    const all = { anna, default: { username: 'admin@harbour', password: sandbox.seedPassword } };
    const isThere = (status: number) => async () => (await gateway.get(MEMBERS)).status === status;
    gateway.writeUsers({ anna });
    await until('there is no default', isThere(401));
    const answer = await gateway.get(MEMBERS);
    expect(answer.body).toMatchObject({ code: 'user-required', outcome: 'not_processed' });
    gateway.writeUsers(all);
    await until('it is there again', isThere(200));
  });

  it('that deletes is repeated at another replica after an unknown outcome: 204, and then 404', async () => {
    const path = `${MEMBERS}/mem-harbour-dora`;
    const action = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'deleteMember', times: 1, phase: 'after', action });
    const remove = (at: TestGateway) => at.request('DELETE', path, { key: gateway.key });
    expect((await remove(gateway)).body['code']).toBe('outcome-unknown');
    expect((await remove(replica)).status).toBe(204);
    expect((await remove(gateway)).status).toBe(404);
  });
});

describe('a session', () => {
  it('acts as its user on every replica, and shows the user and the time of its end', async () => {
    const headers = await logIn();
    for (const each of [gateway, replica]) {
      expect((await each.get(MEMBERS, { headers, key: gateway.key })).status).toBe(200);
      const answer = await each.get('/v1/sessions/current', { headers, key: gateway.key });
      expect(answer.status).toBe(200);
      expect(answer.body['username']).toBe('anna@harbour');
      const life =
        Date.parse(answer.body['expiresAt'] as string) - Date.parse(answer.body['createdAt'] as string);
      expect(life).toBe(12 * 3600 * 1000);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
    expect(await actingUsers()).toEqual([
      expect.stringContaining('anna@harbour'),
      expect.stringContaining('anna@harbour'),
    ]);
  });

  it('is refused at once on every replica after logout', async () => {
    const headers = await logIn();
    expect((await replica.get(MEMBERS, { headers, key: gateway.key })).status).toBe(200);
    expect((await gateway.request('DELETE', '/v1/sessions/current', { headers })).status).toBe(204);
    for (const each of [replica, gateway]) {
      const answer = await each.get(MEMBERS, { headers, key: gateway.key });
      expect(answer.status).toBe(401);
      expect(answer.body).toMatchObject({ code: 'session-expired', outcome: 'not_processed' });
    }
    expect((await gateway.request('DELETE', '/v1/sessions/current', { headers })).status).toBe(401);
  });

  // One of another caller: test/security/tenancy.e2e.ts.
  it('stays ended after logout, although a repeat with the same Idempotency-Key shows its id again', async () => {
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const once = { headers: { 'idempotency-key': randomBytes(12).toString('hex') } };
    const first = await gateway.post('/v1/sessions', login, once);
    const headers = { 'x-session-id': first.body['sessionId'] as string };
    expect((await gateway.request('DELETE', '/v1/sessions/current', { headers })).status).toBe(204);
    const again = await gateway.post('/v1/sessions', login, once);
    expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([
      201,
      first.body,
      'true',
    ]);
    expect((await gateway.get('/v1/sessions/current', { headers })).body['code']).toBe('session-expired');
  });

  it('repeats a write with an Idempotency-Key for its own user, and not for another one', async () => {
    const once = { 'idempotency-key': randomBytes(12).toString('hex') };
    const added = { members: [{ account: 'zoe', password: newSecret('m'), name: 'Zoe' }] };
    const add = async (session: object) => {
      const { status, headers } = await gateway.post(MEMBERS, added, { headers: { ...once, ...session } });
      return [status, headers.get('idempotent-replayed')];
    };
    expect(await add(await logIn(gateway, 'admin@harbour'))).toEqual([201, null]);
    expect(await add(await logIn(gateway, 'admin@harbour'))).toEqual([201, 'true']);
    expect(await add(await logIn())).toEqual([422, null]);
  });

  it('K63 whose id comes in two headers is 400 that says so', async () => {
    const { 'x-session-id': id } = await logIn();
    for (const path of [MEMBERS, '/v1/sessions/current']) {
      const { status, body } = await gateway.get(path, { headers: { 'x-session-id': `${id}, ${id}` } });
      const errors = [{ parameter: 'X-Session-Id', detail: 'must be given once' }];
      expect([status, body['errors']]).toEqual([400, errors]);
    }
  });

  it('that is made up does not work', async () => {
    for (const id of ['x', randomBytes(16).toString('base64url'), '../..', ' ']) {
      const { status } = await gateway.get('/v1/sessions/current', { headers: { 'x-session-id': id } });
      expect([id, status]).toEqual([id, 401]);
    }
  });

  it('with a wrong password is 401 login-failed', async () => {
    const wrong = newSecret('u');
    const answer = await gateway.post('/v1/sessions', { username: 'anna@harbour', password: wrong });
    expect(answer.status).toBe(401);
    expect(answer.body).toMatchObject({ code: 'login-failed', outcome: 'not_processed' });
    expect(answer.text).not.toContain(wrong);
  });

  it('is renewed by its refresh token once, with many requests on all replicas at the same time', async () => {
    const headers = await logIn();
    await sandbox.revokeTokens({ username: 'anna@harbour' });
    const before = (await sandbox.journal('token')).length;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? gateway : replica).get(MEMBERS, { headers, key: gateway.key }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    const grants = (await sandbox.journal('token')).slice(before).map(({ body }) => grantOf(body));
    expect(grants.filter((grant) => grant === 'refresh_token')).toEqual(['refresh_token']);
    expect(grants).not.toContain('password');
  });

  it('that cannot be renewed is 401 session-expired, and gone', async () => {
    const headers = await logIn();
    await sandbox.revokeTokens({ username: 'anna@harbour', tokens: 'all' });
    const answer = await gateway.get(MEMBERS, { headers });
    expect(answer.status).toBe(401);
    expect(answer.body).toMatchObject({ code: 'session-expired' });
    expect((await gateway.get('/v1/sessions/current', { headers })).status).toBe(401);
  });

  it("T6 stays while the platform refuses the application's secret: 502, and then it is renewed", async () => {
    const headers = await logIn();
    expect((await gateway.get(MEMBERS, { headers })).status).toBe(200);
    await sandbox.revokeTokens({ username: 'anna@harbour' });
    await sandbox.acceptSecrets(newSecret('s'));
    const refused = await gateway.get(MEMBERS, { headers });
    await sandbox.acceptSecrets(sandbox.appSecret);
    expect([refused.status, refused.body]).toMatchObject([
      502,
      { code: 'upstream-credential-rejected', outcome: 'not_processed' },
    ]);
    expect((await gateway.get(MEMBERS, { headers })).status).toBe(200);
  });

  it('ends with its token when the platform gives no refresh token', async () => {
    const patch = { refresh_token: null, expires_in: 2 };
    await sandbox.fault({ operation: 'token', times: 1, action: { patch } });
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const { body } = await gateway.post('/v1/sessions', login);
    // Half of a short life.
    expect(Date.parse(body['expiresAt'] as string) - Date.now()).toBeLessThanOrEqual(1_000);
    const headers = { 'x-session-id': body['sessionId'] as string };
    await until('it has ended', async () => (await gateway.get(MEMBERS, { headers })).status === 401);
    expect((await sandbox.journal('token')).map((each) => grantOf(each.body))).toEqual(['password']);
  });

  it('leaves neither its id, nor a token, nor a password in Redis or in the log', async () => {
    const headers = await logIn();
    await gateway.get(MEMBERS, { headers });
    const client = new Redis(redis.url);
    const keys = await client.keys('*');
    const values = await Promise.all(
      keys.map(async (key) => ((await client.type(key)) === 'string' ? client.get(key) : '')),
    );
    client.disconnect();
    const everything = [...keys, ...values, ...(await gateway.log()), ...(await replica.log())].join('\n');
    expect(keys.some((key) => key.includes(':ses:'))).toBe(true);
    for (const secret of [headers['x-session-id'], sandbox.seedPassword, sandbox.appSecret, gateway.key]) {
      expect(everything).not.toContain(secret);
    }
    expect(everything).not.toMatch(/anna@harbour|access_token/);
  });
});

describe('G5 a session is used on a replica whose clock is wrong', () => {
  afterEach(() => replicaProcess.disturb({ clock: 0 }));

  it.each([
    ['13 hours ahead', 13],
    ['13 hours behind', -13],
  ])("%s: it stays valid, its token is not renewed, and Redis' clock decides its end", async (_, hours) => {
    await replicaProcess.disturb({ clock: hours * 3_600_000 });
    const there = (path: string, headers = {}) => replica.get(path, { headers, key: gateway.key });
    const headers = await logIn();
    const before = (await sandbox.journal('token')).length;
    expect((await there('/v1/sessions/current', headers)).status).toBe(200);
    expect((await there(MEMBERS, headers)).status).toBe(200);
    const grants = (await sandbox.journal('token')).slice(before).map(({ body }) => grantOf(body));
    expect(grants).not.toContain('refresh_token');

    const opened = await logIn(replica);
    const { body } = await gateway.get('/v1/sessions/current', { headers: opened });
    const left = Date.parse(body['expiresAt'] as string) - Date.now();
    expect(Math.abs(left - 12 * 3_600_000)).toBeLessThan(3_600_000);
    await sandbox.revokeTokens({ username: 'anna@harbour' });
    expect((await there(MEMBERS, opened)).status).toBe(200);
    expect((await gateway.get(MEMBERS, { headers: opened })).status).toBe(200);
  });
});

it('Sessions and the read cache of all replicas work on a cluster of Redis', async () => {
  const cluster = await startCluster();
  const shared = { REDIS_URL: cluster.url, ENCRYPTION_KEYS: newEncryptionKey(), CACHE_TTL_MS: '60000' };
  const files = { CALLERS_FILE: gateway.callersFile, UPSTREAM_USERS_FILE: gateway.usersFile };
  const both = await Promise.all([1, 2].map(() => TestGateway.start(sandbox, { ...shared, ...files })));
  const [one, two] = both as [TestGateway, TestGateway];
  try {
    let headers = {};
    const { key } = gateway;
    await until('a session opens', async () => {
      const login = { username: 'anna@harbour', password: sandbox.seedPassword };
      const { status, body } = await one.post('/v1/sessions', login, { key });
      headers = { 'x-session-id': String(body['sessionId']) };
      return status === 201;
    });
    await until('it serves members', async () => (await one.get(MEMBERS, { key, headers })).status === 200);
    let cached: TestAnswer | undefined;
    await until('the other one serves them from the cache', async () => {
      cached = await two.get(MEMBERS, { key, headers });
      return cached.headers.has('age');
    });
    expect(cached?.status).toBe(200);
  } finally {
    await Promise.all(both.map((each) => each.stop()));
    await cluster.stop();
  }
});
