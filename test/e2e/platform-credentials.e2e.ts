import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { endings } from '../support/endings.ts';
import type { TestGateway } from '../support/gateway.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { orderOf } from '../support/order-body.ts';
import { useSandbox } from '../support/stack.ts';
import { credential } from '../support/settings.ts';

/** Platforms that bend section 5 of the interface: nonce, tokens, and how they are asked for, given and refused. */

const HARBOUR = '/v1/enterprises/ent-harbour';

const sandbox = useSandbox();
const { ended } = endings();
const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
afterAll(() => rmSync(folder, { recursive: true }));
const PLATFORM_PROFILE_FILE = join(folder, 'profile.json');

beforeEach(async () => {
  await sandbox.reset({ tokens: true });
  await sandbox.acceptSecrets(sandbox.appSecret);
});

async function gatewayOf(played: object, told: object, environment: Record<string, string> = {}) {
  await sandbox.control('PUT', '/profile', played);
  writeFileSync(PLATFORM_PROFILE_FILE, JSON.stringify({ version: 1, readings: told }));
  return ended(await startInProcess(sandbox, { PLATFORM_PROFILE_FILE, ...environment }));
}

const logIn = (gateway: TestGateway, password: string) =>
  gateway.post('/v1/sessions', { username: 'anna@harbour', password });

/** Reads, writes, places an order, and opens a session. Returns the header of the session. */
async function expectAllWorks(gateway: TestGateway): Promise<{ 'x-session-id': string }> {
  const edit = { account: 'dora', name: 'Dora Two' };
  const statuses = [
    await gateway.get(`${HARBOUR}/assets`),
    await gateway.get(`${HARBOUR}/members`),
    await gateway.request('PATCH', `${HARBOUR}/members/mem-harbour-dora`, { body: edit }),
    await gateway.post('/v1/license-orders', orderOf('SO-credentials')),
  ].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 204, 201]);
  const opened = await logIn(gateway, sandbox.seedPassword);
  expect(opened.status).toBe(201);
  const session = { 'x-session-id': String(opened.body['sessionId']) };
  expect((await gateway.get(`${HARBOUR}/members`, { headers: session })).status).toBe(200);
  expect((await sandbox.commits()).length).toBe(1);
  return session;
}

async function expectRenewals(gateway: TestGateway, headers: { 'x-session-id': string }): Promise<void> {
  await sandbox.revokeTokens();
  for (const path of ['assets', 'members'])
    expect((await gateway.get(`${HARBOUR}/${path}`)).status).toBe(200);
  expect((await gateway.get(`${HARBOUR}/members`, { headers })).status).toBe(200);
  const grants = (await sandbox.journal('token')).map(
    ({ body }) => (body as { grant_type: string }).grant_type,
  );
  expect(grants).toContain('refresh_token');
}

async function expectRefusals(gateway: TestGateway): Promise<void> {
  const wrong = credential();
  const { status, body } = await logIn(gateway, wrong);
  expect([status, body['code']]).toEqual([401, 'login-failed']);
  const reloaded = gateway.logged('users-reloaded');
  gateway.writeUsers({
    default: { username: 'admin@harbour', password: sandbox.seedPassword },
    stranger: { username: 'anna@harbour', password: wrong },
  });
  await reloaded;
  const headers = { 'x-acting-user': 'stranger' };
  const strange = await gateway.get(`${HARBOUR}/members`, { headers });
  expect([strange.status, strange.body['code']]).toEqual([502, 'upstream-credential-rejected']);
  await sandbox.acceptSecrets(credential());
  await sandbox.revokeTokens({ tokens: 'all' });
  for (const path of ['assets', 'members']) {
    const refused = await gateway.get(`${HARBOUR}/${path}`);
    expect([path, refused.status, refused.body]).toEqual([
      path,
      502,
      expect.objectContaining({ code: 'upstream-credential-rejected', outcome: 'not_processed' }),
    ]);
  }
  const log = (await gateway.log()).join('\n');
  for (const reason of ['invalid_client', 'invalid_grant']) expect(log).toContain(`"reason":"${reason}"`);
  for (const secret of [wrong, sandbox.appSecret, sandbox.seedPassword]) expect(log).not.toContain(secret);
}

describe('T19 a platform that gives and refuses tokens in its own way', () => {
  it.each([
    { tokenEnvelope: 'data' },
    { tokenStatus: '201' },
    { tokenType: 'bearer' },
    { tokenType: 'absent' },
    { tokenRefusals: '200' },
    { tokenRefusals: '299' },
    { tokenEnvelope: 'data', tokenStatus: '201', tokenType: 'absent', tokenRefusals: '200' },
  ])('is understood without a profile: %j', async (played) => {
    const gateway = await gatewayOf(played, {});
    const session = await expectAllWorks(gateway);
    await expectRenewals(gateway, session);
    await expectRefusals(gateway);
  });
});

describe('T20 a platform that demands another form of what the gateway sends', () => {
  it.each([
    { nonceForm: 'uuid' },
    { nonceForm: 'digits' },
    { nonceForm: 'short' },
    { clientToken: 'bearer' },
    { userToken: 'bearer' },
    { tokenScope: 'refused' },
    { nonceForm: 'short', clientToken: 'bearer', userToken: 'bearer', tokenScope: 'refused' },
  ])('gets it as the profile says: %j', async (played) => {
    const gateway = await gatewayOf(played, played, { UPSTREAM_USER_SCOPE: 'auth_me' });
    const session = await expectAllWorks(gateway);
    await expectRenewals(gateway, session);
    await expectRefusals(gateway);
  });

  it('gets no scope where the variables are empty, and one token serves both modules', async () => {
    const gateway = await gatewayOf(
      { tokenScope: 'refused' },
      {},
      { UPSTREAM_ORDER_SCOPE: '', UPSTREAM_MEMBER_SCOPE: '' },
    );
    await expectAllWorks(gateway);
    const grants = (await sandbox.journal('token')).map(({ body }) => body);
    expect(grants.filter((body) => (body as { scope: unknown }).scope !== null)).toEqual([]);
    expect(grants).toHaveLength(3);
  });

  it('gets it from the next call on where the profile changes while the gateway runs', async () => {
    const gateway = await gatewayOf({}, {});
    expect((await gateway.get(`${HARBOUR}/members`)).status).toBe(200);
    const played = { nonceForm: 'uuid', clientToken: 'bearer', userToken: 'bearer' };
    await sandbox.control('PUT', '/profile', played);
    const reloaded = gateway.logged('profile-reloaded');
    writeFileSync(PLATFORM_PROFILE_FILE, JSON.stringify({ version: 1, readings: played }));
    await reloaded;
    expect((await gateway.get(`${HARBOUR}/members`)).status).toBe(200);
  });
});
