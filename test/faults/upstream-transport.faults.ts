import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { makeCertificates } from '../support/certificates.ts';
import { endings } from '../support/endings.ts';
import {
  caseOf,
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
import { TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { freshBody, type OperationCase, send } from '../support/operations.ts';
import type { Resolution } from '../support/own-names.ts';
import { ok, RawServer, writeEndlessly } from '../support/raw-server.ts';
import { TestSandbox } from '../support/sandbox.ts';

/**
 * Faults of the network and of the platform's HTTP, for a read, a write that must not run twice and an order. U19, U20, U29 and U30 are
 * in resilience.faults.ts.
 */

const MIB = 1024 * 1024;
const CASES = [read, write, order];
const PATIENT = { UPSTREAM_DEADLINE_MS: '30000' };

const sandbox = new TestSandbox();
const { atEnd } = endings();

beforeAll(() => sandbox.open());
afterAll(() => sandbox.close());

/** The calls that the test expects, each at once, so that waiting ones wait together. */
async function expectProblems(
  gateway: TestGateway,
  onRead: Expected,
  onWrite: Expected,
  cases: readonly OperationCase[] = CASES,
): Promise<void> {
  const ask = (each: OperationCase) => send(gateway, each, { undocumented: true });
  await Promise.all(
    cases.map(async (each) => {
      if (each.effect === 'read') expectProblem(await ask(each), onRead);
      // A busy gateway does not send an order whose confirmation is old.
      else expectProblem(await (onWrite === UNAVAILABLE ? ask(each) : onceServed(() => ask(each))), onWrite);
    }),
  );
}

/** How often the platform got each call, every time with another nonce. */
async function expectHits(reads: number, writes: number): Promise<void> {
  for (const each of CASES) {
    const nonces = (await sandbox.journal(each.upstream)).map(({ query }) => query['g_nonce']);
    expect([each.id, nonces.length]).toEqual([each.id, each === read ? reads : writes]);
    expect(new Set(nonces).size).toBe(nonces.length);
  }
}

async function expectCarriedOutOnce(): Promise<void> {
  expect((await sandbox.journal(write.upstream)).map(({ committed }) => committed)).toEqual([true]);
  expect(await sandbox.commits()).toHaveLength(1);
}

async function expectAllGood(gateway: TestGateway): Promise<void> {
  for (const each of CASES) {
    const answer = await onceServed(() => send(gateway, each));
    expect([each.id, answer.status, answer.text]).toEqual([
      each.id,
      each === order ? 201 : 200,
      expect.any(String),
    ]);
  }
}

/** Makes good calls before a test: they pay for its further attempts, and outnumber its failures, so that no breaker opens. */
async function warmUp(gateway: TestGateway): Promise<void> {
  const answers = await Promise.all(Array.from({ length: 6 }, () => send(gateway, read)));
  expect(answers.map(({ status, text }) => (status === 200 ? status : text))).toEqual(Array(6).fill(200));
}

describe('between the gateway and the platform', () => {
  /** This gateway reaches the platform by a name and through the proxy. */
  const gateway = new TestGateway();
  let child: ChildProcess;
  let proxy: FaultProxy;

  beforeAll(async () => {
    proxy = await FaultProxy.start(Number(new URL(sandbox.url).port));
    const nodeOptions = `--no-warnings --import ${new URL('../support/own-names.ts', import.meta.url).href}`;
    const environment = {
      ...PATIENT,
      UPSTREAM_BASE_URL: `http://platform.test:${proxy.port}`,
      ALLOW_INSECURE_UPSTREAM: 'true',
    };
    await gateway.open(sandbox, environment, async (all) => {
      const running = await startGatewayProcess(all, { nodeOptions });
      ({ child } = running);
      return running;
    });
  });
  beforeEach(async () => {
    await Promise.all([proxy.clear(), sandbox.reset(), resolveTo(['127.0.0.1'])]);
    await warmUp(gateway);
    await proxy.drop();
    await sandbox.reset();
  });
  afterAll(async () => {
    await gateway.stop();
    await proxy.close();
  });

  async function resolveTo(resolution: Resolution): Promise<void> {
    child.send(resolution);
    await once(child, 'message');
  }

  /** The attempts of each operation with this outcome, as the gateway counts them. */
  const attempts = (outcome: string) =>
    Promise.all(
      CASES.map(({ upstream }) =>
        metric(gateway, `gateway_upstream_attempts_total{operation="${upstream}",outcome="${outcome}"}`),
      ),
    );

  async function expectAttempts(
    outcome: string,
    reads: number,
    writes: number,
    act: () => Promise<unknown>,
  ): Promise<void> {
    const before = await attempts(outcome);
    await act();
    const made = (await attempts(outcome)).map((count, index) => count - (before[index] ?? 0));
    expect([outcome, ...made]).toEqual([outcome, reads, writes, writes]);
  }

  describe('no connection', () => {
    it('U1 refused: one more attempt for a read, nothing reaches the platform, and calls succeed once it is up again', async () => {
      await proxy.add({ toxic: 'down' });
      await expectAttempts('unreachable', 2, 1, () => expectProblems(gateway, UNAVAILABLE, UNAVAILABLE));
      await expectHits(0, 0);
      await proxy.clear();
      await expectAllGood(gateway);
    });

    it('U2 the name does not resolve, and the gateway does not remember that', async () => {
      await resolveTo('ENOTFOUND');
      await expectAttempts('unreachable', 1, 1, () => expectProblems(gateway, UNAVAILABLE, UNAVAILABLE));
      await expectHits(0, 0);
      await resolveTo(['127.0.0.1']);
      await expectAllGood(gateway);
    });

    it('U3 swallowed at every address of the host: one connect timeout for all of them, before the deadline', async () => {
      // The deadline of 30 s would be first, if each address had a timeout.
      const hosts = Array.from({ length: 7 }, (_, index) => `127.0.0.${index + 2}`);
      const hole = await Blackhole.start(hosts, proxy.port);
      atEnd(() => hole.close());
      await resolveTo(hosts);
      await expectAttempts('connect-timeout', 1, 1, () => expectProblems(gateway, READ_LATE, UNAVAILABLE));
    });

    it.each(['swallows connections', 'refuses them'])(
      'U31 the IPv6 address %s: IPv4 serves',
      async (dead) => {
        // An IPv6 address fails by itself on a machine without IPv6.
        if (hasIpv6 && dead === 'swallows connections') {
          const hole = await Blackhole.start(['::1'], proxy.port);
          atEnd(() => hole.close());
        }
        await resolveTo(['::1', '127.0.0.1']);
        await expectAllGood(gateway);
      },
    );
  });

  describe('the response is lost', () => {
    it('U5 accepted, then reset before the request is read', async () => {
      await proxy.add({ toxic: 'reset_peer', direction: 'upstream', ms: 0 });
      await expectAttempts('lost', 2, 1, () => expectProblems(gateway, UNAVAILABLE, UNKNOWN));
      await expectHits(0, 0);
    });

    it.each([
      ['U6 the request is carried out, then reset', 'rst'],
      ['U7 the request is carried out, then closed', 'fin'],
    ] as const)('%s before a response: a write is carried out exactly once', async (_, by) => {
      await proxy.add({ toxic: 'cut_reply', by });
      await expectProblems(gateway, UNAVAILABLE, UNKNOWN);
      await expectHits(2, 1);
      await expectCarriedOutOnce();
    });

    it.each<[string, object, Expected, number]>([
      ['U9 a reset in the middle of the body', { reset: 'mid-body' }, UNAVAILABLE, 2],
      ['U10 a body shorter than its length', { truncate: 20, framing: 'length' }, UNAVAILABLE, 2],
      ['U11 chunks without the last one', { truncate: 20, framing: 'chunked' }, READ_VIOLATION, 1],
      [
        'U12 a body cut where nothing tells its length',
        { truncate: 20, framing: 'close' },
        READ_VIOLATION,
        1,
      ],
    ])('%s', async (_, action, onRead, reads) => {
      await sandbox.fault({ operation: '*', phase: 'after', action });
      await expectProblems(gateway, onRead, UNKNOWN);
      await expectHits(reads, 1);
      await expectCarriedOutOnce();
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
      ['U23 999', { httpStatus: 999 }, READ_VIOLATION, 1],
    ])('%s: a write is unknown and sent once', async (_, action, onRead, reads) => {
      await sandbox.fault({ operation: '*', phase: 'after', action });
      await expectProblems(gateway, onRead, UNKNOWN);
      await expectHits(reads, 1);
      await expectCarriedOutOnce();
      const shown = (await send(gateway, read)).text;
      expect(`${shown}${(await gateway.log()).join('')}`).not.toMatch(/<html|<!doctype/i);
    });

    it.each([
      ['403 without an envelope', { text: '', status: 403 }],
      ['401 with the code of a portal', { text: '{"code":401,"message":"Unauthorized"}', status: 401 }],
    ])('U22 %s: a read has another token and one more attempt', async (_, raw) => {
      await sandbox.fault({ operation: read.upstream, times: 1, action: { raw } });
      expect((await send(gateway, read)).status).toBe(200);
      await expectHits(2, 0);
      const calls = await sandbox.journal(read.upstream);
      expect(new Set(calls.map(({ headers }) => headers['authorization'])).size).toBe(2);
    });

    it.each([
      { what: '401 without an envelope', raw: { text: '<html>', status: 401 } },
      {
        what: '403 with a code of the interface',
        raw: { text: '{"code":40000,"message":"blocked"}', status: 403 },
      },
    ])(
      'U22 $what after a write was carried out: unknown, carried out once, and not sent by a repeat',
      async ({ raw }) => {
        await sandbox.fault({ operation: '*', times: 2, phase: 'after', action: { raw } });
        const body = freshBody(order);
        for (const _ of ['first', 'repeat'])
          expectProblem(await onceServed(() => send(gateway, order, { body })), UNKNOWN);
        expectProblem(await send(gateway, write), UNKNOWN);
        await expectHits(0, 1);
        await expectCarriedOutOnce();
        // The next call has another token.
        expect((await send(gateway, write)).status).toBe(200);
        const calls = await sandbox.journal(write.upstream);
        expect(new Set(calls.map(({ headers }) => headers['authorization'])).size).toBe(2);
      },
    );

    it("U32 the platform's Date is 1970: no effect", async () => {
      await sandbox.reset({ tokens: true });
      const headers = { date: 'Thu, 01 Jan 1970 00:00:00 GMT' };
      await sandbox.fault({ operation: ['token', '*'], action: { headers } });
      await expectAllGood(gateway);
      expect((await send(gateway, read)).status).toBe(200);
      expect(await sandbox.journal('token')).toHaveLength(1);
    });
  });

  describe('content codings', () => {
    it('U25 a gzip bomb is never inflated: the gateway requests no coding and accepts none', async () => {
      const bomb = gzipSync(Buffer.alloc(50 * MIB, ' '));
      const raw = { base64: bomb.toString('base64'), headers: { 'content-encoding': 'gzip' } };
      await sandbox.fault({ operation: '*', phase: 'after', action: { raw } });
      const before = await metric(gateway, 'nodejs_external_memory_bytes');
      await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
      const grown = (await metric(gateway, 'nodejs_external_memory_bytes')) - before;
      expect(grown).toBeLessThan(40 * MIB);
      await expectHits(1, 1);
      for (const { headers } of await sandbox.calls()) expect(headers['accept-encoding']).toBe('identity');
    });

    it('U26 a thousand codings', async () => {
      const headers = { 'content-encoding': Array(1_000).fill('gzip').join(', ') };
      await sandbox.fault({ operation: '*', phase: 'after', action: { headers } });
      await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
      await expectHits(1, 1);
    });
  });
});

it('U4 TLS without a good certificate: 503, tried once, no request is sent, no plain text; a good one is served', async () => {
  const certificates = await makeCertificates();
  const seen = { connections: 0, bytes: 0 };
  const secure = createTlsServer(certificates.expired, (socket) => {
    const target = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
    socket.on('data', (chunk: Buffer) => (seen.bytes += chunk.length));
    socket.on('error', () => target.destroy()).on('close', () => target.destroy());
    target.on('error', () => socket.destroy());
    socket.pipe(target).pipe(socket);
  }).on('tlsClientError', () => undefined);
  let speaksTls = true;
  const port = createServer((socket) => {
    seen.connections++;
    socket.on('error', () => undefined);
    if (speaksTls) secure.emit('connection', socket);
    else socket.on('data', () => undefined).write(ok('{}'));
  }).listen(0, '127.0.0.1');
  await once(port, 'listening');
  atEnd(() => port.close());

  const gateway = new TestGateway();
  const caFile = join(dirname(gateway.callersFile), 'ca.pem');
  writeFileSync(caFile, certificates.ca);
  await gateway.open(sandbox, {
    UPSTREAM_BASE_URL: `https://127.0.0.1:${(port.address() as AddressInfo).port}`,
    NODE_EXTRA_CA_CERTS: caFile,
  });
  atEnd(() => gateway.stop());

  for (const bad of ['expired', 'wrongName', 'untrusted', undefined] as const) {
    speaksTls = bad !== undefined;
    if (bad) secure.setSecureContext(certificates[bad]);
    const before = seen.connections;
    await expectProblems(gateway, UNAVAILABLE, UNAVAILABLE);
    expect({ bad, connections: seen.connections - before, bytes: seen.bytes }).toEqual({
      bad,
      connections: 3,
      bytes: 0,
    });
  }
  speaksTls = true;
  secure.setSecureContext(certificates.good);
  await sandbox.reset();
  await expectAllGood(gateway);
});

describe('time runs out', () => {
  const hasty = new TestGateway();
  let proxy: FaultProxy;

  beforeAll(async () => {
    proxy = await FaultProxy.start(Number(new URL(sandbox.url).port));
    await hasty.open(sandbox, {
      UPSTREAM_BASE_URL: proxy.url,
      UPSTREAM_DEADLINE_MS: '3000',
      UPSTREAM_ORDER_DEADLINE_MS: '3000',
    });
  });
  beforeEach(async () => {
    await sandbox.reset();
    await expectAllGood(hasty);
    await sandbox.reset();
  });
  afterAll(async () => {
    await hasty.stop();
    await proxy.close();
  });

  describe('U13 bodies that drip', () => {
    it('U14 and headers that drip, at the same time: 504 at the deadline', async () => {
      const body = { slow: { chunkBytes: 1, everyMs: 200 } };
      const headers = { slow: { ...body.slow, headers: true } };
      const others = [caseOf('listAssets'), caseOf('enableLocks')];
      const fault = (operation: object, action: object) =>
        sandbox.fault({ operation, phase: 'after', action });
      await fault([read.upstream, write.upstream], body);
      await fault(
        others.map(({ upstream }) => upstream),
        headers,
      );
      // One order each.
      await sandbox.fault({ operation: order.upstream, times: 1, phase: 'after', action: body });
      await fault([order.upstream], headers);
      await expectProblems(hasty, READ_LATE, UNKNOWN_LATE, [...CASES, ...others, order]);
      for (const { upstream } of [read, write, ...others])
        expect([upstream, (await sandbox.journal(upstream)).length]).toEqual([upstream, 1]);
      expect(await sandbox.journal(order.upstream)).toHaveLength(2);
      expect(await sandbox.commits()).toHaveLength(2);
    });
  });

  it('U15 a valid response after the deadline: 504, and no other call gets the late response', async () => {
    await sandbox.fault({ operation: '*', times: 3, action: { delayMs: 4_000 } });
    await expectProblems(hasty, READ_LATE, UNKNOWN_LATE);
    // The platform carries the writes out late, and no client receives its response.
    while ((await sandbox.commits()).length === 0) await sleep(50);
    const other = await hasty.get('/v1/customers?channelCode=partner&channelCustomerId=PT-2001');
    expect(other.status).toBe(200);
    expect(other.body).toMatchObject({ items: [{ customerId: 'cus-meridian-default' }] });
    await expectHits(2, 1);
    expect(await sandbox.commits()).toHaveLength(1);
  });

  it('U16 the peer disappeared silently: the connection is closed, the next call opens another', async () => {
    await proxy.add({ toxic: 'timeout', direction: 'upstream', ms: 0 });
    await proxy.add({ toxic: 'timeout', direction: 'downstream', ms: 0 });
    await expectProblems(hasty, READ_LATE, UNKNOWN_LATE);
    await expectHits(0, 0);
    // Except the order's, which stays open for its late response.
    while (proxy.open > 1) await sleep(10);
    const before = proxy.connections;
    await proxy.clear();
    await expectAllGood(hasty);
    expect(proxy.connections).toBeGreaterThan(before);
  });
});

describe('bytes that a platform should not send', () => {
  const gateway = new TestGateway();
  let platform: RawServer;

  beforeAll(async () => {
    platform = await RawServer.start();
    await gateway.open(sandbox, { ...PATIENT, UPSTREAM_BASE_URL: platform.origin });
  });
  beforeEach(async () => {
    platform.respond = serve;
    await warmUp(gateway);
    await platform.clear();
  });
  afterAll(async () => {
    await gateway.stop();
    await platform.close();
  });

  const PATHS = new Map([
    [read, '/enterprise/user/query'],
    [write, '/asset/lock'],
    [order, '/licenseOrder/batchOrder'],
  ]);
  const isOf = (operation: OperationCase, bytes: string) => bytes.includes(PATHS.get(operation) as string);

  function goodAnswer(head: string): string {
    const data = isOf(read, head)
      ? [{ customerId: 'cus-raw' }]
      : isOf(write, head)
        ? [{ assetNum: '8000001003', status: 1 }]
        : [{ sequence: 1, licenseOrderId: 'lic-raw', customerId: 'cus-harbour-default' }];
    return JSON.stringify({ code: 0, message: 'ok', data });
  }

  function serve(socket: Socket, head: string): void {
    socket.write(ok(goodAnswer(head)));
  }

  const requestsOf = (operation: OperationCase) => platform.requests.filter((line) => isOf(operation, line));

  /** Every time with another nonce. */
  function expectRequests(reads: number, writes: number): void {
    for (const each of CASES) {
      const lines = requestsOf(each);
      expect([each.id, lines.length]).toEqual([each.id, each === read ? reads : writes]);
      expect(new Set(lines.map((line) => /g_nonce=(\w+)/.exec(line)?.[1])).size).toBe(lines.length);
    }
  }

  it('U8 an idle connection is closed just as a request goes out on it', async () => {
    for (const each of [read, write]) expect((await send(gateway, each)).status).toBe(200);
    const used = new Set(platform.connections.map(({ socket }) => socket));
    // Every request on a used connection finds it closed from here on.
    platform.respond = (socket, head) => {
      if (used.has(socket)) socket.end();
      else serve(socket, head);
      used.add(socket);
    };
    expect((await send(gateway, read)).status).toBe(200);
    expectProblem(await send(gateway, write), UNKNOWN);
    for (let each = 0; each < 2; each++)
      expect((await onceServed(() => send(gateway, order))).status).toBe(201);
    expectRequests(3, 2);
    for (const { bytes } of platform.connections.filter((each) => isOf(order, each.bytes))) {
      expect(bytes.match(/ HTTP\/1\.1\r\n/g)).toHaveLength(1);
      expect(bytes).toMatch(/^connection: close\r$/im);
    }
  });

  it('U9 half a body is never taken for a response, even when it is valid JSON', async () => {
    platform.respond = (socket, head) =>
      void socket.write(ok(goodAnswer(head)).replace(/(content-length: )(\d+)/, '$19999'), () =>
        setTimeout(() => socket.resetAndDestroy(), 20),
      );
    await expectProblems(gateway, UNAVAILABLE, UNKNOWN);
    expectRequests(2, 1);
  });

  it('U21 a redirect is not followed', async () => {
    const elsewhere = await RawServer.start();
    atEnd(() => elsewhere.close());
    platform.respond = (socket, head) => {
      const [, path] = head.split(' ');
      const headers = `location: ${elsewhere.origin}${path}\r\ncontent-length: 0\r\n`;
      socket.write(`HTTP/1.1 307 Temporary Redirect\r\n${headers}\r\n`);
    };
    await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
    expectRequests(1, 1);
    expect(elsewhere.connections).toEqual([]);
  });

  it('U22 401 every time: a read has one more attempt, then the credential is the cause', async () => {
    platform.respond = (socket) => socket.write('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n');
    expectProblem(await send(gateway, read), REJECTED);
    expectRequests(2, 0);
  });

  it.each<[string, string]>([
    ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['103', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'],
  ])('U23 %s and then nothing: no response', async (_, text) => {
    platform.respond = (socket) => socket.end(text);
    await expectProblems(gateway, UNAVAILABLE, UNKNOWN);
    expectRequests(2, 1);
  });

  it('U24 a body of 200 MiB: cut off, and the connection with it', async () => {
    const sent: number[] = [];
    platform.respond = (socket) => void flood(socket).then((bytes) => sent.push(bytes));
    await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
    while (sent.length < 3) await sleep(10);
    // The sockets' buffers count too.
    for (const bytes of sent) expect(bytes).toBeLessThan(50 * MIB);
    expectRequests(1, 1);
  });

  /** Chunks up to 200 MiB; the bytes that the test could write before the peer hung up. */
  async function flood(socket: Socket): Promise<number> {
    const chunk = Buffer.concat([
      Buffer.from(`${MIB.toString(16)}\r\n`),
      Buffer.alloc(MIB, 'x'),
      Buffer.from('\r\n'),
    ]);
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
    let bytes = 0;
    for (; bytes < 200 * MIB && !socket.destroyed; bytes += MIB)
      if (!socket.write(chunk))
        await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
    socket.destroy();
    return bytes;
  }

  it('U24 eight bodies of 15 MiB at once: some are abandoned, the others and small ones are served', async () => {
    const open: Socket[] = [];
    const start = '{"code":0,"message":"success","data":[';
    const body = Buffer.concat([Buffer.from(start), Buffer.alloc(15 * MIB, ' ')]);
    platform.respond = (socket) => {
      open.push(socket);
      const length = `content-length: ${body.length + 2}\r\n`;
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${length}\r\n`);
      socket.write(body);
    };
    const large = Array.from({ length: 8 }, () => send(gateway, read));
    // 60 MiB fit, and four bodies are still open; abandoning the first leaves room for the rest of the others.
    const first = await Promise.race(large);
    const { code, retryable } = first.body;
    expect([first.status, code, retryable]).toEqual([503, 'upstream-unavailable', true]);
    platform.respond = (socket) => socket.write(ok(`${start}]}`));
    expect((await send(gateway, read)).status).toBe(200);
    for (const socket of open) socket.write(']}');
    const statuses = (await Promise.all(large)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(3);
    // All memory is free again: more than it would hold fits, one after the other.
    platform.respond = (socket) => socket.write(ok(`${start}${' '.repeat(15 * MIB)}]}`));
    for (let round = 0; round < 5; round++) {
      // A busy machine reads one for longer than a second: then the gateway refuses the next as overloaded, before it asks for it.
      const { status, text } = await onceServed(() => send(gateway, read));
      expect([status, status === 200 ? '' : text]).toEqual([200, '']);
    }
  });

  it.each<[string, string, string]>([
    ['interim responses', '', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'],
    ['the reason of the status line', 'HTTP/1.1 200 ', 'x'],
    ['empty lines', '', '\r\n'],
    ['the extension of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'x'],
    ['the size of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '0'],
    ['chunks of one byte', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
  ])('S27 a response with no end of %s is cut off', async (_, first, endless) => {
    const sent: (() => number)[] = [];
    platform.respond = (socket) => sent.push(writeEndlessly(socket, first, endless));
    await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
    // What the buffers of two sockets take.
    for (const bytes of sent) expect(bytes()).toBeLessThan(16 * MIB);
    platform.respond = serve;
    expect((await send(gateway, read)).status).toBe(200);
  });

  it.each<[string, string]>([
    ['U27 a length and chunks', 'transfer-encoding: chunked\r\n'],
    ['U28 64 KiB of headers', `x: ${'y'.repeat(64 * 1024)}\r\n`],
  ])('%s: refused, and the connection is not used again', async (_, headers) => {
    platform.respond = (socket, head) => socket.write(ok(goodAnswer(head), headers));
    await expectProblems(gateway, READ_VIOLATION, UNKNOWN);
    expectRequests(1, 1);
    expect(platform.connections).toHaveLength(3);
    platform.respond = serve;
    expect((await send(gateway, read)).status).toBe(200);
    expect(platform.connections).toHaveLength(4);
  });
});
