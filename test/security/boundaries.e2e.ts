import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { endings } from '../support/endings.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess } from '../support/gateway-process.ts';
import { operationCases } from '../support/operations.ts';
import { RawServer } from '../support/raw-server.ts';
import { type JournalEntry, TestSandbox } from '../support/sandbox.ts';

/** Which servers the gateway calls, what it exposes, and what input can change in it; the shipped process, in production. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const DISABLE = '/v1/enterprises/ent-harbour/locks/disable';
const FRESH = { 'cache-control': 'no-cache' };
const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);

const { ended } = endings();
let sandbox: TestSandbox;
let fleet: Fleet;
let gateway: GatewayProcess;
/** Where no request may go. */
let sink: RawServer;
let issuer: RawServer;

beforeAll(async () => {
  [sandbox, sink, issuer] = await Promise.all([TestSandbox.start(), RawServer.start(), RawServer.start()]);
  fleet = await Fleet.start(sandbox, 1, {
    environment: {
      ...{ NODE_ENV: 'production', DATABASE_INIT: 'auto', HOST: '0.0.0.0' },
      ...Object.fromEntries(PROXIES.map((name) => [name, sink.origin])),
      ...{ NO_PROXY: '', no_proxy: '' },
      // The variable that Node itself uses.
      NODE_USE_ENV_PROXY: '1',
      ...{ JWT_ISSUER: issuer.origin, JWT_AUDIENCE: 'gateway', JWT_JWKS_URL: `${issuer.origin}/keys` },
    },
  });
  gateway = fleet.gateways[0] as GatewayProcess;
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await fleet.stop();
  await Promise.all([sandbox.close(), sink.close(), issuer.close()]);
});

const send = (path: string, body?: string, headers: Record<string, string> = {}) =>
  fetch(gateway.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': fleet.key, 'content-type': 'application/json', ...headers },
    body: body ?? null,
    redirect: 'manual',
  });

it('S8 with any proxy variable, the gateway calls the platform, the token endpoint and the issuer of JWTs directly', async () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: issuer.origin, aud: 'gateway' };
  const jwt = [part({ alg: 'RS256', kid: 'one' }), part(claims), 'c2ln'].join('.');
  await fetch(gateway.url + ASSETS, { headers: { authorization: `Bearer ${jwt}` } });
  // An application token, a user's token, a login; a read and a write of each module.
  const login = { username: 'anna@harbour', password: sandbox.seedPassword };
  for (const answer of [
    await send(ASSETS),
    await send(MEMBERS),
    await send(DISABLE, '{"assetNums":["8000001003"]}'),
    await send('/v1/sessions', JSON.stringify(login)),
  ])
    expect([answer.url, answer.ok]).toEqual([answer.url, true]);
  expect(sink.connections).toEqual([]);
  expect(issuer.requests).toEqual(['GET /keys HTTP/1.1']);
});

it('S17 every attempt has a nonce of its own, of which every digit varies', async () => {
  for (const code of ['60000', '500']) {
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { code } });
    expect([code, (await send(ASSETS, undefined, FRESH)).status]).toEqual([code, 200]);
  }
  await Promise.all(Array.from({ length: 80 }, () => send(ASSETS, undefined, FRESH)));
  const nonces = (await sandbox.calls()).map(({ query }) => query['g_nonce'] ?? '');
  // A token that was refused, and an exception of the platform, had a second attempt each.
  expect(nonces).toHaveLength(84);
  expect(nonces.filter((nonce) => !/^[0-9a-f]{32}$/.test(nonce))).toEqual([]);
  expect(new Set(nonces).size).toBe(84);
  // Of 84 even draws fewer than four of 16 digits appear once in 10^45 runs.
  for (let place = 0; place < 32; place++)
    expect([place, new Set(nonces.map((nonce) => nonce[place])).size > 3]).toEqual([place, true]);
});

describe('S16 in production', () => {
  it('the port of callers has no documentation and no metrics, and metrics are for this machine alone', async () => {
    for (const path of [
      '/docs',
      '/docs/',
      '/openapi.json',
      '/openapi-3.0.json',
      '/postman-collection.json',
      '/metrics',
      '/metrics/',
      '/docs-json',
    ]) {
      const { status, body } = await fleet.get(0, path);
      expect([path, status, body['code']]).toEqual([path, 404, 'not-found']);
    }
    const problem = await fetch(`${gateway.url}/problems/outcome-unknown`, {
      headers: { accept: 'text/html' },
    });
    expect(await problem.text()).not.toContain('href="/docs');
    const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text();
    expect(metrics).toContain('gateway_requests_total');
    for (const path of ['/v1/customers', '/docs', '/health/live'])
      expect((await fetch(gateway.managementUrl + path)).status).toBe(404);
    const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    for (const { address } of addresses.filter(({ internal, family }) => !internal && family === 'IPv4')) {
      const isServed = (url: string) =>
        fetch(url.replace(/(?<=\/\/)[^:]+/, address), { signal: AbortSignal.timeout(10_000) }).then(
          () => true,
          () => false,
        );
      expect([await isServed(gateway.url), await isServed(gateway.managementUrl)]).toEqual([true, false]);
    }
  });
});

describe('a prototype', () => {
  // Options that HTTP clients read even when they were not given.
  const pollution = ({ origin, port }: RawServer) => ({
    baseURL: origin,
    allowAbsoluteUrls: true,
    proxy: { host: '127.0.0.1', port, protocol: 'http' },
    auth: { username: 'x', password: 'y' },
    params: { polluted: 1 },
    maxRedirects: 5,
    origin,
    servername: 'elsewhere.invalid',
    userToken: 'polluted',
    headers: { 'x-polluted': '1' },
    data: { polluted: 1 },
    url: '/steal',
    path: '/steal',
    method: 'DELETE',
    hostname: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    'x-polluted': '1',
    polluted: 1,
  });

  it('S9 when polluted, changes nothing in what the gateway sends to the platform', async () => {
    const disturbed = ended(await Fleet.start(sandbox, 1, { how: { disturbed: true } }));
    const clean = await callAll(disturbed);
    expect(clean.sent.length).toBeGreaterThanOrEqual(operationCases.length);
    await disturbed.gateways[0]?.disturb({ pollute: pollution(sink) });
    expect(await callAll(disturbed)).toEqual(clean);
    expect(sink.connections).toEqual([]);
  });

  const ORDER_NUMBER = /SO-\d/;
  const TRACE_ID = 'a'.repeat(32);
  let rounds = 0;

  /** Calls every operation once. */
  async function callAll(disturbed: Fleet): Promise<{ statuses: number[]; sent: object[] }> {
    await sandbox.reset();
    const { url } = disturbed.gateways[0] as GatewayProcess;
    const statuses: number[] = [];
    rounds++;
    for (const { method, path, body } of operationCases) {
      // Under the same number it would be the same order, and the gateway would not send it.
      const text = body && JSON.stringify(body).replace(ORDER_NUMBER, `SO-${rounds}`);
      const { status } = await fetch(url + path, {
        method,
        headers: {
          'x-api-key': disturbed.key,
          'x-request-id': 'one',
          traceparent: `00-${TRACE_ID}-${'1'.repeat(16)}-01`,
          ...(text && { 'content-type': 'application/json' }),
        },
        body: text ?? null,
      });
      statuses.push(status);
    }
    return { statuses, sent: (await sandbox.calls()).map(seen) };
  }

  function seen({ method, path, query, headers, body }: JournalEntry): object {
    const { g_nonce: _, ...rest } = query;
    // The gateway gives each request to the platform an id of its own within the caller's trace.
    const trace = headers['traceparent']?.replace(/(?<=^00-\w{32}-)\w{16}/, 'parent');
    const text = JSON.stringify(body)?.replace(ORDER_NUMBER, 'SO');
    return { method, path, query: rest, headers: { ...headers, traceparent: trace }, text };
  }
});
