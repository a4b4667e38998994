import { connect, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { type RunningRedis, startRedis, until } from '../support/redis.ts';
import { whenClosed } from '../support/socket.ts';
import { useStack } from '../support/stack.ts';

/** What one caller may use of the gateway. test/faults/callers.faults.ts shows that its flood does not affect others. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const ENCRYPTION_KEYS = newEncryptionKey();

const limited = (name: string, requests: number, perSeconds = 3_600) => ({
  name,
  scopes: ['orders:read', 'orders:write'],
  enterprises: ['ent-harbour'],
  channels: ['crm'],
  rateLimit: { requests, perSeconds },
});

const { sandbox, gateway } = useStack({
  callers: [
    limited('five', 5),
    limited('brief', 1, 2),
    limited('one', 1),
    limited('changed', 1),
    limited('endless', 1_000_000),
  ],
});
const { ended } = endings();

/** A replica that counts in this Redis. */
async function replica({ url }: RunningRedis, requests: number): Promise<TestGateway> {
  const store = { REDIS_URL: url, ENCRYPTION_KEYS };
  return ended(await TestGateway.start(sandbox, store, [limited('limited', requests)]));
}

const ask = (caller: string, path = ASSETS, at = gateway) => at.get(path, { key: at.keys[caller] as string });

function standing({ headers }: TestAnswer): { policy: string | null; left: number; ends: number } {
  const [, left, ends] = /^"default";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
  return { policy: headers.get('ratelimit-policy'), left: Number(left), ends: Number(ends) };
}

describe("a caller's rate limit", () => {
  it('is counted down on every response, of any status, and ends in 429 before the gateway acts', async () => {
    const key = gateway.keys['five'] as string;
    const answers = [
      await ask('five'),
      await ask('five', '/v1/enterprises/ent-meridian/assets'),
      await ask('five', `${ASSETS}?nonsense=1`),
      await ask('five', '/v1/nothing'),
      await gateway.post('/v1/license-orders', '{', { key }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 400, 404, 400]);
    for (const [index, answer] of answers.entries()) {
      const { policy, left, ends } = standing(answer);
      expect({ policy, left }).toEqual({ policy: '"default";q=5;w=3600', left: 4 - index });
      expect(ends).toBeGreaterThan(3_000);
      expect(ends).toBeLessThanOrEqual(3_600);
    }
    const calls = await sandbox.calls();
    const order = { channelCode: 'crm', channelOrderId: 'SO-1', items: [] };
    for (const refused of [await ask('five'), await gateway.post('/v1/license-orders', order, { key })]) {
      expect(refused.status).toBe(429);
      expect(refused.body).toMatchObject({
        code: 'too-many-requests',
        outcome: 'not_processed',
        retryable: true,
        requestId: refused.headers.get('x-request-id'),
      });
      expect(standing(refused)).toMatchObject({ policy: '"default";q=5;w=3600', left: 0 });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
    }
    expect(await sandbox.calls()).toEqual(calls);
    expect(await gateway.metrics()).toContain('gateway_requests_refused_total{reason="caller-rate"} 2');
  });

  it('ends when it says so', async () => {
    let refused: TestAnswer | undefined;
    await until('the limit is used up', async () => (refused = await ask('brief')).status === 429);
    const retryAfter = Number(refused?.headers.get('retry-after'));
    expect([1, 2]).toContain(retryAfter);
    await new Promise((resolve) => setTimeout(resolve, retryAfter * 1_000 + 50));
    expect((await ask('brief')).status).toBe(200);
  });

  it('does not count health, problems, the documentation, and requests of unknown callers', async () => {
    for (const path of [
      '/health/live',
      '/health/ready',
      '/problems',
      '/problems/forbidden',
      '/openapi.json',
    ]) {
      const answer = await ask('one', path);
      expect([path, answer.status, answer.headers.get('ratelimit')]).toEqual([path, 200, null]);
    }
    const unknown = await gateway.get(ASSETS, { key: 'lgw_nobody' });
    expect([unknown.status, unknown.headers.get('ratelimit-policy')]).toEqual([401, null]);
    expect(standing(await ask('one'))).toMatchObject({ left: 0 });
  });

  it('is absent from the responses to a caller without a limit', async () => {
    for (let times = 0; times < 3; times++) {
      const { status, headers } = await gateway.get(ASSETS);
      expect([status, headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([200, null, null]);
    }
  });

  it('is one for all replicas', async () => {
    const redis = ended(await startRedis());
    const [first, second] = await Promise.all([replica(redis, 30), replica(redis, 30)]);
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, index) => ask('limited', ASSETS, index % 2 ? first : second)),
    );
    const served = answers.filter(({ status }) => status === 200);
    expect(served).toHaveLength(30);
    const places = served.map((answer) => standing(answer).left);
    expect(places.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, place) => place));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  });

  it('goes on in each process during an outage of Redis, and delays no request', async () => {
    const redis = ended(await startRedis());
    const alone = await replica(redis, 20);
    const asked = () => ask('limited', ASSETS, alone);
    expect(standing(await asked())).toMatchObject({ left: 19 });
    await redis.kill9();
    await until('Redis is down', async () => (await alone.get('/health/ready')).body['redis'] === 'down');
    const answers = await Promise.all(Array.from({ length: 40 }, () => asked()));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(21);
  });

  it('follows the callers file', async () => {
    expect((await ask('changed')).status).toBe(200);
    expect((await ask('changed')).status).toBe(429);
    const entry = gateway.callers.find(({ name }) => name === 'changed');
    if (entry) entry.rateLimit = { requests: 2, perSeconds: 60 };
    const reloaded = gateway.logged('callers-reloaded');
    gateway.writeCallers();
    await reloaded;
    const answer = await ask('changed');
    expect([answer.status, standing(answer).policy]).toEqual([200, '"default";q=2;w=60']);
    expect(standing(answer).ends).toBeLessThanOrEqual(60);
  });
});

describe('requests in flight of one caller', () => {
  it("are at most half of the gateway's: beyond them 429, while other callers are served", async () => {
    const { hostname, port } = new URL(gateway.url);
    const held = new Set<Socket>();
    let over = false;
    /** A request that never sends its body, and another one once the first is closed. */
    const hold = (): void => {
      const socket = connect(Number(port), hostname);
      held.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        held.delete(socket);
        if (!over) hold();
      });
      socket.resume();
      socket.write(
        `POST /v1/customers HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${gateway.keys['endless']}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n',
      );
    };
    for (let count = 0; count < 2_500; count++) hold();
    let refused: TestAnswer | undefined;
    await until('the caller is refused', async () => (refused = await ask('endless')).status === 429);
    expect(refused?.body).toMatchObject({
      code: 'too-many-requests',
      outcome: 'not_processed',
      retryable: true,
    });
    expect(refused?.headers.get('retry-after')).toBe('1');
    for (let times = 0; times < 20; times++) expect((await gateway.get(ASSETS)).status).toBe(200);
    expect((await gateway.get('/health/ready')).body).toMatchObject({ status: 'ok', load: 'ok' });
    expect(await gateway.metrics()).toMatch(/refused_total\{reason="caller-in-flight"\} [1-9]/);

    over = true;
    const closing = [...held].map(whenClosed);
    for (const socket of held) socket.destroy();
    await Promise.all(closing);
    await until('the caller is served again', async () => (await ask('endless')).status === 200);
  });
});
