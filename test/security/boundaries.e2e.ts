import { networkInterfaces } from 'node:os';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { endings } from '../support/endings.ts';
import { read, write } from '../support/expected.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess } from '../support/gateway-process.ts';
import { operationCases } from '../support/operations.ts';
import { RawServer } from '../support/raw-server.ts';
import { until } from '../support/redis.ts';
import { type JournalEntry, TestSandbox } from '../support/sandbox.ts';

/** Which servers the gateway calls, what it exposes, and what input can change in it; the shipped process, in production. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const DISABLE = '/v1/enterprises/ent-harbour/locks/disable';
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
      ...{ NODE_ENV: 'production', GUARD_INIT: 'auto', HOST: '0.0.0.0' },
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

describe('S16 in production', () => {
  it('the port of callers has no documentation and no metrics, and metrics are for this machine alone', async () => {
    for (const path of ['/docs', '/docs/', '/openapi.json', '/metrics', '/metrics/', '/docs-json']) {
      const { status, body } = await fleet.get(0, path);
      expect([path, status, body['code']]).toEqual([path, 404, 'not-found']);
    }
    const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text();
    expect(metrics).toContain('gateway_requests_total');
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

describe('a prototype', () => {
  it('S9 cannot be reached by callers: the gateway refuses the request, and sends nothing on', async () => {
    for (const body of [
      '{"__proto__":{"polluted":1}}',
      '{"constructor":{"prototype":{"polluted":1}}}',
      '{"assetNums":["8000001003"],"__proto__":{"operatorIdentity":"somebody"}}',
      '{"assetNums":["8000001003"],"\\u005f_proto__":{"operatorIdentity":"somebody"}}',
      '{"assetNums":[{"__proto__":{"polluted":1}}]}',
      '{"assetNums":{"__proto__":["8000001003"],"length":1}}',
      '[{"__proto__":{"polluted":1}}]',
    ])
      expect([body, (await send(DISABLE, body)).status]).toEqual([body, 400]);
    for (const query of ['__proto__[polluted]=1', 'constructor[prototype][polluted]=1', '__proto__=1'])
      expect([query, (await send(`${MEMBERS}?${query}`)).status]).toEqual([query, 400]);
    for (const id of ['__proto__', 'constructor', 'toString']) {
      // Ids of the right form that do not exist, so that a lookup finds none, also with a polluted prototype.
      const answers = [
        await send(`${MEMBERS}?departmentId=${id}`),
        await send(`/problems/${id}`),
        await send(MEMBERS, undefined, { 'x-acting-user': id }),
      ];
      expect([id, answers.map(({ status }) => status)]).toEqual([id, [400, 404, 403]]);
    }
    expect(await sandbox.calls()).toEqual([]);
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
  /** With these the gateway makes no connection or no request. */
  const crippling = {
    socketPath: '/nowhere',
    upgrade: 'polluted',
    query: { polluted: 1 },
    body: 'polluted',
  };

  it('S9 when polluted, changes nothing in what the gateway sends to the platform, or makes the gateway fail', async () => {
    const disturbed = ended(await Fleet.start(sandbox, 1, { how: { disturbed: true } }));
    const clean = await callAll(disturbed);
    expect(clean.sent.length).toBeGreaterThanOrEqual(operationCases.length);
    await disturbed.gateways[0]?.disturb({ pollute: pollution(sink), enumerable: false });
    expect(await callAll(disturbed)).toEqual(clean);
    // Where every loop over an object finds it.
    await disturbed.gateways[0]?.disturb({ pollute: pollution(sink), enumerable: true });
    await expectNothingElse(disturbed, clean);
    expect(sink.connections).toEqual([]);
  });

  it('S9 when polluted so that the gateway fails, causes no other request and no success', async () => {
    const disturbed = ended(await Fleet.start(sandbox, 1, { how: { disturbed: true } }));
    const clean = await callAll(disturbed);
    await disturbed.gateways[0]?.disturb({ pollute: crippling, enumerable: false });
    await expectNothingElse(disturbed, clean);
    // Every caller has a second credential then.
    await disturbed.gateways[0]?.disturb({
      pollute: { authorization: 'Bearer polluted' },
      enumerable: false,
    });
    const { statuses, sent } = await callAll(disturbed);
    expect([new Set(statuses), sent]).toEqual([new Set([401]), []]);
  });

  interface Calls {
    /** 0 where no response came. */
    readonly statuses: readonly number[];
    readonly sent: readonly object[];
  }

  /** Whatever fails: no request but those of a clean gateway leaves it, and none succeeds that would not. */
  async function expectNothingElse(disturbed: Fleet, clean: Calls): Promise<void> {
    const { statuses, sent } = await callAll(disturbed);
    for (const request of sent) expect(clean.sent).toContainEqual(request);
    for (const [index, status] of statuses.entries())
      expect([0, 401, 500, 502, 503, clean.statuses[index]]).toContain(status);
    if (!statuses.includes(0)) return;
    // What fails in a callback of a library ends the process, for example when a collection of garbage is measured.
    const polluted = disturbed.gateways[0] as GatewayProcess;
    await until(`the gateway has ended, after ${statuses.join()}`, () => polluted.child.exitCode !== null);
    expect([await polluted.ended, polluted.output()]).toEqual([
      1,
      expect.stringContaining('"event":"uncaught-exception"'),
    ]);
  }

  const ORDER_NUMBER = /SO-\d/;
  const TRACE_ID = 'a'.repeat(32);
  let rounds = 0;

  /** Calls every operation once. */
  async function callAll(disturbed: Fleet): Promise<Calls> {
    await sandbox.reset();
    const { url } = disturbed.gateways[0] as GatewayProcess;
    const statuses: number[] = [];
    rounds++;
    for (const { method, path, body } of operationCases) {
      // Under the same number it would be the same order, and the gateway would not send it.
      const text = body && JSON.stringify(body).replace(ORDER_NUMBER, `SO-${rounds}`);
      const answered = fetch(url + path, {
        method,
        headers: {
          'x-api-key': disturbed.key,
          'x-request-id': 'one',
          traceparent: `00-${TRACE_ID}-${'1'.repeat(16)}-01`,
          ...(text && { 'content-type': 'application/json' }),
        },
        body: text ?? null,
      });
      statuses.push(
        await answered.then(
          ({ status }) => status,
          () => 0,
        ),
      );
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

// The last one: breakers are open then. Of the token endpoint: row T18.
it('S8 the gateway follows no redirect', async () => {
  for (const httpStatus of [301, 302, 303, 307, 308]) {
    await sandbox.reset();
    const action = { httpStatus, headers: { location: `${sink.origin}/steal` } };
    await sandbox.fault({ operation: '*', action });
    for (const { path, body } of [read, write]) {
      const answer = await send(path, body && JSON.stringify(body));
      expect([httpStatus, path, answer.status]).toEqual([httpStatus, path, 502]);
      expect(answer.headers.get('location')).toBeNull();
    }
  }
  expect(sink.connections).toEqual([]);
});
