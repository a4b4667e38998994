import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { makeCertificates } from '../support/certificates.ts';
import { endings } from '../support/endings.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { AUDIENCE } from '../support/issuer.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { whenClosed } from '../support/socket.ts';

/** What comes from outside and is not what it should be, at the shipped bundle: nothing of it may throw where nothing catches. */

const { atEnd, ended } = endings();
let sandbox: TestSandbox;
let fleet: Fleet;
let gateway: GatewayProcess;
let issuer: Server;
let keys = '{"keys":[]}';

beforeAll(async () => {
  issuer = createServer((_request, response) => response.end(keys)).listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  const url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  sandbox = await TestSandbox.start();
  fleet = await Fleet.start(sandbox, 1, {
    environment: {
      DOCS: 'on',
      JWT_ISSUER: url,
      JWT_AUDIENCE: AUDIENCE,
      JWT_JWKS_URL: `${url}/keys`,
      CACHE_TTL_MS: '1000',
    },
    redis: ['--appendonly', 'yes', '--appendfsync', 'always'],
    caller: { rateLimit: { requests: 1_000_000, perSeconds: 3_600 } },
  });
  gateway = fleet.gateways[0] as GatewayProcess;
});
afterAll(async () => {
  await fleet.stop();
  await sandbox.close();
  issuer.close();
});
/** A fatal alert, decode_error (RFC 8446, section 6). */
const ALERT = Buffer.from([0x15, 3, 3, 0, 2, 2, 50]);
const ODD_JWT = ['{"alg":"ES256","kid":"odd","typ":"at+jwt"}', '{"iss":"x"}', 'x']
  .map((part) => Buffer.from(part).toString('base64url'))
  .join('.');
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
  // With the line of the request, which names its path and status.
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
      ...['HEAD / HTTP/1.1', 'HEAD /console HTTP/1.1', 'OPTIONS * HTTP/1.1', 'TRACE / HTTP/1.1'],
      ...['CONNECT x:1 HTTP/1.1', 'GET \\ HTTP/1.1', 'PURGE / HTTP/1.1', 'PATCH /metrics HTTP/1.1'],
      ...['DELETE /console/api/v1/jobs/%', 'DELETE /console/api/v1/jobs/%e0%a4%a', 'GET /'],
      ...['POST /console/api/v1/license-orders/%ff/x/settlement HTTP/1.1', 'GET /metrics HTTP/1.0'],
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
    await expectAlive();
  });

  it('the files of callers and users when they are read again: none, a folder, a circle of links, no folder', async () => {
    const files = ['callers', 'users'].map((name) => ({
      path: `${fleet.folder}/${name}.json`,
      times: (event: string) => gateway.output().split(`"event":"${name}-${event}"`).length,
    }));
    /** Changes both files, and waits until the gateway tells of both. */
    const change = async (event: string, make: (path: string) => void) => {
      const before = files.map(({ times }) => times(event));
      for (const { path } of files) make(path);
      await until(`the gateway has told: ${event}`, () =>
        files.every(({ times }, index) => times(event) > (before[index] ?? 0)),
      );
      expect((await fleet.get(0, '/v1/callers/me')).status).toBe(200);
    };
    await change('rejected', (path) => renameSync(path, `${path}.away`));
    for (const make of [
      mkdirSync,
      (path: string) => symlinkSync(path, path),
      (path: string) => symlinkSync('/proc/self/mem', path),
      (path: string) => symlinkSync(`${fleet.folder}/away/under`, path),
    ])
      await change('rejected', (path) => {
        rmSync(path, { recursive: true, force: true });
        make(path);
      });
    await change('reloaded', (path) => {
      rmSync(path);
      renameSync(`${path}.away`, path);
    });
    await expectAlive();
  });

  it('what the issuer publishes', async () => {
    for (const odd of [
      '',
      'null',
      '{"keys":[null]}',
      '{"keys":{"length":1}}',
      '{"keys":[{"kid":1}]}',
      '['.repeat(9_000),
    ]) {
      keys = odd;
      const headers = { authorization: `Bearer ${ODD_JWT}` };
      expect([401, 503]).toContain((await fetch(`${gateway.url}/v1/callers/me`, { headers })).status);
    }
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
    const OTHER = {
      string: 'list',
      list: 'hash',
      hash: 'set',
      set: 'string',
      zset: 'hash',
      stream: 'string',
    };
    const spoilt = await ask(fleet.redis, async (client) => {
      const names = await client.keys('*');
      for (const name of names) {
        const own = (await client.type(name)) as keyof typeof OTHER;
        const type = kind === 'another type' ? OTHER[own] : own;
        const fields = type === 'hash' && own === 'hash' ? await client.hkeys(name) : [];
        await client.del(name);
        if (type === 'string') await client.set(name, '\u0000{"garbage":');
        else if (type === 'list') await client.rpush(name, 'garbage');
        else if (type === 'hash')
          for (const field of [...fields, 'garbage']) await client.hset(name, field, '\u0000{"garbage":');
        else if (type === 'zset') await client.zadd(name, 1, 'garbage');
        else await client.sadd(name, 'garbage');
      }
      return names.length;
    });
    expect(spoilt).toBeGreaterThan(5);
    const from = performance.now();
    // Longer than the longest pause of what runs by itself.
    await until('every timer has run', async () => {
      await use(`after${kind.length}`);
      for (const path of CONSOLE)
        expect([200, 503]).toContain((await fetch(gateway.managementUrl + path)).status);
      return performance.now() - from > 3_000;
    });
    await ask(fleet.redis, (client) => client.flushall());
    await expectAlive();
  });

  it('an alert behind a certificate that is refused, of each server that the gateway calls', async () => {
    const { good } = await makeCertificates();
    const hasty = async (redis: string, orders: string) => {
      const trap = await tlsTrap(good);
      atEnd(() => trap.close());
      const at = (name: string) => `${name}://127.0.0.1:${trap.port}`;
      const started = await startGatewayProcess({
        ...fleet.environment,
        ...{ REDIS_URL: at(redis), GUARD_REDIS_URL: `${at(orders)}?sentinelMasterId=main` },
        ...{ UPSTREAM_BASE_URL: at('https'), UPSTREAM_TOKEN_URL: at('https') },
        OTEL_EXPORTER_OTLP_ENDPOINT: at('https'),
        ...{ JWT_ISSUER: at('https'), JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: at('https') },
      });
      return { trap, started: ended(started) };
    };
    const callers = { key: { 'x-api-key': fleet.key }, token: { authorization: `Bearer ${ODD_JWT}` } };
    const all = [hasty('rediss', 'rediss+sentinel'), hasty('rediss-cluster', 'rediss+sentinel')];
    for (const { trap, started } of await Promise.all(all)) {
      await until('the gateway has refused the certificate often', async () => {
        for (const headers of Object.values(callers)) {
          const { status } = await fetch(`${started.url}${PATHS[3]}`, { headers });
          expect(status).toBe(503);
        }
        return trap.refused > 20;
      });
      expect((await fetch(`${started.url}/health/live`)).status).toBe(200);
      expect(started.child.exitCode).toBeNull();
      expect(started.output()).not.toContain('"event":"uncaught-exception"');
    }
  });
});

/** A TLS server with an alert in the same segment as the end of its handshake: bytes that come when the client has refused it already. */
async function tlsTrap(identity: object) {
  const seen = { port: 0, refused: 0, close: () => undefined as unknown };
  const listening = async (server: TcpServer) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const inner = createTlsServer(identity, (socket) => socket.on('error', () => undefined));
  const port = await listening(inner.on('tlsClientError', () => undefined));
  const outer = createTcpServer((caller) => {
    const target = connect(port, '127.0.0.1');
    caller.on('error', () => undefined).on('close', () => target.destroy());
    target.on('error', () => undefined).on('close', () => caller.destroy());
    caller.on('data', (chunk) => target.write(chunk)).on('close', () => seen.refused++);
    target.once('data', (first) => {
      caller.write(Buffer.concat([first, ALERT]));
      target.on('data', (chunk) => caller.write(chunk));
    });
  });
  seen.port = await listening(outer);
  seen.close = () => [inner, outer].map((server) => server.close());
  return seen;
}
