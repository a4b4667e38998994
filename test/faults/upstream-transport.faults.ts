import dns from 'node:dns';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { makeCertificates, type TestCertificates } from '../support/certificates.ts';
import {
  type Expected,
  expectProblem,
  metric,
  order,
  read,
  READ_LATE,
  READ_VIOLATION,
  REJECTED,
  UNAVAILABLE,
  UNKNOWN,
  UNKNOWN_LATE,
  write,
} from '../support/expected.ts';
import { Blackhole, FaultProxy, hasIpv6 } from '../support/fault-proxy.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer, TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { freshBody, type OperationCase, send } from '../support/operations.ts';
import { TestSandbox } from '../support/sandbox.ts';

/**
 * Faults of the network and of the platform's HTTP, for a read, a write that must not run twice and an order. U19, U20, U29 and U30 are
 * in resilience.faults.ts.
 */

let sandbox: TestSandbox;
const cleanUps: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset());
afterEach(async () => {
  jest.restoreAllMocks();
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => sandbox.close());

/** A gateway for this test only, so no breaker is open because of another test. Its tokens come from the sandbox itself. */
async function gatewayTo(url: string, environment: Record<string, string> = {}): Promise<TestGateway> {
  const gateway = await startInProcess(sandbox, {
    UPSTREAM_BASE_URL: url,
    UPSTREAM_DEADLINE_MS: '30000',
    ...environment,
  });
  cleanUps.push(() => gateway.stop());
  return gateway;
}

async function proxied(environment: Record<string, string> = {}) {
  const proxy = await FaultProxy.start(portOf(sandbox.url));
  cleanUps.push(() => proxy.close());
  return { proxy, gateway: await gatewayTo(proxy.url, environment) };
}

const portOf = (url: string) => Number(new URL(url).port);

/** In place of the platform: it speaks TCP, and the test writes the HTTP. */
class RawPlatform {
  connections = 0;
  /** Request lines, with the number of the connection that each came on. */
  readonly requests: { line: string; head: string; connection: number }[] = [];
  accepted: (socket: Socket) => void = () => undefined;
  respond: (socket: Socket, head: string) => void = (socket, head) => socket.write(http(goodAnswer(head)));
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => {
      const connection = ++this.connections;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      let pending = '';
      socket.on('data', (chunk) => {
        pending += chunk.toString('latin1');
        for (let whole = wholeRequest(pending); whole; whole = wholeRequest(pending)) {
          pending = pending.slice(whole.size);
          this.requests.push({ line: whole.head.split('\r\n')[0] ?? '', head: whole.head, connection });
          this.respond(socket, whole.head);
        }
      });
      this.accepted(socket);
    });
  }

  static async start(): Promise<RawPlatform> {
    const platform = new RawPlatform();
    platform.#server.listen(0, '127.0.0.1');
    await once(platform.#server, 'listening');
    cleanUps.push(async () => {
      platform.#server.close();
      for (const socket of platform.#sockets) socket.destroy();
      await once(platform.#server, 'close');
    });
    return platform;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  requestsOf(operation: OperationCase): { line: string; head: string; connection: number }[] {
    return this.requests.filter(({ line }) => line.includes(PATHS[operation.id] as string));
  }
}

const PATHS: Record<string, string> = {
  findCustomers: '/enterprise/user/query',
  disableLocks: '/asset/lock',
  placeOrder: '/licenseOrder/batchOrder',
};

function wholeRequest(bytes: string): { head: string; size: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = bytes.slice(0, end);
  const size = end + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  return bytes.length < size ? undefined : { head, size };
}

function http(body: string, headers = '', status = '200 OK'): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
}

function goodAnswer(head: string): string {
  const data = head.includes(PATHS['findCustomers'] as string)
    ? [{ customerId: 'cus-raw' }]
    : head.includes(PATHS['disableLocks'] as string)
      ? [{ assetNum: '8000001003', status: 1 }]
      : [{ sequence: 1, licenseOrderId: 'lic-raw', customerId: 'cus-harbour-default' }];
  return JSON.stringify({ code: 0, message: 'ok', data });
}

/** All three at once, so that waiting ones wait together. */
async function expectProblems(gateway: TestGateway, onRead: Expected, onWrite: Expected): Promise<void> {
  const ask = (each: OperationCase) => send(gateway, each, { undocumented: true });
  // A busy gateway does not send an order whose confirmation is old.
  const askWrite = (each: OperationCase) =>
    onWrite === UNAVAILABLE ? ask(each) : onceServed(() => ask(each));
  const [readAnswer, ...writeAnswers] = await Promise.all([ask(read), askWrite(write), askWrite(order)]);
  expectProblem(readAnswer as TestAnswer, onRead);
  for (const answer of writeAnswers) expectProblem(answer, onWrite);
}

/** How often the platform got each call, every time with another nonce. */
async function expectHits(readHits: number, writeHits: number): Promise<void> {
  for (const [each, hits] of [
    [read, readHits],
    [write, writeHits],
    [order, writeHits],
  ] as const) {
    const calls = await sandbox.journal(each.upstream);
    expect([each.id, calls.length]).toEqual([each.id, hits]);
    expect(new Set(calls.map(({ query }) => query['g_nonce'])).size).toBe(hits);
  }
}

function expectRequests(platform: RawPlatform, readRequests: number, writeRequests: number): void {
  for (const [each, requests] of [
    [read, readRequests],
    [write, writeRequests],
    [order, writeRequests],
  ] as const) {
    const lines = platform.requestsOf(each).map(({ line }) => line);
    expect([each.id, lines.length]).toEqual([each.id, requests]);
    expect(new Set(lines.map((line) => /g_nonce=(\w+)/.exec(line)?.[1])).size).toBe(requests);
  }
}

async function expectCarriedOutOnce(): Promise<void> {
  expect((await sandbox.journal(write.upstream)).map(({ committed }) => committed)).toEqual([true]);
  expect(await sandbox.commits()).toHaveLength(1);
}

async function expectAllGood(gateway: TestGateway): Promise<void> {
  for (const each of [read, write, order]) {
    const answer = await onceServed(() => send(gateway, each));
    expect([each.id, answer.status]).toEqual([each.id, each === order ? 201 : 200]);
  }
}

/** Attempts by operation and outcome, as the gateway counts them. */
function attempts(gateway: TestGateway, operation: OperationCase, outcome: string): Promise<number> {
  return metric(
    gateway,
    `gateway_upstream_attempts_total{operation="${operation.upstream}",outcome="${outcome}"}`,
  );
}

/** The results of name resolution in place of the machine's resolver: addresses, or an error's code. */
function resolveTo(answer: () => readonly string[] | string): { lookups: number } {
  const seen = { lookups: 0 };
  const lookup = (...args: unknown[]) => {
    seen.lookups++;
    const callback = args.at(-1) as (error: Error | null, addresses?: unknown, family?: number) => void;
    const result = answer();
    const all = (args[1] as { all?: boolean } | undefined)?.all === true;
    setImmediate(() => {
      if (typeof result === 'string') {
        callback(Object.assign(new Error(result), { code: result, syscall: 'getaddrinfo' }));
        return;
      }
      const addresses = result.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      if (all) callback(null, addresses);
      else callback(null, addresses[0]?.address, addresses[0]?.family);
    });
  };
  jest.spyOn(dns, 'lookup').mockImplementation(lookup as never);
  return seen;
}

describe('no connection', () => {
  it('U1 refused: one more attempt for a read, nothing reaches the platform, and calls succeed once it is up again', async () => {
    const { proxy, gateway } = await proxied();
    await proxy.add({ toxic: 'down' });
    await expectProblems(gateway, UNAVAILABLE, UNAVAILABLE);
    expect(await attempts(gateway, read, 'unreachable')).toBe(2);
    expect(await attempts(gateway, write, 'unreachable')).toBe(1);
    expect(await attempts(gateway, order, 'unreachable')).toBe(1);
    await expectHits(0, 0);
    await proxy.clear();
    await expectAllGood(gateway);
  });

  it('U1 refused once: the further attempt of a read succeeds', async () => {
    const gateway = await gatewayTo(`http://platform.test:${portOf(sandbox.url)}`, {
      ALLOW_INSECURE_UPSTREAM: 'true',
    });
    const seen = resolveTo(() => (seen.lookups === 1 ? ['127.0.0.2'] : ['127.0.0.1']));
    expect((await send(gateway, read)).status).toBe(200);
    expect(await attempts(gateway, read, 'unreachable')).toBe(1);
    expect(await attempts(gateway, read, 'success')).toBe(1);
  });

  it.each(['ENOTFOUND', 'EAI_AGAIN'])(
    'U2 the name does not resolve: %s, and the gateway does not remember that',
    async (code) => {
      let answer: readonly string[] | string = code;
      const gateway = await gatewayTo(`http://platform.test:${portOf(sandbox.url)}`, {
        ALLOW_INSECURE_UPSTREAM: 'true',
      });
      const seen = resolveTo(() => answer);
      await expectProblems(gateway, UNAVAILABLE, UNAVAILABLE);
      expect(seen.lookups).toBeGreaterThan(0);
      expect(await attempts(gateway, read, 'unreachable')).toBeLessThanOrEqual(2);
      expect(await attempts(gateway, write, 'unreachable')).toBe(1);
      expect(await attempts(gateway, order, 'unreachable')).toBe(1);
      await expectHits(0, 0);
      answer = ['127.0.0.1'];
      await expectAllGood(gateway);
    },
  );

  it('U3 swallowed: ends after the connect timeout, long before the deadline', async () => {
    const hole = await Blackhole.start();
    cleanUps.push(() => hole.close());
    const gateway = await gatewayTo(`http://127.0.0.1:${hole.port}`, { UPSTREAM_CONNECT_TIMEOUT_MS: '1000' });
    const started = performance.now();
    await expectProblems(gateway, READ_LATE, UNAVAILABLE);
    const took = performance.now() - started;
    expect(took).toBeGreaterThan(900);
    expect(took).toBeLessThan(15_000);
    expect(await attempts(gateway, read, 'connect-timeout')).toBe(1);
    expect(await attempts(gateway, write, 'connect-timeout')).toBe(1);
    expect(await attempts(gateway, order, 'connect-timeout')).toBe(1);
  });

  it('U3 swallowed at every address of the host: one connect timeout for all of them', async () => {
    const first = await Blackhole.start('127.0.0.1');
    cleanUps.push(() => first.close());
    const others = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];
    for (const host of others) {
      const hole = await Blackhole.start(host, first.port);
      cleanUps.push(() => hole.close());
    }
    const gateway = await gatewayTo(`http://platform.test:${first.port}`, {
      ALLOW_INSECURE_UPSTREAM: 'true',
      UPSTREAM_CONNECT_TIMEOUT_MS: '2500',
    });
    resolveTo(() => ['127.0.0.1', ...others]);
    const started = performance.now();
    await expectProblems(gateway, READ_LATE, UNAVAILABLE);
    expect(performance.now() - started).toBeLessThan(4 * 2_500 * 0.9);
  });

  it.each(['swallows connections', 'refuses them'])(
    'U31 the IPv6 address %s: IPv4 serves, long before the connect timeout',
    async (dead) => {
      const port = portOf(sandbox.url);
      // Without IPv6 on this machine its address fails by itself.
      if (hasIpv6 && dead === 'swallows connections') {
        const hole = await Blackhole.start('::1', port);
        cleanUps.push(() => hole.close());
      }
      const gateway = await gatewayTo(`http://platform.test:${port}`, {
        ALLOW_INSECURE_UPSTREAM: 'true',
        UPSTREAM_CONNECT_TIMEOUT_MS: '25000',
      });
      resolveTo(() => ['::1', '127.0.0.1']);
      const started = performance.now();
      await expectAllGood(gateway);
      expect(performance.now() - started).toBeLessThan(10_000);
    },
  );
});

describe('TLS', () => {
  let certificates: TestCertificates;
  beforeAll(async () => {
    certificates = await makeCertificates();
  });

  /** The sandbox behind TLS; counts connections, complete handshakes, and bytes of requests. */
  async function behindTls(kind: Exclude<keyof TestCertificates, 'ca'>) {
    const seen = { connections: 0, handshakes: 0, bytes: 0, url: '' };
    const server: TlsServer = createTlsServer(certificates[kind], (socket) => {
      seen.handshakes++;
      const target = connect(portOf(sandbox.url), '127.0.0.1');
      socket.on('data', (chunk: Buffer) => (seen.bytes += chunk.length));
      socket.on('error', () => target.destroy()).on('close', () => target.destroy());
      target.on('error', () => socket.destroy());
      socket.pipe(target).pipe(socket);
    });
    server.on('connection', () => seen.connections++);
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanUps.push(async () => server.close());
    seen.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return seen;
  }

  /** A gateway as a process of its own, configured to trust our authority. */
  async function trustingProcess(url: string) {
    // Provides the files of callers and users.
    const gateway = await gatewayTo(sandbox.url);
    const folder = gateway.callersFile.replace(/[^/]+$/, '');
    const caFile = `${folder}ca.pem`;
    writeFileSync(caFile, certificates.ca);
    const child = await startGatewayProcess({
      ...gateway.environment(sandbox),
      UPSTREAM_BASE_URL: url,
      NODE_EXTRA_CA_CERTS: caFile,
    });
    cleanUps.push(() => child.stop());
    return {
      async send({ method, path, body }: OperationCase) {
        const response = await fetch(child.url + path, {
          method,
          headers: { 'x-api-key': gateway.key, 'content-type': 'application/json' },
          body: body && JSON.stringify(body),
        });
        const headers = response.headers;
        return { status: response.status, headers, text: '', body: (await response.json()) as object };
      },
    };
  }

  it('U4 a valid certificate of an authority that the process trusts: served', async () => {
    const server = await behindTls('good');
    const gateway = await trustingProcess(server.url);
    for (const each of [read, write]) expect((await gateway.send(each)).status).toBe(200);
    expect((await gateway.send(order)).status).toBe(201);
    await expectHits(1, 1);
  });

  it.each(['expired', 'wrongName', 'untrusted'] as const)(
    'U4 a certificate that is %s: 503, tried once, no request is sent',
    async (kind) => {
      const server = await behindTls(kind);
      const gateway = await trustingProcess(server.url);
      const answers = await Promise.all([read, write, order].map((each) => gateway.send(each)));
      for (const answer of answers) expectProblem(answer as TestAnswer, UNAVAILABLE);
      expect(server.connections).toBe(3);
      expect(server.bytes).toBe(0);
      await expectHits(0, 0);
    },
  );

  it('U4 without a configured authority: the gateway does not trust the certificate', async () => {
    const server = await behindTls('good');
    const gateway = await gatewayTo(server.url);
    await expectProblems(gateway, UNAVAILABLE, UNAVAILABLE);
    expect(await attempts(gateway, read, 'unreachable')).toBe(1);
    expect(server.bytes).toBe(0);
  });

  it('U4 the other side speaks plain HTTP, so the handshake fails: no fallback', async () => {
    const platform = await RawPlatform.start();
    platform.accepted = (socket) => socket.write(http(goodAnswer('')));
    const gateway = await gatewayTo(platform.url.replace('http:', 'https:'));
    await expectProblems(gateway, UNAVAILABLE, UNAVAILABLE);
    expect(platform.requests).toEqual([]);
    expect(platform.connections).toBe(3);
  });
});

describe('the response is lost', () => {
  it('U5 accepted, then reset before the request is read', async () => {
    const platform = await RawPlatform.start();
    platform.accepted = (socket) => {
      socket.pause();
      setTimeout(() => socket.resetAndDestroy(), 500);
    };
    const gateway = await gatewayTo(platform.url);
    await expectProblems(gateway, UNAVAILABLE, UNKNOWN);
    expect(await attempts(gateway, read, 'lost')).toBe(2);
    expect(await attempts(gateway, write, 'lost')).toBe(1);
    expect(await attempts(gateway, order, 'lost')).toBe(1);
    expect(platform.connections).toBe(4);
  });

  it.each([
    ['U6 the request is carried out, then reset', 'rst'],
    ['U7 the request is carried out, then closed', 'fin'],
  ] as const)('%s before a response: a write is carried out exactly once', async (_, by) => {
    const { proxy, gateway } = await proxied();
    await expectAllGood(gateway);
    await sandbox.reset();
    await proxy.add({ toxic: 'cut_reply', by });
    await expectProblems(gateway, UNAVAILABLE, UNKNOWN);
    await expectHits(2, 1);
    await expectCarriedOutOnce();
    await proxy.clear();
    expect((await send(gateway, read)).status).toBe(200);
  });

  it.each([
    ['U6', { reset: 'before-headers' }],
    ['U7', { close: 'before-headers' }],
  ])('%s once: the further attempt of a read succeeds', async (_, action) => {
    const gateway = await gatewayTo(sandbox.url);
    await sandbox.fault({ operation: read.upstream, phase: 'after', times: 1, action });
    expect((await send(gateway, read)).status).toBe(200);
    const calls = await sandbox.journal(read.upstream);
    expect(new Set(calls.map(({ query }) => query['g_nonce'])).size).toBe(2);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['reset', (socket) => socket.resetAndDestroy()],
    ['closed', (socket) => socket.end()],
  ])('U8 an idle connection is %s just as a request goes out on it', async (_, end) => {
    const platform = await RawPlatform.start();
    const gateway = await gatewayTo(platform.url);
    for (const each of [read, write]) expect((await send(gateway, each)).status).toBe(200);
    const used = new Set(platform.requests.map(({ connection }) => connection));
    // From here on, every request on a used connection finds it closed.
    platform.respond = (socket, head) => {
      const { connection } = platform.requests.at(-1) as { connection: number };
      if (used.has(connection)) end(socket);
      else socket.write(http(goodAnswer(head)));
      used.add(connection);
    };
    expect((await send(gateway, read)).status).toBe(200);
    expect(platform.requestsOf(read)).toHaveLength(3);
    expectProblem(await send(gateway, write), UNKNOWN);
    expect(platform.requestsOf(write)).toHaveLength(2);
    for (let each = 0; each < 3; each++) expect((await send(gateway, order)).status).toBe(201);
    for (const { connection, head } of platform.requestsOf(order)) {
      expect(platform.requests.filter((each) => each.connection === connection)).toHaveLength(1);
      expect(head).toMatch(/^connection: close$/im);
    }
    expect(platform.requestsOf(order)).toHaveLength(3);
  });

  it.each<[string, object, Expected, number]>([
    ['U9 a reset in the middle of the body', { reset: 'mid-body' }, UNAVAILABLE, 2],
    ['U10 a body shorter than its length', { truncate: 20, framing: 'length' }, UNAVAILABLE, 2],
    ['U11 chunks without the last one', { truncate: 20, framing: 'chunked' }, READ_VIOLATION, 1],
    ['U12 a body cut where nothing tells its length', { truncate: 20, framing: 'close' }, READ_VIOLATION, 1],
  ])('%s', async (_, action, onRead, readHits) => {
    const gateway = await gatewayTo(sandbox.url);
    await sandbox.fault({ operation: '*', phase: 'after', action });
    await expectProblems(gateway, onRead, UNKNOWN);
    await expectHits(readHits, 1);
    await expectCarriedOutOnce();
  });

  it('U9 half a body is never taken for a response, even when it is valid JSON', async () => {
    const platform = await RawPlatform.start();
    platform.respond = (socket, head) =>
      void socket.write(http(goodAnswer(head)).replace(/(content-length: )(\d+)/, '$19999'), () =>
        setTimeout(() => socket.resetAndDestroy(), 20),
      );
    await expectProblems(await gatewayTo(platform.url), UNAVAILABLE, UNKNOWN);
    expectRequests(platform, 2, 1);
  });
});

describe('time runs out', () => {
  const HASTY = { UPSTREAM_DEADLINE_MS: '3000', UPSTREAM_ORDER_DEADLINE_MS: '3000' };

  it.each<[string, object]>([
    ['U13 the body drips', { slow: { chunkBytes: 1, everyMs: 200 } }],
    ['U14 the headers drip', { slow: { chunkBytes: 1, everyMs: 200, headers: true } }],
  ])('%s: 504 at the deadline', async (_, action) => {
    const gateway = await gatewayTo(sandbox.url, HASTY);
    await expectAllGood(gateway);
    await sandbox.reset();
    await sandbox.fault({ operation: '*', phase: 'after', action });
    const started = performance.now();
    await expectProblems(gateway, READ_LATE, UNKNOWN_LATE);
    expect(performance.now() - started).toBeGreaterThan(2_900);
    expect(performance.now() - started).toBeLessThan(15_000);
    await expectHits(1, 1);
    await expectCarriedOutOnce();
  });

  it('U15 a valid response after the deadline: 504, and no other call gets the late response', async () => {
    const gateway = await gatewayTo(sandbox.url, HASTY);
    await expectAllGood(gateway);
    await sandbox.reset();
    await sandbox.fault({ operation: '*', times: 3, action: { delayMs: 5_500 } });
    await expectProblems(gateway, READ_LATE, UNKNOWN_LATE);
    // The platform carries the writes out late, and no client receives its response.
    while ((await sandbox.commits()).length === 0) await sleep(50);
    const other = await gateway.get('/v1/customers?channelCode=partner&channelCustomerId=PT-2001');
    expect(other.status).toBe(200);
    expect(other.body).toMatchObject({ items: [{ customerId: 'cus-meridian-default' }] });
    await expectHits(2, 1);
    expect(await sandbox.commits()).toHaveLength(1);
  });

  it('U16 the peer disappeared silently: the connection is closed, the next call opens another', async () => {
    const { proxy, gateway } = await proxied(HASTY);
    await expectAllGood(gateway);
    await sandbox.reset();
    await proxy.add({ toxic: 'timeout', direction: 'upstream', ms: 0 });
    await proxy.add({ toxic: 'timeout', direction: 'downstream', ms: 0 });
    await expectProblems(gateway, READ_LATE, UNKNOWN_LATE);
    await expectHits(0, 0);
    // Except the order's, which stays open for its late response.
    while (proxy.open > 1) await sleep(10);
    const before = proxy.connections;
    await proxy.clear();
    await expectAllGood(gateway);
    expect(proxy.connections).toBeGreaterThan(before);
  });
});

describe('HTTP statuses', () => {
  const page = { html: true };

  it.each<[string, object, Expected, number]>([
    ['U17 500 with an HTML page', { ...page, httpStatus: 500 }, UNAVAILABLE, 1],
    ['U18 502', { ...page, httpStatus: 502 }, UNAVAILABLE, 2],
    ['U18 504', { ...page, httpStatus: 504 }, READ_LATE, 2],
    ['U23 204', { httpStatus: 204 }, READ_VIOLATION, 1],
    ['U23 304', { httpStatus: 304 }, READ_VIOLATION, 1],
    ['U23 418', { httpStatus: 418 }, READ_VIOLATION, 1],
    ['U23 999', { httpStatus: 999 }, READ_VIOLATION, 1],
    ['U23 201 with a good envelope', { httpStatus: 201 }, READ_VIOLATION, 1],
  ])('%s: a write is unknown and sent once', async (_, action, onRead, readHits) => {
    const gateway = await gatewayTo(sandbox.url);
    await sandbox.fault({ operation: '*', phase: 'after', action });
    await expectProblems(gateway, onRead, UNKNOWN);
    await expectHits(readHits, 1);
    await expectCarriedOutOnce();
    const shown = (await send(gateway, read)).text;
    expect(`${shown}${(await gateway.log()).join('')}`).not.toMatch(/<html|<!doctype/i);
  });

  it.each<[string, string]>([
    ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['103', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'],
  ])('U23 %s and then nothing: no response', async (_, text) => {
    const platform = await RawPlatform.start();
    platform.respond = (socket) => socket.end(text);
    await expectProblems(await gatewayTo(platform.url), UNAVAILABLE, UNKNOWN);
    expectRequests(platform, 2, 1);
  });

  it('U23 103 before a valid response: the valid response', async () => {
    const platform = await RawPlatform.start();
    platform.respond = (socket, head) =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${http(goodAnswer(head))}`);
    await expectAllGood(await gatewayTo(platform.url));
  });

  it.each([301, 302, 303, 307, 308])('U21 a redirect (%i) is not followed', async (status) => {
    const elsewhere = await RawPlatform.start();
    const gateway = await gatewayTo(sandbox.url);
    const headers = { location: `${elsewhere.url}/order/api/order/v1/enterprise/user/query` };
    await sandbox.fault({ operation: '*', action: { httpStatus: status, headers } });
    await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
    await expectHits(1, 1);
    expect(elsewhere.connections).toBe(0);
  });

  it.each([401, 403])(
    'U22 %i without an envelope: a read has another token and one more attempt',
    async (status) => {
      const gateway = await gatewayTo(sandbox.url);
      await sandbox.fault({ operation: read.upstream, times: 1, action: { raw: { text: '', status } } });
      expect((await send(gateway, read)).status).toBe(200);
      const calls = await sandbox.journal(read.upstream);
      expect(calls).toHaveLength(2);
      expect(new Set(calls.map(({ headers }) => headers['authorization'])).size).toBe(2);
      expect(new Set(calls.map(({ query }) => query['g_nonce'])).size).toBe(2);
    },
  );

  it('U22 401 every time: a read has one more attempt, then the credential is the cause', async () => {
    await sandbox.fault({ operation: '*', action: { raw: { text: '', status: 401 } } });
    expectProblem(await send(await gatewayTo(sandbox.url), read), REJECTED);
    await expectHits(2, 0);
  });

  it.each([401, 403])(
    'U22 %i without an envelope after a write was carried out: unknown, carried out once, and not sent by a repeat',
    async (status) => {
      const gateway = await gatewayTo(sandbox.url);
      await sandbox.fault({ operation: '*', phase: 'after', action: { raw: { text: '<html>', status } } });
      const body = freshBody(order);
      for (const _ of ['first', 'repeat']) expectProblem(await send(gateway, order, { body }), UNKNOWN);
      expectProblem(await send(gateway, write), UNKNOWN);
      await expectHits(0, 1);
      expect(await sandbox.commits()).toHaveLength(1);
    },
  );

  it('U22 the next call after a bare 401 to a write has another token', async () => {
    const gateway = await gatewayTo(sandbox.url);
    await sandbox.fault({ operation: write.upstream, times: 1, action: { raw: { text: '', status: 401 } } });
    expectProblem(await send(gateway, write), UNKNOWN);
    expect((await send(gateway, write)).status).toBeLessThan(300);
    const calls = await sandbox.journal(write.upstream);
    expect(new Set(calls.map(({ headers }) => headers['authorization'])).size).toBe(2);
  });

  it("U32 the platform's Date is 1970: no effect", async () => {
    const gateway = await gatewayTo(sandbox.url);
    await sandbox.fault({
      operation: ['token', '*'],
      action: { headers: { date: 'Thu, 01 Jan 1970 00:00:00 GMT' } },
    });
    await expectAllGood(gateway);
    expect((await send(gateway, read)).status).toBe(200);
    expect(await sandbox.journal('token')).toHaveLength(1);
  });
});

describe('large responses', () => {
  const MIB = 1024 * 1024;
  const piece = Buffer.alloc(MIB, 'x');

  it.each(['with its length', 'in chunks', 'to the end of the connection'])(
    'U24 a body of 200 MiB, %s: cut off, and the connection with it',
    async (framing) => {
      const platform = await RawPlatform.start();
      const sent: number[] = [];
      platform.respond = (socket) => void flood(socket, framing).then((bytes) => sent.push(bytes));
      await expectProblems(await gatewayTo(platform.url), READ_VIOLATION, UNKNOWN);
      while (sent.length < 3) await sleep(10);
      // The sockets' buffers count too.
      for (const bytes of sent) expect(bytes).toBeLessThan(50 * MIB);
      expectRequests(platform, 1, 1);
    },
  );

  it('U24 eight bodies of 15 MiB at once: some are abandoned, the others and small ones are served', async () => {
    const platform = await RawPlatform.start();
    const open: Socket[] = [];
    const start = '{"code":0,"message":"success","data":[';
    const body = Buffer.concat([Buffer.from(start), Buffer.alloc(15 * MIB, ' ')]);
    platform.respond = (socket) => {
      open.push(socket);
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length + 2}\r\n\r\n`,
      );
      socket.write(body);
    };
    const gateway = await gatewayTo(platform.url);
    const large = Array.from({ length: 8 }, () => send(gateway, read));
    // 60 MiB fit, and four bodies are still open; abandoning the first leaves room for the rest of the others.
    const first = await Promise.race(large);
    expect([first.status, first.body['code'], first.body['retryable']]).toEqual([
      503,
      'upstream-unavailable',
      true,
    ]);
    platform.respond = (socket) => socket.write(http(`${start}]}`));
    expect((await send(gateway, read)).status).toBe(200);
    for (const socket of open) socket.write(']}');
    const statuses = (await Promise.all(large)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(3);
    // All memory is free again: the same number fits.
    platform.respond = (socket) => socket.write(http(`${start}${' '.repeat(12 * MIB)}]}`));
    for (let round = 0; round < 8; round++) expect((await send(gateway, read)).status).toBe(200);
  });

  /** Bytes that the test could write before the peer hung up. */
  async function flood(socket: Socket, framing: string): Promise<number> {
    const head = {
      'with its length': `content-length: ${200 * MIB}\r\n`,
      'in chunks': 'transfer-encoding: chunked\r\n',
    }[framing];
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${head ?? ''}\r\n`);
    let bytes = 0;
    while (bytes < 200 * MIB && !socket.destroyed) {
      if (framing === 'in chunks') socket.write(`${MIB.toString(16)}\r\n`);
      const goesOn = socket.write(piece);
      if (framing === 'in chunks') socket.write('\r\n');
      bytes += MIB;
      if (!goesOn) await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
    }
    socket.destroy();
    return bytes;
  }

  it('U25 a gzip bomb is never inflated: the gateway requests no coding and accepts none', async () => {
    const gateway = await gatewayTo(sandbox.url);
    const bomb = gzipSync(Buffer.alloc(50 * MIB, ' '));
    const raw = { base64: bomb.toString('base64'), headers: { 'content-encoding': 'gzip' } };
    await sandbox.fault({ operation: '*', phase: 'after', action: { raw } });
    const before = process.memoryUsage().arrayBuffers;
    await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40 * MIB);
    await expectHits(1, 1);
    for (const { headers } of await sandbox.calls()) expect(headers['accept-encoding']).toBe('identity');
  });

  it.each(['gzip', 'br', 'zstd', 'deflate, gzip', 'x-unheard-of'])(
    'U26 the coding %s, which was not requested',
    async (coding) => {
      const gateway = await gatewayTo(sandbox.url);
      await sandbox.fault({
        operation: '*',
        phase: 'after',
        action: { headers: { 'content-encoding': coding } },
      });
      await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
      await expectHits(1, 1);
    },
  );

  it('U26 a thousand codings', async () => {
    const gateway = await gatewayTo(sandbox.url);
    const coding = Array.from({ length: 1_000 }, () => 'gzip').join(', ');
    await sandbox.fault({
      operation: '*',
      phase: 'after',
      action: { headers: { 'content-encoding': coding } },
    });
    await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
    await expectHits(1, 1);
  });

  it.each<[string, (body: string) => string]>([
    ['U27 two lengths that differ', (body) => http(body, 'content-length: 3\r\n')],
    ['U27 a length and chunks', (body) => http(body, 'transfer-encoding: chunked\r\n')],
    ['U28 64 KiB of headers', (body) => http(body, `x: ${'y'.repeat(64 * 1024)}\r\n`)],
    ['U28 10,000 headers', (body) => http(body, 'x: y\r\n'.repeat(10_000))],
  ])('%s: refused, and the connection is not used again', async (_, answer) => {
    const platform = await RawPlatform.start();
    const gateway = await gatewayTo(platform.url);
    platform.respond = (socket, head) => socket.write(answer(goodAnswer(head)));
    await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
    expectRequests(platform, 1, 1);
    expect(platform.connections).toBe(3);
    platform.respond = (socket, head) => socket.write(http(goodAnswer(head)));
    expect((await send(gateway, read)).status).toBe(200);
    expect(platform.connections).toBe(4);
  });
});
