import { networkInterfaces } from 'node:os';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { endings } from '../support/endings.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess } from '../support/gateway-process.ts';
import { operationCases } from '../support/operations.ts';
import { RawServer } from '../support/raw-server.ts';
import { type JournalEntry, TestSandbox } from '../support/sandbox.ts';

/** Which servers the gateway calls, what it exposes, and what input can change in it; the shipped process. */

jest.setTimeout(180_000);

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';

let sandbox: TestSandbox;
const { atEnd, ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset({ tokens: true }));
afterAll(() => sandbox.close());

async function fleetOf(options: Parameters<typeof Fleet.start>[2] = {}): Promise<Fleet> {
  return ended(await Fleet.start(sandbox, 1, options));
}

async function newSink(): Promise<RawServer> {
  const sink = await RawServer.start();
  atEnd(() => sink.close());
  return sink;
}

describe('S8 with any proxy variable in the environment', () => {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);

  it('the gateway calls the platform, the token endpoint and the issuer of JWTs directly, with their secrets', async () => {
    const [sink, issuer] = [await newSink(), await newSink()];
    const fleet = await fleetOf({
      environment: {
        ...Object.fromEntries(names.map((name) => [name, sink.origin])),
        NO_PROXY: '',
        no_proxy: '',
        // The variable that Node itself uses.
        NODE_USE_ENV_PROXY: '1',
        JWT_ISSUER: issuer.origin,
        JWT_AUDIENCE: 'gateway',
        JWT_JWKS_URL: `${issuer.origin}/keys`,
      },
    });
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const jwt = [
      part({ alg: 'RS256', kid: 'one' }),
      part({ iss: issuer.origin, aud: 'gateway' }),
      'c2ln',
    ].join('.');
    await fetch(`${fleet.gateways[0]?.url}${ASSETS}`, { headers: { authorization: `Bearer ${jwt}` } });
    // An application token, a user's token, a login; a read and a write of each module.
    expect((await fleet.get(0, ASSETS)).status).toBe(200);
    expect((await fleet.get(0, MEMBERS)).status).toBe(200);
    expect(
      (await fleet.post(0, '/v1/enterprises/ent-harbour/locks/disable', { assetNums: ['8000001003'] }))
        .status,
    ).toBe(200);
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    expect((await fleet.post(0, '/v1/sessions', login)).status).toBe(201);
    expect(sink.connections).toEqual([]);
    expect(issuer.requests).toEqual(['GET /keys HTTP/1.1']);
  });
});

it('S8 the gateway follows no redirect, from any server and for any request', async () => {
  const elsewhere = await newSink();
  const fleet = await fleetOf();
  const { url } = fleet.gateways[0] as GatewayProcess;
  const headers = { location: `${elsewhere.origin}/steal` };
  for (const operation of ['*', 'token']) {
    for (const httpStatus of [301, 302, 303, 307, 308]) {
      await sandbox.reset({ tokens: true });
      await sandbox.fault({ operation, action: { httpStatus, headers } });
      for (const { method, path, body } of operationCases) {
        const answer = await fetch(url + path, {
          method,
          headers: {
            'x-api-key': fleet.key,
            'content-type': 'application/json',
            'cache-control': 'no-cache',
          },
          body: body ? JSON.stringify(body) : null,
          redirect: 'manual',
        });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(answer.headers.get('location')?.includes(elsewhere.origin) ?? false).toBe(false);
      }
    }
  }
  expect(elsewhere.connections).toEqual([]);
});

describe('a prototype', () => {
  const poisoned = [
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"assetNums":["8000001003"],"__proto__":{"operatorIdentity":"somebody"}}',
    '{"assetNums":["8000001003"],"\\u005f_proto__":{"operatorIdentity":"somebody"}}',
    '{"assetNums":["8000001003"],"constructor":{"prototype":{"polluted":1}}}',
    '{"assetNums":[{"__proto__":{"polluted":1}}]}',
    '{"assetNums":{"__proto__":["8000001003"],"length":1}}',
    '[{"__proto__":{"polluted":1}}]',
  ];

  it('S9 cannot be reached by callers: the gateway refuses the request with the path of the field, and sends nothing on', async () => {
    const fleet = await fleetOf();
    const { url } = fleet.gateways[0] as GatewayProcess;
    const send = (path: string, body?: string) =>
      fetch(url + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'x-api-key': fleet.key, 'content-type': 'application/json' },
        body: body ?? null,
      });
    for (const body of poisoned)
      expect((await send('/v1/enterprises/ent-harbour/locks/disable', body)).status).toBe(400);
    for (const query of [
      '__proto__[polluted]=1',
      '__proto__=1',
      'constructor[prototype][polluted]=1',
      '__proto__.polluted=1',
    ])
      expect((await send(`${MEMBERS}?${query}`)).status).toBe(400);
    for (const id of ['__proto__', 'constructor', 'hasOwnProperty', 'toString']) {
      // Ids of the right form that do not exist, so that a lookup finds none, also with a polluted prototype.
      expect((await send(`/v1/enterprises/ent-harbour/members?departmentId=${id}`)).status).toBe(400);
      expect((await send(`/problems/${id}`)).status).toBe(404);
      const acting = await fetch(`${url}${MEMBERS}`, {
        headers: { 'x-api-key': fleet.key, 'x-acting-user': id },
      });
      expect(acting.status).toBe(403);
    }
    const sent = (await sandbox.calls()).map(({ operation }) => operation);
    expect(sent).toEqual([]);
    expect((await send(ASSETS)).status).toBe(200);
  });

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
  /** With these the gateway makes no connection or request, or every caller has a second credential, which is refused. */
  const crippling = {
    authorization: 'Bearer polluted',
    socketPath: '/nowhere',
    upgrade: 'polluted',
    query: { polluted: 1 },
    body: 'polluted',
  };

  it('S9 when polluted, changes nothing in what the gateway sends to the platform', async () => {
    const sink = await newSink();
    const fleet = await fleetOf({ how: { disturbed: true } });
    const clean = await callAll(fleet);
    await fleet.gateways[0]?.disturb({ pollute: pollution(sink), enumerable: false });
    const polluted = await callAll(fleet);
    expect(polluted.statuses).toEqual(clean.statuses);
    expect(polluted.sent).toEqual(clean.sent);
    expect(clean.sent.length).toBeGreaterThanOrEqual(operationCases.length);
    expect(sink.connections).toEqual([]);
  });

  it('S9 when polluted so that the gateway fails, causes no other request and no success', async () => {
    const sink = await newSink();
    const fleet = await fleetOf({ how: { disturbed: true } });
    const clean = await callAll(fleet);
    const expectNothingElse = async () => {
      const { sent, statuses } = await callAll(fleet);
      for (const request of sent) expect(clean.sent).toContainEqual(request);
      for (const [index, status] of statuses.entries())
        expect([401, 500, 502, 503, clean.statuses[index]]).toContain(status);
    };
    await fleet.gateways[0]?.disturb({ pollute: crippling, enumerable: false });
    await expectNothingElse();
    // Where every loop over an object finds it.
    await fleet.gateways[0]?.disturb({ pollute: pollution(sink), enumerable: true });
    // What fails in a timer of a library ends the process, with its requests.
    await expectNothingElse().catch(async (error: unknown) => {
      if (!(error instanceof TypeError)) throw error;
      expect(await fleet.gateways[0]?.ended).toBe(1);
      for (const request of (await sandbox.calls()).map(seen)) expect(clean.sent).toContainEqual(request);
    });
    expect(sink.connections).toEqual([]);
  });

  const ORDER_NUMBER = /SO-\d/;
  const TRACE_ID = 'a'.repeat(32);
  let rounds = 0;

  /** Calls every operation once; returns the responses and the requests that reach the platform. */
  async function callAll(fleet: Fleet): Promise<{ statuses: number[]; sent: object[] }> {
    await sandbox.reset();
    const { url } = fleet.gateways[0] as GatewayProcess;
    const statuses: number[] = [];
    rounds++;
    for (const { method, path, body } of operationCases) {
      // Under the same number it would be the same order, and the gateway would not send it.
      const text = body && JSON.stringify(body).replace(ORDER_NUMBER, `SO-${rounds}`);
      const answer = await fetch(url + path, {
        method,
        headers: {
          'x-api-key': fleet.key,
          'x-request-id': 'one',
          traceparent: `00-${TRACE_ID}-${'1'.repeat(16)}-01`,
          ...(text && { 'content-type': 'application/json' }),
        },
        body: text ?? null,
      });
      statuses.push(answer.status);
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

describe('S16 in production', () => {
  it('the port of callers has no documentation and no metrics, and metrics are for this machine alone', async () => {
    const fleet = await fleetOf({
      environment: { NODE_ENV: 'production', GUARD_INIT: 'auto', HOST: '0.0.0.0' },
    });
    const gateway = fleet.gateways[0] as GatewayProcess;
    for (const path of ['/docs', '/docs/', '/openapi.json', '/metrics', '/metrics/', '/docs-json']) {
      const { status, body } = await fleet.get(0, path);
      expect([path, status, body['code']]).toEqual([path, 404, 'not-found']);
    }
    const metrics = await fetch(`${gateway.managementUrl}/metrics`);
    expect([metrics.status, await metrics.text()]).toEqual([
      200,
      expect.stringContaining('gateway_requests_total'),
    ]);
    for (const path of ['/v1/customers', '/docs', '/health/live'])
      expect((await fetch(gateway.managementUrl + path)).status).toBe(404);
    const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    for (const { address } of addresses.filter(({ internal, family }) => !internal && family === 'IPv4')) {
      expect(await accepts(address, Number(new URL(gateway.url).port))).toBe(true);
      expect(await accepts(address, Number(new URL(gateway.managementUrl).port))).toBe(false);
    }
  });

  function accepts(host: string, port: number): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host, port, timeout: 10_000 });
      const end = (isOpen: boolean) => {
        socket.destroy();
        resolve(isOpen);
      };
      socket
        .once('connect', () => end(true))
        .once('error', () => end(false))
        .once('timeout', () => end(false));
    });
  }
});
