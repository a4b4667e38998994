import { beforeEach, expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { Fleet } from '../support/fleet.ts';
import { TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { postgresUrl } from '../support/postgres.ts';
import { type RunningRedis, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { useSandbox } from '../support/stack.ts';

/** What operators do to a running gateway. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const ORDERS = '/v1/license-orders';
const CURRENT = '/v1/sessions/current';

const sandbox = useSandbox();
let redis: RunningRedis;
let databaseUrl: string;
const { atEnd, ended } = endings();

beforeEach(async () => {
  await sandbox.reset({ tokens: true });
  redis = ended(await startRedis());
  databaseUrl = await postgresUrl();
});

async function gatewayWith(
  encryptionKeys: string,
  platform = sandbox,
  more: Record<string, string> = {},
): Promise<TestGateway> {
  const environment = {
    ...{ REDIS_URL: redis.url, DATABASE_URL: databaseUrl },
    ...{ ENCRYPTION_KEYS: encryptionKeys, CACHE_TTL_MS: '600000' },
  };
  return ended(await TestGateway.start(platform, { ...environment, ...more }));
}

async function logIn(gateway: TestGateway, platform = sandbox): Promise<Record<string, string>> {
  const login = { username: 'anna@harbour', password: platform.seedPassword };
  const { body } = await gateway.post('/v1/sessions', login);
  return { 'x-session-id': String(body['sessionId']) };
}

it('O1 replacing an encryption key loses no session, no token, no cached read and no order', async () => {
  const [old, next] = [newEncryptionKey('k1'), newEncryptionKey('k2')];
  const before = await gatewayWith(old);
  const headers = await logIn(before);
  const placed = await before.post(ORDERS, orderOf('SO-O1'));
  expect(placed.status).toBe(201);
  expect((await before.get(ASSETS)).status).toBe(200);

  // The operator adds the new key everywhere, then uses it, then removes the old one.
  const knowing = await gatewayWith(`${old},${next}`);
  const using = await gatewayWith(`${next},${old}`);
  const asked = (await sandbox.journal()).length;
  for (const gateway of [knowing, using]) {
    const read = await gateway.get(ASSETS);
    expect([read.status, read.headers.get('age')]).toEqual([200, expect.stringMatching(/^\d+$/)]);
    const again = await gateway.post(ORDERS, orderOf('SO-O1'));
    expect([again.status, again.headers.get('idempotent-replayed'), again.text]).toEqual([
      201,
      'true',
      placed.text,
    ]);
    expect((await gateway.request('GET', CURRENT, { headers })).status).toBe(200);
  }
  expect((await sandbox.journal()).length).toBe(asked);
  // Gateways that still use the old key read what the new one seals.
  const newer = await logIn(using);
  expect((await knowing.request('GET', CURRENT, { headers: newer })).status).toBe(200);
});

it('O6 in production the documentation is not served, and its page requests nothing else', async () => {
  const fleet = await Fleet.start(sandbox, 1, {
    environment: { NODE_ENV: 'production', DATABASE_INIT: 'auto' },
  });
  ended(fleet);
  const paths = ['/docs', '/docs/', '/docs/index.html', '/docs/swagger-ui-init.js', '/docs-json'];
  for (const path of [...paths, '/openapi.json', '/docs-yaml', '/api', '/swagger']) {
    const { status, body } = await fleet.get(0, path);
    expect([path, status, body['code']]).toEqual([path, 404, 'not-found']);
  }
});

it('O8 two platforms on one Redis and one database share no token, session, read or order', async () => {
  const other = await TestSandbox.start();
  atEnd(() => other.close());
  const keys = newEncryptionKey();
  // The same application at both; only the address of the platform differs.
  const [here, there] = [
    await gatewayWith(keys),
    await gatewayWith(keys, other, { UPSTREAM_TOKEN_URL: other.tokenUrl }),
  ];
  const headers = await logIn(here);
  expect((await here.get(ASSETS)).status).toBe(200);
  expect((await here.post(ORDERS, orderOf('SO-O8'))).status).toBe(201);

  expect((await there.get(ASSETS)).headers.get('age')).toBeNull();
  expect((await other.journal('token')).length).toBeGreaterThan(0);
  expect(await other.journal('listAssets')).toHaveLength(1);
  expect((await there.request('GET', CURRENT, { headers })).status).toBe(401);
  expect((await there.get(`${ORDERS}/crm/SO-O8`)).status).toBe(404);
  const placed = await there.post(ORDERS, orderOf('SO-O8'));
  expect([placed.status, placed.headers.get('idempotent-replayed')]).toEqual([201, null]);
  expect([(await sandbox.commits()).length, (await other.commits()).length]).toEqual([1, 1]);
});
