import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { scopes } from '../../src/caller/scopes.ts';
import { loadConfig } from '../../src/config/app-config.ts';
import { Sealer } from '../../src/redis/sealer.ts';
import { newApiKey, newEncryptionKey, newSecret } from '../support/canary.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { type RunningRedis, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Two processes of the built gateway in front of one Redis, as in production. */

const MEMBERS = '/v1/enterprises/ent-harbour/members';
const ASSETS = '/v1/enterprises/ent-harbour/assets';
const { key, hash } = newApiKey();
const folder = mkdtempSync(join(tmpdir(), 'gateway-replicas-'));

let sandbox: TestSandbox;
let redis: RunningRedis;
let environment: Record<string, string>;
let replicas: [GatewayProcess, GatewayProcess];

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  redis = await startRedis();
  const caller = { name: 'r', keys: [hash], scopes, enterprises: ['*'], channels: ['*'], users: ['*'] };
  writeFileSync(join(folder, 'callers.json'), JSON.stringify({ callers: [caller] }));
  const users = { default: { username: 'admin@harbour', password: sandbox.seedPassword } };
  writeFileSync(join(folder, 'users.json'), JSON.stringify(users));
  environment = {
    UPSTREAM_BASE_URL: sandbox.url,
    UPSTREAM_TOKEN_URL: sandbox.tokenUrl,
    UPSTREAM_APP_KEY: sandbox.appKey,
    UPSTREAM_APP_SECRET: sandbox.appSecret,
    UPSTREAM_USERS_FILE: join(folder, 'users.json'),
    CALLERS_FILE: join(folder, 'callers.json'),
    REDIS_URL: redis.url,
    ENCRYPTION_KEYS: newEncryptionKey(),
    // Longer than the test, so a fresh response was invalidated and did not expire.
    CACHE_TTL_MS: '600000',
    LOG_LEVEL: 'debug',
  };
  replicas = await Promise.all([startGatewayProcess(environment), startGatewayProcess(environment)]);
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  await redis.stop();
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

async function send(
  replica: GatewayProcess | undefined,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${replica?.url}${path}`, {
    method,
    headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }), ...headers },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

async function isLocked(replica: GatewayProcess | undefined): Promise<boolean> {
  const { body } = await send(replica, 'GET', ASSETS);
  const items = body['items'] as { assetNum: string; locked: boolean }[];
  return items.find(({ assetNum }) => assetNum === '8000001003')?.locked ?? false;
}

describe('two processes', () => {
  it('never show the state before a completed write, to any reader', async () => {
    // The test reset the sandbox directly, so a write must make the gateways drop their caches.
    await send(replicas[0], 'POST', '/v1/enterprises/ent-harbour/locks/enable', {
      assetNums: ['8000001003'],
    });
    const over = new AbortController();
    const readers = Array.from({ length: 6 }, async (_, index) => {
      while (!over.signal.aborted) await isLocked(replicas[index % 2]);
    });
    for (let round = 0; round < 30; round++) {
      const locked = round % 2 === 0;
      const path = locked
        ? '/v1/enterprises/ent-harbour/locks/disable'
        : '/v1/enterprises/ent-harbour/locks/enable';
      expect((await send(replicas[round % 2], 'POST', path, { assetNums: ['8000001003'] })).status).toBe(200);
      expect(await Promise.all(replicas.map(isLocked))).toEqual([locked, locked]);
    }
    over.abort();
    await Promise.all(readers);
    const asked = (await sandbox.journal('listAssets')).length;
    await Promise.all(replicas.map(isLocked));
    expect((await sandbox.journal('listAssets')).length).toBe(asked);
  });

  it('respond to the repeat of a delete with an unknown outcome with 204, on both processes', async () => {
    const path = `${MEMBERS}/mem-harbour-dora`;
    const action = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'deleteMember', times: 1, phase: 'after', action });
    expect((await send(replicas[0], 'DELETE', path)).body['code']).toBe('outcome-unknown');
    expect((await send(replicas[1], 'DELETE', path)).status).toBe(204);
    expect((await send(replicas[0], 'DELETE', path)).status).toBe(404);
  });

  it('share a session from its first request to its last', async () => {
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const opened = await send(replicas[0], 'POST', '/v1/sessions', login);
    expect(opened.status).toBe(201);
    const headers = { 'x-session-id': opened.body['sessionId'] as string };
    for (const replica of replicas)
      expect((await send(replica, 'GET', MEMBERS, undefined, headers)).status).toBe(200);
    expect((await send(replicas[1], 'DELETE', '/v1/sessions/current', undefined, headers)).status).toBe(204);
    for (const replica of replicas) {
      const { status, body } = await send(replica, 'GET', MEMBERS, undefined, headers);
      expect({ status, code: body['code'] }).toEqual({ status: 401, code: 'session-expired' });
    }
  });

  it('leave no token, password, key or session id readable in Redis or in their logs', async () => {
    const password = newSecret('m');
    const added = await send(replicas[0], 'POST', MEMBERS, {
      members: [
        { account: 'newcomer', password, name: 'New Comer' },
        { account: 'anna', password, name: 'Taken' },
      ],
    });
    expect(added.status).toBe(207);
    const login = { username: 'bo@harbour', password: sandbox.seedPassword };
    const opened = await send(replicas[1], 'POST', '/v1/sessions', login);
    const sessionId = opened.body['sessionId'] as string;
    for (const replica of replicas)
      await send(replica, 'GET', MEMBERS, undefined, { 'x-session-id': sessionId });

    const client = new Redis(redis.url);
    const keys = await client.keys('*');
    const values = await Promise.all(keys.map(async (each) => (await client.get(each)) ?? ''));
    client.disconnect();
    const readable = [...keys, ...values, ...replicas.map((replica) => replica.output())].join('\n');

    // The sealed values, opened with the gateways' key: these are the real tokens.
    const sealer = new Sealer(loadConfig(environment).redis.encryptionKeys);
    // A token's age and version come before it.
    const opening = keys.map(
      (each, index) => sealer.open(values[index]?.split(':').at(-1) ?? '', each) ?? '',
    );
    const tokens = opening.flatMap((text) =>
      [...text.matchAll(/"(?:value|refreshToken)":"([^"]+)"/g)].map(([, token]) => token ?? ''),
    );
    expect(tokens.length).toBeGreaterThanOrEqual(4);
    for (const secret of [
      ...tokens,
      password,
      sandbox.seedPassword,
      sandbox.appSecret,
      sandbox.appKey,
      key,
      sessionId,
    ]) {
      expect(readable.includes(secret)).toBe(false);
    }
  });
});
