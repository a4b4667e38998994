import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import axios, { type AxiosResponse } from 'axios';
import { Pool } from 'undici';
import { ok, RawServer, type Seen } from '../../test/support/raw-server.ts';
import { freePort } from '../../test/support/redis.ts';
import { credential, settings } from '../../test/support/settings.ts';
import { whenClosed } from '../../test/support/socket.ts';
import { PassingSet } from '../kit/passing-set/passing-set.ts';
import { type Exchange, ResponseBudget, TransportError } from './exchange.ts';
import { Metrics } from '../observability/metrics.ts';
import { type Route, undiciAdapter, UpstreamPools } from './upstream-pools.ts';

const MAX_BYTES = 100_000;

let server: RawServer;
let elsewhere: RawServer;
const pools: UpstreamPools[] = [];
const ownPools: Pool[] = [];

beforeEach(async () => {
  [server, elsewhere] = await Promise.all([RawServer.start(), RawServer.start()]);
});
afterEach(async () => {
  await Promise.all([server.close(), elsewhere.close()]);
  await Promise.all(pools.splice(0).map((each) => each.destroy()));
  await Promise.all(ownPools.splice(0).map((each) => each.destroy()));
});

function poolsFor(baseUrl = server.origin, connectTimeoutMs = 60_000): UpstreamPools {
  const made = new UpstreamPools(
    settings({ UPSTREAM_BASE_URL: baseUrl, UPSTREAM_CONNECT_TIMEOUT_MS: String(connectTimeoutMs) }).upstream,
    new Metrics(),
  );
  pools.push(made);
  return made;
}

interface Call {
  readonly via?: Route;
  readonly url?: string;
  readonly timeout?: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly abandon?: AbortSignal;
  readonly underWay?: PassingSet<Exchange>;
  readonly budget?: ResponseBudget;
  readonly maxBytes?: number;
}

/** Makes one call as the upstream client does. */
function send({
  via = poolsFor().route('memberReads'),
  url = '/path',
  timeout = 60_000,
  body,
  headers,
  abandon,
  underWay,
  budget,
  maxBytes = MAX_BYTES,
}: Call = {}) {
  return axios
    .create({
      adapter: undiciAdapter(() => via, underWay, budget),
      allowAbsoluteUrls: false,
      maxRedirects: 0,
      proxy: false,
      maxContentLength: maxBytes,
      validateStatus: null,
      transformRequest: [],
      transformResponse: [],
    })
    .request<Buffer>({
      url,
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', 'accept-encoding': 'identity', ...headers },
      data: body,
      timeout,
      abandon,
    });
}

async function failureOf(call: Promise<AxiosResponse<Buffer>>): Promise<TransportError> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (outcome instanceof TransportError) return outcome;
  throw new Error('was no transport error', { cause: outcome });
}

/** Writes each piece in its own turn of the event loop. */
async function inPieces(socket: Socket, pieces: readonly string[]): Promise<void> {
  socket.setNoDelay();
  for (const piece of pieces) {
    socket.write(piece);
    await setImmediate();
  }
}

describe('a whole response', () => {
  it('comes with its status, headers in lower case and body in bytes', async () => {
    const body = Buffer.from('{"名":"é"}');
    server.respond = (socket) => {
      socket.write(
        `HTTP/1.1 299 Business\r\nX-Thing: A\r\nRetry-After: 3\r\ncontent-length: ${body.length}\r\n\r\n`,
      );
      socket.write(body);
    };
    const { status, headers, data } = await send();
    expect(status).toBe(299);
    expect(headers).toMatchObject({ 'x-thing': 'A', 'retry-after': '3' });
    expect(Buffer.isBuffer(data)).toBe(true);
    expect(data).toEqual(body);
  });

  it.each([204, 304, 401, 500, 999])('may have the status %i', async (status) => {
    const length = status === 204 || status === 304 ? '' : 'content-length: 0\r\n';
    server.respond = (socket) => socket.write(`HTTP/1.1 ${status} x\r\n${length}\r\n`);
    expect(await send()).toMatchObject({ status, data: Buffer.alloc(0) });
  });

  it('may come in chunks, after an early hint, or end with the connection', async () => {
    const answers = [
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n',
      `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${ok('{}')}`,
    ];
    for (const answer of answers) {
      server.respond = (socket) => socket.write(answer);
      const { status, data } = await send();
      expect([status, String(data)]).toEqual([200, '{}']);
    }
    server.respond = (socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}');
    expect(String((await send()).data)).toBe('{}');
  });

  it('may come after a 100 that nobody asked for, in any pieces, on a connection that is used again', async () => {
    const via = poolsFor().route('memberReads');
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
    const answers = [
      [interim, ok('{}')],
      [interim + ok('{}')],
      [...(interim + ok('{}'))],
      [
        `HTTP/1.1 100 \r\nx: HTTP/1.1 200\r\n\r\n${interim}`,
        `HTTP/1.1 103 Early Hints\r\n\r\n${interim}${ok('{}')}`,
      ],
    ];
    for (const pieces of answers) {
      server.respond = (socket) => void inPieces(socket, pieces);
      const { status, data } = await send({ via });
      expect([pieces, status, String(data)]).toEqual([pieces, 200, '{}']);
    }
    expect(server.connections.length).toBeLessThan(answers.length);
    const body = 'HTTP/1.1 100 Continue';
    server.respond = (socket) => void inPieces(socket, [ok(body).slice(0, -body.length), body]);
    expect(String((await send({ via })).data)).toBe(body);
  });

  it('may be exactly as large as allowed', async () => {
    server.respond = (socket) => socket.write(ok('x'.repeat(MAX_BYTES)));
    expect((await send()).data).toHaveLength(MAX_BYTES);
  });
});

describe('a budget of large responses that is used up', () => {
  const large = { budget: new ResponseBudget(0), maxBytes: 1_000_000 };

  it('ends a large read, also through axios, which writes methods in lower case', async () => {
    server.respond = (socket) => socket.write(ok('x'.repeat(300_000)));
    expect(await failureOf(send(large))).toMatchObject({ kind: 'abandoned', sent: true });
  });

  it('ends no small read, and no write, whose response says what it did', async () => {
    server.respond = (socket) => socket.write(ok('x'.repeat(1_000)));
    expect((await send(large)).data).toHaveLength(1_000);
    server.respond = (socket) => socket.write(ok('x'.repeat(300_000)));
    expect((await send({ ...large, body: '{}' })).data).toHaveLength(300_000);
  });
});

describe('what is sent', () => {
  it('is the path, body and headers of the call, and no header of a browser or client', async () => {
    await send({
      url: '/order/api?g_nonce=a%20b',
      body: '{"a":1}',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
    });
    const [{ bytes } = { bytes: '' }] = server.connections;
    const [head = '', body] = bytes.split('\r\n\r\n');
    const [line, ...headers] = head.split('\r\n');
    expect(line).toBe('POST /order/api?g_nonce=a%20b HTTP/1.1');
    expect(headers.map((header) => header.toLowerCase()).sort()).toEqual([
      'accept-encoding: identity',
      'accept: application/json',
      'authorization: bearer t',
      'connection: keep-alive',
      'content-length: 7',
      'content-type: application/json',
      `host: 127.0.0.1:${server.port}`,
    ]);
    expect(body).toBe('{"a":1}');
  });

  it('goes to the platform only, also where the environment names a proxy', async () => {
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
    const before = { ...process.env };
    for (const name of names) process.env[name] = elsewhere.origin;
    try {
      const made = poolsFor();
      for (const via of [made.route('memberReads'), made.route('orders')])
        expect((await send({ via })).status).toBe(200);
    } finally {
      for (const name of names) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
    expect(elsewhere.connections).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });

  it.each([301, 302, 303, 307, 308])('does not follow a redirect (%i)', async (status) => {
    const headers = `location: ${elsewhere.origin}/steal\r\ncontent-length: 0\r\n`;
    server.respond = (socket) => socket.write(`HTTP/1.1 ${status} x\r\n${headers}\r\n`);
    const answer = await send({ body: '{}', headers: { authorization: 'Bearer t' } });
    expect(answer.status).toBe(status);
    expect(elsewhere.connections).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });
});

describe('provably not sent', () => {
  it('is a request without a connection', async () => {
    const via = poolsFor(`http://127.0.0.1:${await freePort()}`).route('memberReads');
    const failure = await failureOf(send({ via }));
    expect(failure).toMatchObject({ kind: 'unreachable', sent: false, cause: { code: 'ECONNREFUSED' } });
  });

  it('is a request to a server without TLS, and it is never sent in plain text', async () => {
    server.connected = (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    const via = poolsFor(server.origin.replace('http', 'https')).route('memberReads');
    expect(await failureOf(send({ via, body: '{}' }))).toMatchObject({ kind: 'unreachable', sent: false });
    expect(server.requests).toEqual([]);
  });

  it('is a request that gets no connection in time', async () => {
    // The server accepts the connection but never responds to the TLS handshake, which is part of connecting.
    const via = poolsFor(server.origin.replace('http', 'https'), 100).route('memberReads');
    expect(await failureOf(send({ via, body: '{}' }))).toMatchObject({
      kind: 'connect-timeout',
      sent: false,
    });
  });

  it('is a request whose time runs out while it connects', async () => {
    const via = poolsFor(server.origin.replace('http', 'https')).route('memberReads');
    expect(await failureOf(send({ via, timeout: 50 }))).toMatchObject({ kind: 'timeout', sent: false });
  });

  it('is a request whose time runs out while it waits for a free connection, and it is not sent later either', async () => {
    const pool = new Pool(server.origin, { connections: 1 });
    ownPools.push(pool);
    const { promise: arrived, resolve } = Promise.withResolvers<Socket>();
    server.respond = (socket) => resolve(socket);
    const first = send({ via: pool, url: '/first', body: '{}' });
    const socket = await arrived;
    const second = failureOf(send({ via: pool, url: '/second', body: '{}', timeout: 30 }));
    expect(await second).toMatchObject({ kind: 'timeout', sent: false });
    server.respond = (next) => next.write(ok('{}'));
    socket.write(ok('{}'));
    expect((await first).status).toBe(200);
    expect((await send({ via: pool, url: '/third', body: '{}' })).status).toBe(200);
    expect(server.requests).toEqual(['POST /first HTTP/1.1', 'POST /third HTTP/1.1']);
  });
});

describe('a response that is lost after the request was sent', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n';
  it.each<[string, (socket: Socket) => void]>([
    ['closed before it', (socket) => socket.end()],
    [
      'reset in the middle of the headers',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nx: ', () => socket.resetAndDestroy()),
    ],
    [
      'reset in the middle of the body',
      (socket) => socket.write(`${head}{"code":0`, () => socket.resetAndDestroy()),
    ],
    ['closed before the body', (socket) => socket.end(head)],
  ])('%s', async (_, end) => {
    server.respond = end;
    expect(await failureOf(send({ body: '{}' }))).toMatchObject({ kind: 'lost', sent: true });
    expect(server.requests).toHaveLength(1);
  });

  it('is not asked for again, also on a connection that was idle', async () => {
    const via = poolsFor().route('memberReads');
    await send({ via });
    // The connection becomes free a moment after the response.
    await setImmediate();
    server.respond = (socket) => socket.resetAndDestroy();
    expect(await failureOf(send({ via }))).toMatchObject({ kind: 'lost', sent: true });
    expect(server.connections).toHaveLength(1);
    expect(server.requests).toHaveLength(2);
  });
});

describe('a response that is no HTTP', () => {
  it.each<[string, string]>([
    ['another protocol', 'SSH-2.0-OpenSSH_9\r\n\r\n'],
    ['64 KiB of headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(64 * 1024)}\r\n\r\n`],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
    ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
  ])('is malformed: %s', async (_, answer) => {
    server.respond = (socket) => socket.end(answer);
    expect(await failureOf(send({ body: '{}' }))).toMatchObject({ kind: 'malformed', sent: true });
  });

  it('is malformed where its chunks end without the last one', async () => {
    server.respond = (socket) =>
      socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n');
    expect(await failureOf(send())).toMatchObject({ kind: 'malformed', sent: true });
  });
});

describe('too large a response', () => {
  it.each<[string, string]>([
    ['by a byte', ok('x'.repeat(MAX_BYTES + 1))],
    [
      'in chunks',
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${`4000\r\n${'x'.repeat(0x4000)}\r\n`.repeat(10)}`,
    ],
  ])('is cut off (%s), and the connection with it', async (_, answer) => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    server.respond = (socket) => {
      socket.once('close', resolve);
      socket.write(answer);
    };
    expect(await failureOf(send())).toMatchObject({ kind: 'too-large', sent: true });
    await closed;
  });
});

describe('the deadline', () => {
  const drip = (first: string, piece: string) => (socket: Socket) => {
    socket.write(first);
    const timer = setInterval(() => socket.write(piece), 10);
    socket.once('close', () => clearInterval(timer));
  };
  it('is for the whole exchange, whatever comes meanwhile', async () => {
    const kinds: Record<string, (socket: Socket) => void> = {
      '/nothing': () => undefined,
      '/headers': drip('HTTP/1.1 200 OK\r\nx: ', 'y'),
      '/body': drip('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n', 'x'),
      '/chunks': drip('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n'),
      '/hints': drip('', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    };
    server.respond = (socket, head) => kinds[head.split(' ')[1] ?? '']?.(socket);
    const via = poolsFor().route('memberReads');
    const started = performance.now();
    await Promise.all(
      Object.keys(kinds).map(async (url) => {
        const { kind, sent } = await failureOf(send({ via, url, body: '{}', timeout: 2_500 }));
        expect([url, kind, sent]).toEqual([url, 'timeout', true]);
      }),
    );
    const took = performance.now() - started;
    expect(took).toBeGreaterThan(2_490);
    // A deadline for a part of the exchange would begin again with each part, or be one of undici's, of minutes.
    expect(took).toBeLessThan(25_000);
    await Promise.all(server.connections.map(({ socket }) => whenClosed(socket)));
  });

  it('frees everything: the next call gets a connection, and a late response has no effect', async () => {
    const via = poolsFor().route('orders');
    const { promise: arrived, resolve } = Promise.withResolvers<Socket>();
    server.respond = (socket) => resolve(socket);
    expect(await failureOf(send({ via, timeout: 1_500 }))).toMatchObject({ kind: 'timeout' });
    (await arrived).write(ok('"late"'));
    server.respond = (socket) => socket.write(ok('"mine"'));
    expect(String((await send({ via })).data)).toBe('"mine"');
  });
});

describe('connections', () => {
  it('that are shared are used again', async () => {
    const via = poolsFor().route('memberReads');
    for (let each = 0; each < 5; each++) {
      await send({ via });
      await setImmediate();
    }
    expect(server.connections).toHaveLength(1);
    expect(server.requests).toHaveLength(5);
  });

  it('that the platform closed while idle are not used again', async () => {
    const via = poolsFor().route('memberReads');
    await send({ via });
    const [{ socket } = { socket: undefined }] = server.connections;
    const gone = socket && whenClosed(socket);
    socket?.end();
    await gone;
    expect((await send({ via })).status).toBe(200);
    expect(server.connections).toHaveLength(2);
  });

  it('end with the process', async () => {
    const made = poolsFor();
    await send({ via: made.route('memberReads') });
    await made.onApplicationShutdown();
    await expect(send({ via: made.route('memberReads') })).rejects.toMatchObject({
      kind: 'unreachable',
      sent: false,
    });
  });
});

it('no failure carries the token that was sent', async () => {
  const token = credential();
  const call = {
    body: JSON.stringify({ password: token }),
    headers: { authorization: `Bearer ${token}` },
    timeout: 1_500,
  };
  const ends: ((socket: Socket) => void)[] = [
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{'),
    (socket) => socket.end('nonsense\r\n\r\n'),
    () => undefined,
  ];
  for (const end of ends) {
    server.respond = end;
    const failure = await failureOf(send(call));
    const print = inspect(failure, { depth: 12, showHidden: false });
    expect(print).toContain('TransportError');
    expect(print).not.toContain(token);
  }
});

describe('an exchange that is ended from outside', () => {
  it('ends at once and frees its connection when its caller gives it up', async () => {
    const abandon = new AbortController();
    server.respond = () => abandon.abort();
    const { kind, sent } = await failureOf(send({ abandon: abandon.signal }));
    expect({ kind, sent }).toEqual({ kind: 'abandoned', sent: true });
    const [seen] = server.connections as [Seen];
    await whenClosed(seen.socket);
  });

  it('times out when the process stops, and is removed as after a response', async () => {
    const underWay = new PassingSet<Exchange>();
    server.respond = () => {
      expect(underWay.size).toBe(1);
      for (const each of underWay) each.timeUp();
    };
    const { kind, sent } = await failureOf(send({ underWay }));
    expect({ kind, sent }).toEqual({ kind: 'timeout', sent: true });
    expect(underWay.size).toBe(0);
    server.respond = (socket) => socket.write(ok('{}'));
    expect((await send({ underWay })).status).toBe(200);
    expect(underWay.size).toBe(0);
  });
});
