import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { TestGateway } from '../support/gateway.ts';
import { type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

const ASSETS = '/v1/enterprises/ent-harbour/assets';

let sandbox: TestSandbox;
const { ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start({ tokenLifetimeSeconds: 600 });
});
beforeEach(() => sandbox.reset({ tokens: true }));
afterAll(() => sandbox.close());

async function gatewayWith(environment: Record<string, string> = {}): Promise<TestGateway> {
  return ended(await TestGateway.start(sandbox, environment));
}

const tokenRequests = async () => (await sandbox.journal('token')).length;
const ready = async (gateway: TestGateway) => (await gateway.get('/health/ready')).body;
const labels = async () =>
  (await sandbox.journal('listAssets')).map(({ headers }) => headers['authorization']);

describe('an application token', () => {
  it('is requested once for hundreds of callers at the same time', async () => {
    const gateway = await gatewayWith();
    const answers = await Promise.all(Array.from({ length: 300 }, () => gateway.get(ASSETS)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(await tokenRequests()).toBe(1);
  });

  it('that was revoked is renewed once for all callers in flight, and every one is served', async () => {
    const gateway = await gatewayWith();
    await gateway.get(ASSETS);
    await sandbox.revokeTokens();
    const answers = await Promise.all(Array.from({ length: 200 }, () => gateway.get(ASSETS)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(await tokenRequests()).toBe(2);
    expect((await sandbox.journal('listAssets')).length).toBeLessThanOrEqual(1 + 200 * 2);
    expect((await labels()).at(-1)).toBe('app:auth_order#2');
  });

  it('is sent in the body when the platform requires it', async () => {
    const gateway = await gatewayWith({ UPSTREAM_TOKEN_AUTH: 'body' });
    expect((await gateway.get(ASSETS)).status).toBe(200);
    const [entry] = await sandbox.journal('token');
    expect(entry?.headers['authorization']).toBeUndefined();
  });

  it('that expires is replaced before the platform could refuse it', async () => {
    const short = await TestSandbox.start({ tokenLifetimeSeconds: 4 });
    const gateway = await TestGateway.start(short);
    while ((await short.journal('token')).length < 3) expect((await gateway.get(ASSETS)).status).toBe(200);
    const codes = (await short.journal('listAssets')).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(['0']));
    await gateway.stop();
    await short.close();
  });
});

describe('with Redis', () => {
  let redis: RunningRedis;
  const encryptionKeys = newEncryptionKey();
  const shared = () => ({ REDIS_URL: redis.url, ENCRYPTION_KEYS: encryptionKeys });

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(() => redis.stop());

  it('a token is shared by replicas and outlives each of them', async () => {
    const first = await gatewayWith(shared());
    await first.get(ASSETS);
    const second = await gatewayWith(shared());
    await second.get(ASSETS);
    expect(await tokenRequests()).toBe(1);
    expect(await labels()).toEqual(['app:auth_order#1', 'app:auth_order#1']);
    expect((await second.get('/health/ready')).body).toEqual({
      status: 'ok',
      redis: 'up',
      orders: 'up',
      tokens: 'up',
      upstream: 'up',
      load: 'ok',
    });
  });

  it('a revoked token is not brought back from the store', async () => {
    const gateway = await gatewayWith(shared());
    await gateway.get(ASSETS);
    await sandbox.revokeTokens();
    expect((await gateway.get(ASSETS)).status).toBe(200);
    expect((await labels()).at(-1)).toBe('app:auth_order#2');
    expect(await labels()).toHaveLength(3);
  });

  it('a crash of Redis disturbs no caller, and readiness says degraded', async () => {
    const gateway = await gatewayWith(shared());
    await gateway.get(ASSETS);
    const closed = gateway.logged('redis-away');
    await redis.kill9();
    await closed;
    expect((await gateway.get(ASSETS)).status).toBe(200);
    expect(await tokenRequests()).toBe(1);
    // It notices the loss of each of its two connections by itself.
    await until('both are down', async () => {
      const { redis: cache, orders } = await ready(gateway);
      return cache === 'down' && orders === 'down';
    });
    expect(await ready(gateway)).toEqual({
      status: 'degraded',
      redis: 'down',
      orders: 'down',
      tokens: 'up',
      upstream: 'up',
      load: 'ok',
    });
  });

  it('an outage of Redis at start delays no request', async () => {
    await redis.kill9();
    const gateway = await gatewayWith(shared());
    expect((await gateway.get(ASSETS)).status).toBe(200);
  });
});
