import type { Socket } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import tls, { type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import axios, { type AxiosResponse } from 'axios';
import { makeCertificates, type TestCertificates } from '../../test/support/certificates.ts';
import { heads, ok, RawServer, type Seen } from '../../test/support/raw-server.ts';
import { freePort } from '../../test/support/redis.ts';
import { settings } from '../../test/support/settings.ts';
import { whenClosed } from '../../test/support/socket.ts';
import { Metrics } from '../observability/metrics.ts';
import { PassingSet } from '../kit/passing-set/passing-set.ts';
import { OwnConnections } from './own-connections.ts';
import { type Exchange, TransportError } from './exchange.ts';
import { type Route, undiciAdapter, UpstreamPools, watchedConnector } from './upstream-pools.ts';

const LONG_MS = 60_000;
let server: RawServer;
const cleanUps: (() => unknown)[] = [];

beforeEach(async () => {
  server = await raw();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function raw(...how: Parameters<typeof RawServer.start>): Promise<RawServer> {
  const started = await RawServer.start(...how);
  cleanUps.push(() => started.close());
  return started;
}

function limited(connections: number, origin = server.origin): OwnConnections {
  return new OwnConnections(new URL(origin), {
    connections,
    connect: watchedConnector('platform', LONG_MS, new Metrics()),
    maxHeaderSize: 16 * 1024,
  });
}

interface Call {
  readonly via?: Route;
  readonly url?: string;
  readonly timeout?: number;
  readonly confirm?: () => Promise<number>;
  readonly underWay?: PassingSet<Exchange>;
}

/** Returns a confirmation that stays valid on the slowest machine. Another test (P8) measures how long a confirmation is valid. */
const valid = () => performance.now() + LONG_MS;
const yes = () => Promise.resolve(valid());

/** Sends an order as the upstream client does. */
function place({ via = limited(8), url = '/order', timeout = LONG_MS, confirm = yes, underWay }: Call = {}) {
  return axios
    .create({ adapter: undiciAdapter(() => via, underWay), maxContentLength: 100_000, transformResponse: [] })
    .request<Buffer>({ url, method: 'POST', data: '{}', timeout, confirm });
}

async function failureOf(call: Promise<AxiosResponse<Buffer>>): Promise<TransportError> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (outcome instanceof TransportError) return outcome;
  throw new Error('was no transport error', { cause: outcome });
}

/** Waits for due events. A pause of the whole process does not shorten the wait. */
async function moment(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await sleep(5);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(5);
}

/** Collects requests and does not respond to them. */
function unanswered(): { sockets: Socket[] } {
  const sockets: Socket[] = [];
  server.respond = (socket) => sockets.push(socket);
  return { sockets };
}

function blockFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const gone = (seen: Seen | undefined) => whenClosed(seen?.socket as Socket);

describe('before the first byte', () => {
  it('the connection is open when confirm is called, and nothing was written to it', async () => {
    let asked = 0;
    const confirm = async () => {
      asked++;
      await until(() => server.connections.length === 1);
      // Unwanted bytes would arrive now.
      await moment();
      expect(server.connections[0]?.bytes).toBe('');
      return valid();
    };
    expect((await place({ confirm })).status).toBe(200);
    expect(asked).toBe(1);
    expect(server.requests).toEqual(['POST /order HTTP/1.1']);
    expect(server.connections).toHaveLength(1);
  });

  it('the call fails with the error of confirm: nothing was written, and the connection is closed', async () => {
    const refusal = new Error('in doubt already');
    const call = place({ confirm: () => Promise.reject(refusal) });
    await expect(call).rejects.toBe(refusal);
    await until(() => server.connections.length === 1);
    await gone(server.connections[0]);
    expect(server.connections[0]?.bytes).toBe('');
  });

  it('confirm is not called without a connection', async () => {
    const via = limited(8, `http://127.0.0.1:${await freePort()}`);
    const confirm = () => Promise.reject(new Error('was asked'));
    expect(await failureOf(place({ via, confirm }))).toMatchObject({
      kind: 'unreachable',
      sent: false,
      cause: { code: 'ECONNREFUSED' },
    });
  });

  it('a request whose time runs out during confirm is not sent, even if confirm allows it', async () => {
    const asked = Promise.withResolvers<number>();
    const underWay = new PassingSet<Exchange>();
    const call = failureOf(place({ timeout: 300, confirm: () => asked.promise, underWay }));
    expect(await call).toMatchObject({ kind: 'timeout', sent: false });
    expect(underWay.size).toBe(0);
    asked.resolve(valid());
    await until(() => server.connections.length === 1);
    await gone(server.connections[0]);
    expect(server.requests).toEqual([]);
  });

  it('P8 a confirmation older than 100 ms is not valid: the process was busy in between', async () => {
    const confirm = () => {
      const given = Promise.resolve(performance.now());
      // The process blocks after the call got the confirmation and before it has written.
      void given.then(() => undefined).then(() => queueMicrotask(() => blockFor(150)));
      return given;
    };
    expect(await failureOf(place({ confirm }))).toMatchObject({ kind: 'delayed', sent: false });
    await until(() => server.connections.length === 1);
    await gone(server.connections[0]);
    expect(server.connections[0]?.bytes).toBe('');
  });

  it.each<[string, (socket: Socket) => void]>([
    ['is closed', (socket) => socket.end()],
    ['speaks first', (socket) => socket.write(ok('"not a response"'))],
  ])('a connection that %s is not written to, and no other is opened', async (_, spoil) => {
    server.connected = spoil;
    const confirm = async () => {
      await until(() => server.connections.length === 1);
      await moment();
      return valid();
    };
    expect(await failureOf(place({ confirm }))).toMatchObject({ kind: 'unreachable', sent: false });
    await gone(server.connections[0]);
    expect(server.connections).toHaveLength(1);
    expect(server.requests).toEqual([]);
  });
});

describe('a connection', () => {
  it('carries one request and is closed after its response, also where the platform would keep it', async () => {
    const via = limited(4);
    await Promise.all(Array.from({ length: 12 }, (_, index) => place({ via, url: `/order-${index}` })));
    expect(server.connections).toHaveLength(12);
    for (const seen of server.connections) {
      expect(heads(seen.bytes)).toHaveLength(1);
      expect(seen.bytes).toMatch(/^connection: close\r$/im);
      await gone(seen);
    }
    expect(new Set(server.requests).size).toBe(12);
  });

  it('with a 100 that nobody asked for before its response carries the response', async () => {
    server.respond = (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok('{"code":0}')}`);
    const { status, data } = await place();
    expect([status, String(data)]).toEqual([200, '{"code":0}']);
    expect(server.requests).toEqual(['POST /order HTTP/1.1']);
  });

  it('reset after the request is lost, and nothing is sent again', async () => {
    server.respond = (socket) => socket.resetAndDestroy();
    expect(await failureOf(place())).toMatchObject({ kind: 'lost', sent: true });
    await moment();
    expect(server.connections).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
  });

  it('calls wait in turn where all connections are in use, and get one at each end', async () => {
    const via = limited(2);
    const { sockets } = unanswered();
    const calls = ['/1', '/2', '/3', '/4'].map((url) => place({ via, url }));
    await until(() => sockets.length === 2);
    await moment();
    expect(server.connections).toHaveLength(2);
    sockets[0]?.write(ok('{}'));
    await until(() => sockets.length === 3);
    sockets[1]?.resetAndDestroy();
    await until(() => sockets.length === 4);
    expect(server.requests.slice(2)).toEqual(['POST /3 HTTP/1.1', 'POST /4 HTTP/1.1']);
    for (const socket of sockets.slice(2)) socket.write(ok('{}'));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });

  it('a call waits for one until its deadline, and opens and confirms nothing after it', async () => {
    const via = limited(1);
    const { sockets } = unanswered();
    const first = place({ via });
    await until(() => sockets.length === 1);
    const confirm = () => Promise.reject(new Error('was asked'));
    expect(await failureOf(place({ via, timeout: 30, confirm }))).toMatchObject({
      kind: 'timeout',
      sent: false,
    });
    sockets[0]?.write(ok('{}'));
    await first;
    await setImmediate();
    expect(server.connections).toHaveLength(1);
  });
});

describe('a response after the deadline', () => {
  async function late(call: Call = {}): Promise<{ socket: Socket; answer: Promise<AxiosResponse<Buffer>> }> {
    const { sockets } = unanswered();
    const failure = await placeLate(call);
    await until(() => sockets.length === 1);
    return { socket: sockets[0] as Socket, answer: failure.late as Promise<AxiosResponse<Buffer>> };
  }

  /** Returns the failure of an order that was sent before its deadline. On a slow machine the order is placed again, with more time. */
  async function placeLate(call: Call): Promise<TransportError> {
    for (let timeout = 300; ; timeout *= 2) {
      const failure = await failureOf(place({ ...call, timeout }));
      expect(failure.kind).toBe('timeout');
      if (failure.sent) return failure;
    }
  }

  it('is kept, and then it is over', async () => {
    const underWay = new PassingSet<Exchange>();
    const { socket, answer } = await late({ underWay });
    expect(underWay.size).toBe(1);
    socket.write(ok('"late"'));
    expect(String((await answer).data)).toBe('"late"');
    expect(underWay.size).toBe(0);
    await whenClosed(socket);
    expect(server.requests).toHaveLength(1);
  });

  it('may never come, and then the late result is a failure', async () => {
    const { socket, answer } = await late();
    socket.resetAndDestroy();
    expect(await failureOf(answer)).toMatchObject({ kind: 'lost', sent: true });
  });

  it('is not waited for where the call has no confirm', async () => {
    const { sockets } = unanswered();
    const call = axios
      .create({ adapter: undiciAdapter(() => limited(1)) })
      .request<Buffer>({ url: '/order', method: 'POST', data: '{}', timeout: 200 });
    expect((await failureOf(call)).late).toBeUndefined();
    const [socket] = sockets;
    await whenClosed(socket as Socket);
  });

  it('takes no connection from others', async () => {
    const via = limited(1);
    await late({ via });
    server.respond = (socket) => socket.write(ok('{}'));
    expect((await place({ via })).status).toBe(200);
  });

  it('is waited for in 256 exchanges at most: the oldest makes room', async () => {
    const via = limited(300);
    const { answer, socket } = await late({ via });
    const failed = failureOf(answer);
    const more = await Promise.all(Array.from({ length: 256 }, () => placeLate({ via })));
    expect(await failed).toMatchObject({ kind: 'timeout', sent: true });
    await whenClosed(socket);
    await via.close();
    for (const each of more) await failureOf(each.late as Promise<AxiosResponse<Buffer>>);
  });

  it.each<[string, (pools: UpstreamPools) => unknown]>([
    ['the process has no time left', (pools) => pools.endExchanges()],
    ['the application has shut down', (pools) => pools.onApplicationShutdown()],
  ])('is not waited for when %s', async (_, end) => {
    const pools = new UpstreamPools(settings({ UPSTREAM_BASE_URL: server.origin }).upstream, new Metrics());
    cleanUps.push(() => pools.destroy());
    const { socket, answer } = await late({ via: pools.route('orders'), underWay: pools.exchanges });
    await end(pools);
    expect(await failureOf(answer)).toMatchObject({ kind: 'timeout', sent: true });
    await whenClosed(socket);
    expect(pools.exchanges.size).toBe(0);
  });
});

it('the shutdown waits for exchanges whose callers wait, and accepts no more', async () => {
  const via = limited(1);
  const { sockets } = unanswered();
  const first = place({ via });
  await until(() => sockets.length === 1);
  const waiting = place({ via });
  let isClosed = false;
  const closed = via.close().then(() => (isClosed = true));
  expect(await failureOf(place({ via }))).toMatchObject({ kind: 'unreachable', sent: false });
  sockets[0]?.write(ok('{}'));
  expect((await first).status).toBe(200);
  await until(() => sockets.length === 2);
  expect(isClosed).toBe(false);
  sockets[1]?.write(ok('{}'));
  expect((await waiting).status).toBe(200);
  await closed;
});

describe('behind TLS', () => {
  let certificates: TestCertificates;
  const trusted = tls.getCACertificates('default');
  beforeAll(async () => {
    certificates = await makeCertificates();
  });
  beforeEach(() => {
    tls.setDefaultCACertificates([...trusted, certificates.ca]);
    cleanUps.push(() => tls.setDefaultCACertificates(trusted));
  });

  it('confirm is called after the handshake; HTTP/2 is not used, even where it is offered', async () => {
    const secure = await raw({ ...certificates.good, ALPNProtocols: ['h2', 'http/1.1'] });
    const confirm = async () => {
      await until(() => secure.connections.length === 1);
      await moment();
      expect(secure.connections[0]?.bytes).toBe('');
      return valid();
    };
    const via = limited(2, secure.origin);
    for (let each = 0; each < 3; each++) {
      expect((await place({ via, confirm: each === 0 ? confirm : yes })).status).toBe(200);
    }
    expect(secure.connections.map(({ socket }) => (socket as TLSSocket).alpnProtocol)).toEqual(
      Array.from({ length: 3 }, () => 'http/1.1'),
    );
    for (const { bytes } of secure.connections) expect(heads(bytes)).toHaveLength(1);
  });

  it('a 100 that nobody asked for is passed over before every response, also on a connection that is used again', async () => {
    const secure = await raw(certificates.good);
    secure.respond = (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok('{}')}`);
    const { upstream } = settings({ UPSTREAM_BASE_URL: secure.origin });
    const pools = new UpstreamPools(upstream, new Metrics());
    cleanUps.push(() => pools.destroy());
    for (const group of ['orders', 'memberReads', 'memberReads', 'memberReads', 'memberReads'] as const)
      expect((await place({ via: pools.route(group) })).status).toBe(200);
    expect(secure.connections.length).toBeLessThan(5);
    expect(secure.requests).toHaveLength(5);
  });

  it('confirm is not called where the certificate is not trusted', async () => {
    const secure = await raw(certificates.untrusted);
    const confirm = () => Promise.reject(new Error('was asked'));
    const call = place({ via: limited(1, secure.origin), confirm });
    expect(await failureOf(call)).toMatchObject({ kind: 'unreachable', sent: false });
    expect(secure.requests).toEqual([]);
  });
});
