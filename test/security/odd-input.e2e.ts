import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';
import { whenClosed } from '../support/socket.ts';

/** What comes from outside and is not what it should be, at the shipped bundle: nothing of it may throw where nothing catches. */

const sandbox = useSandbox();
let fleet: Fleet;
let gateway: GatewayProcess;

beforeAll(async () => {
  fleet = await Fleet.start(sandbox, 1, {
    environment: { DOCS: 'on', CACHE_TTL_MS: '1000' },
    redis: ['--appendonly', 'yes', '--appendfsync', 'always'],
    caller: { rateLimit: { requests: 1_000_000, perSeconds: 3_600 } },
  });
  gateway = fleet.gateways[0] as GatewayProcess;
});
afterAll(() => fleet.stop());
/** Characters of the output that earlier tests have looked at. */
let told = 0;
async function expectAlive(): Promise<void> {
  await until('the gateway serves', async () => {
    const signal = AbortSignal.timeout(5_000);
    return (await fetch(`${gateway.url}/health/live`, { signal })).ok;
  });
  expect(gateway.child.exitCode).toBeNull();
  const lines = gateway.output().slice(told).split('\n');
  told = gateway.output().length;
  const faults = lines.filter((line) =>
    /"event":"(uncaught-exception|unhandled-rejection|fault|internal-error)"/.test(line),
  );
  const ids = new Set(faults.map((line) => /"requestId":"[^"]*"/.exec(line)?.[0]));
  // The lines have the path and the status of the request.
  expect(lines.filter((line) => ids.has(/"requestId":"[^"]*"/.exec(line)?.[0]))).toEqual([]);
  expect(faults).toEqual([]);
}

/** Sends bytes unchanged, reads what comes, and waits for the end of the connection, but not for long. */
async function sendRaw(url: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.write(Buffer.from(bytes, 'latin1')));
  socket.on('error', () => undefined).resume();
  const patience = setTimeout(() => socket.destroy(), 300);
  await whenClosed(socket);
  clearTimeout(patience);
}

const upload = (rows: string) =>
  fetch(`${gateway.url}/v1/enterprises/ent-harbour/member-imports`, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key, 'content-type': 'text/csv' },
    body: `account,password,name\n${rows}`,
  });
const PATHS = [
  '/v1/callers/me',
  '/v1/jobs',
  '/v1/gaps',
  '/v1/enterprises/ent-harbour/assets',
  '/v1/enterprises/ent-harbour/members/export',
  '/v1/license-orders/crm/SO-odd',
];
const CONSOLE = ['/console/state', '/console/orders', '/console/jobs', '/console/gaps', '/metrics'];

describe('S22 what is not what it should be:', () => {
  it.each(['url', 'managementUrl'] as const)('requests, on the listener %s', async (listener) => {
    const url = gateway[listener];
    const key = `X-Api-Key: ${fleet.key}\r\n`;
    const lines = [
      ...['/', '*', '//', '///console', '/%', '/%ff', '/%00', '/?%', '/#', 'http://x/metrics'],
      ...['', '/', '/..', '/%', '/console.js?%', '/__proto__', '/toString', '?'].flatMap((path) => [
        `/console${path}`,
        `/docs${path}`,
      ]),
      ...['state?replica=%', 'state?replica=__proto__', 'jobs?rows=../x', 'jobs?rows=%00', 'orders?%'].map(
        (path) => `/console/${path}`,
      ),
      ...['/console/api/v1/callers/me?%', '/problems/%', '/problems/__proto__', '/v1/jobs/%00/events'],
    ].map((path) => `GET ${path} HTTP/1.1`);
    const others = [
      ...['HEAD /console HTTP/1.1', 'OPTIONS * HTTP/1.1', 'TRACE / HTTP/1.1', 'CONNECT x:1 HTTP/1.1'],
      ...['GET \\ HTTP/1.1', 'DELETE /console/api/v1/jobs/%e0%a4%a', 'GET /', 'GET /metrics HTTP/1.0'],
    ];
    const heads = [
      'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n',
      'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
      'Expect: 100-continue\r\nContent-Length: 5\r\n',
      'Expect: what\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Content-Length: -1\r\n',
      'Accept: \u00e9\r\nAccept-Encoding: \u00ff;q=\r\nIf-None-Match: "\r\nOrigin: \r\nSec-Fetch-Site: \r\n',
    ];
    const pages = ['/', '/console', '/metrics', '/v1/jobs'].map((path) => `GET ${path} HTTP/1.1`);
    const asked = [
      ...[...lines, ...others].map((line) => [line, ''] as const),
      ...[...pages, 'POST /v1/license-orders HTTP/1.1'].flatMap((line) =>
        heads.map((head) => [line, head] as const),
      ),
    ].map(([line, head]) => `${line}\r\nHost: localhost\r\n${key}${head}Connection: close\r\n\r\n`);
    const bytes = ['\0\0\0\0', '\x16\x03\x01\x02\x00\x01', '\r\n\r\n\r\n', 'a'.repeat(40_000)];
    await Promise.all([...asked, ...bytes].map((each) => sendRaw(url, each)));
    await expectAlive();
  });

  it('connections that break at any moment of a request or a response', async () => {
    const rows = Array.from({ length: 400 }, (_, index) => `odd${index},${newSecret('m')},Odd`).join('\n');
    const { jobId } = (await (await upload(rows)).json()) as { jobId: string };
    const head = `Host: localhost\r\nX-Api-Key: ${fleet.key}\r\n`;
    const paths = [
      ...PATHS,
      ...[
        `/v1/jobs/${jobId}/events`,
        `/v1/jobs/${jobId}/rows`,
        '/openapi.json',
        '/docs/swagger-ui-bundle.js',
      ],
    ];
    const post = (path: string, type: string, more: string) =>
      `POST ${path} HTTP/1.1\r\n${head}Content-Type: ${type}\r\n${more}`;
    const begun = 'Content-Length: 9000\r\n\r\n{"a"';
    const requests: (readonly [url: string, text: string])[] = [
      ...paths.map((path) => [gateway.url, `GET ${path} HTTP/1.1\r\n${head}\r\n`] as const),
      ...[...CONSOLE, '/console/console.js'].map(
        (path) => [gateway.managementUrl, `GET ${path} HTTP/1.1\r\n${head}\r\n`] as const,
      ),
      [gateway.url, post('/v1/enterprises/ent-harbour/member-imports', 'text/csv', begun)],
      [
        gateway.url,
        post('/v1/license-orders', 'application/json', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":'),
      ],
      [
        gateway.managementUrl,
        post('/console/api/v1/license-orders/crm/x/settlement', 'application/json', begun),
      ],
    ];
    const ways = ['resetAndDestroy', 'destroy', 'end'] as const;
    const breakOff = async (url: string, text: string, ending: (typeof ways)[number], afterMs: number) => {
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(text);
      setTimeout(() => socket[ending](), afterMs);
      // One that is only ended at this side may stay open while the events of a job last.
      setTimeout(() => socket.destroy(), 500);
      await whenClosed(socket);
    };
    for (const ending of ways)
      await Promise.all(
        requests.flatMap(([url, text]) => [0, 5, 40].map((afterMs) => breakOff(url, text, ending, afterMs))),
      );
    for (const gauge of ['gateway_requests_in_flight', 'gateway_request_body_bytes'])
      await until(`${gauge} is 0`, async () => {
        const metrics = await fetch(`${gateway.managementUrl}/metrics`);
        return (await metrics.text()).includes(`\n${gauge} 0\n`);
      });
    await expectAlive();
  });

  it.each(['another type', 'garbage in its own type'])('what stands in Redis: %s', async (kind) => {
    const use = async (name: string) => {
      await fleet.post(0, '/v1/license-orders', orderOf(`SO-odd-${name}`));
      await upload(`${name},${newSecret('m')},Kind`);
      for (const path of PATHS)
        await (await fetch(gateway.url + path, { headers: { 'x-api-key': fleet.key } })).text();
    };
    await use(`before${kind.length}`);
    const spoilt = await ask(fleet.redis, async (client) => {
      const names = await client.keys('*');
      for (const name of names) {
        const own = await client.type(name);
        const other = own === 'list' ? 'string' : 'list';
        const type = kind === 'another type' ? other : own;
        const fields = type === 'hash' ? await client.hkeys(name) : [];
        // Both commands run at once, because the gateway may write the key meanwhile.
        const spoil = client.multi().del(name);
        if (type === 'string') spoil.set(name, '\u0000{"garbage":');
        else if (type === 'list') spoil.rpush(name, 'garbage');
        else if (type === 'zset') spoil.zadd(name, 1, 'garbage');
        else if (type === 'set') spoil.sadd(name, 'garbage');
        else for (const field of fields) spoil.hset(name, field, '\u0000{"garbage":');
        await spoil.exec();
      }
      return names.length;
    });
    expect(spoilt).toBeGreaterThan(5);
    const from = performance.now();
    // The wait is longer than the longest pause of what runs by itself.
    await until('every timer has run', async () => {
      await use(`after${kind.length}`);
      for (const path of CONSOLE)
        expect([200, 503]).toContain((await fetch(gateway.managementUrl + path)).status);
      return performance.now() - from > 3_000;
    });
    await ask(fleet.redis, (client) => client.flushall());
    await expectAlive();
  });
});
