import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { endings } from '../support/endings.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { TestGateway } from '../support/gateway.ts';
import { AUDIENCE, Issuer } from '../support/issuer.ts';
import { orderOf } from '../support/order-body.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** The servers that a gateway calls move to another address, while the old ones still answer and keep their connections open. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const ORDERS = '/v1/license-orders';
const LONG_MS = 600_000;
/** The time is longer than a connection is used. */
const LIFE_MS = 4 * 60_000;

const before = new TestSandbox();
const after = new TestSandbox();
const gateway = new TestGateway([
  { name: 'portal', scopes: ['orders:read'], enterprises: ['*'], channels: ['*'], users: ['*'] },
]);
const { atEnd } = endings();
let oldIssuer: Issuer;
let newIssuer: Issuer;
let child: GatewayProcess;
let passedMs = 0;
let names: Record<string, string> = {};
const move = (moved: Record<string, string>) => child.disturb({ names: (names = { ...names, ...moved }) });
/** undici takes the age of a connection from the wall clock. */
const later = () => child.disturb({ clock: (passedMs += LIFE_MS) });

beforeAll(async () => {
  await before.open({ keepAliveTimeoutMs: LONG_MS });
  const { port, pathname } = new URL(before.tokenUrl);
  const { appKey, appSecret } = before;
  await after.open({ host: '127.0.0.2', port: Number(port), appKey, appSecret });
  oldIssuer = await Issuer.start();
  newIssuer = await Issuer.start({ host: '127.0.0.2', port: oldIssuer.port, kid: 'new-key' });
  const environment = {
    UPSTREAM_BASE_URL: `http://platform.example:${port}`,
    UPSTREAM_TOKEN_URL: `http://users.example:${port}${pathname}`,
    ALLOW_INSECURE_UPSTREAM: 'true',
    WEBHOOK_HOSTS: 'hook.example,127.0.0.0/8',
    ALLOW_INSECURE_WEBHOOKS: 'true',
    JWT_ISSUER: 'https://issuer.example',
    JWT_AUDIENCE: AUDIENCE,
    // Plain HTTP is for this machine only.
    JWT_JWKS_URL: `http://localhost:${oldIssuer.port}/keys`,
  };
  await gateway.open(before, environment, async (all) => {
    child = await startGatewayProcess(all, { disturbed: true });
    return child;
  });
  const at = '127.0.0.1';
  await move({ 'platform.example': at, 'users.example': at, 'hook.example': at, localhost: at });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([before.close(), after.close(), oldIssuer.close(), newIssuer.close()]);
});

const reads = async (sandbox: TestSandbox) => (await sandbox.journal('listAssets')).length;
async function place(number: string): Promise<void> {
  const { status, text } = await gateway.post(ORDERS, orderOf(number));
  expect([status, status === 201 ? '' : text]).toEqual([201, '']);
}

it('U34 the platform and its token endpoint are followed when the connections have lived for a few minutes', async () => {
  expect((await gateway.get(ASSETS)).status).toBe(200);
  await move({ 'platform.example': '127.0.0.2', 'users.example': '127.0.0.2' });
  expect((await gateway.get(ASSETS)).status).toBe(200);
  expect([await reads(before), await reads(after)]).toEqual([2, 0]);
  await later();
  // The new platform does not know the token of the old one.
  expect((await gateway.get(ASSETS)).status).toBe(200);
  await place('SO-MOVED-1');
  expect([await reads(before), await reads(after)]).toEqual([2, 2]);
  expect((await after.commits()).map(({ channelOrderId }) => channelOrderId)).toEqual(['SO-MOVED-1']);
});

it('U34 requests go on while connections are renewed, and each is sent once', async () => {
  const sentBefore = await reads(after);
  for (let round = 0; round < 3; round++) {
    const all = Array.from({ length: 40 }, () => gateway.get(ASSETS));
    if (round === 1) await later();
    expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([200]));
  }
  expect((await reads(after)) - sentBefore).toBe(120);
});

it('U34 a receiver is followed in the same way', async () => {
  const received: string[] = [];
  const listen = async (host: string, port: number) => {
    const server = createServer((request, response) => {
      received.push(host);
      request.resume();
      response.writeHead(204).end();
    });
    server.keepAliveTimeout = LONG_MS;
    await once(server.listen(port, host), 'listening');
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  };
  const port = await listen('127.0.0.1', 0);
  await listen('127.0.0.2', port);
  const made = await gateway.post('/v1/webhooks', {
    url: `http://hook.example:${port}/`,
    types: ['job.failed'],
  });
  const test = () => gateway.request('POST', `/v1/webhooks/${String(made.body['webhookId'])}/test`);
  await test();
  await move({ 'hook.example': '127.0.0.2' });
  await test();
  await later();
  await test();
  expect(received).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.2']);
});

it('U34 the issuer is followed at once, since each request for its keys has a connection of its own', async () => {
  const claims = { iss: 'https://issuer.example', azp: 'portal', scope: 'orders:read' };
  const statusOf = async (issuer: Issuer, kid: string) => {
    const authorization = `Bearer ${await issuer.token(claims, { kid })}`;
    return (await gateway.get(ASSETS, { key: null, headers: { authorization } })).status;
  };
  await child.disturb({ clock: 0 });
  expect(await statusOf(oldIssuer, 'key-1')).toBe(200);
  await move({ localhost: '127.0.0.2' });
  expect(await statusOf(newIssuer, 'new-key')).toBe(200);
});
