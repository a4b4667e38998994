import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, request as ask } from 'undici';
import { CallerLimits } from '../../src/caller/caller-limits.ts';
import { newApiKey } from '../support/canary.ts';
import { order, read } from '../support/expected.ts';
import { Fleet } from '../support/fleet.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { type Conversation, converse } from '../support/raw-client.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** What callers do to their connections, against the shipped gateway. All long cases run at once, and are checked later. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
/** Every limit of more than 10 s for an idle connection is a seventh of it: 2 s of 14. The end of such a connection is told. */
const QUICK = `import { Socket } from 'node:net';
const set = Socket.prototype.setTimeout;
Socket.prototype.setTimeout = function (ms, ...rest) {
  const { remotePort } = this;
  if (ms > 10_000 && !this.isTold) this.once('close', () => process.stderr.write('closed ' + remotePort + '.'));
  this.isTold = true;
  return set.call(this, ms > 10_000 ? ms / 7 : ms, ...rest);
};`;
/** A client that was too slow has 15 s to read its refusal, in place of 1.5: enough for the client of a slow machine. */
const PATIENT = `const set = globalThis.setTimeout;
globalThis.setTimeout = (act, ms, ...rest) => set(act, ms === 1_500 ? 15_000 : ms, ...rest);`;
const preloaded = (script: string) => ({
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}`,
});
const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n';

const sandbox = useSandbox();
/**
 * The fleet has three gateways: one for most tests, one with few file descriptors, so that few connections fill it, and one with quick
 * limits.
 */
let fleet: Fleet;
let slow: Record<keyof ReturnType<typeof startSlow>, Promise<unknown>>;

const running: Socket[] = [];

beforeAll(async () => {
  fleet = await Fleet.start(sandbox, 1, { callers: [{ name: 'neighbour' }] });
  await fleet.launch(preloaded(PATIENT), { maxFiles: 256 });
  await fleet.launch(preloaded(QUICK));
  slow = startSlow();
  for (const each of Object.values(slow)) each.catch(() => undefined);
});
afterAll(async () => {
  for (const socket of running) socket.destroy();
  await fleet.stop();
});

const url = (of = 0) => fleet.gateways[of]?.url as string;
const post = (headers: string) =>
  `POST /v1/asset-num-reservations HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${fleet.key}\r\nContent-Type: application/json\r\n${headers}`;

/** A line of the metrics; 0 without it. */
async function metric(name: string, of = 0): Promise<number> {
  const text = await (await fetch(`${fleet.gateways[of]?.managementUrl}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{\\})? (\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

/** Keeps sending this byte. */
function drip(byte: string) {
  return (socket: Socket) => {
    const timer = setInterval(() => socket.write(byte), 200);
    socket.once('close', () => clearInterval(timer));
  };
}

/** The refusal of a file whose last row comes only after it, and what the gateway says that became of it. */
async function lateFile() {
  const row = 'late,Late,first-login-1\n';
  const file = `account,name,password\n${row}`;
  const head =
    `POST /v1/enterprises/ent-harbour/member-imports?mode=add HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${fleet.key}\r\n` +
    `X-Request-Id: late-file\r\nContent-Type: text/csv\r\nContent-Length: ${file.length}\r\n\r\n`;
  const { answers } = await converse(url(1), head + file.slice(0, -5), {
    after: (socket) => void socket.once('data', () => socket.write(file.slice(-5))),
  });
  const lines = () =>
    (fleet.gateways[1]?.output() ?? '')
      .split('\n')
      .filter((line) => line.includes('"requestId":"late-file"'));
  await until('it has ended', () => lines().some((line) => line.includes('"event":"request"')));
  const jobs = await fleet.get(1, '/v1/jobs', { 'x-api-key': fleet.key });
  return [answers.map(({ status, body }) => [status, body['outcome']]), jobs.body['items']];
}

/** A client that is busy when its response comes, and sends more before it reads. The second byte is answered by a reset if nobody reads. */
async function readLate(socket: Socket): Promise<void> {
  socket.pause();
  await until('it is refused', () => fleet.gateways[1]?.output().includes('"status":400') ?? false);
  for (let byte = 0; byte < 2; byte++) {
    socket.write('a');
    await sleep(100);
  }
  socket.resume();
}

function startSlow() {
  const reader = unreadAnswers();
  return {
    nothing: converse(url(), ''),
    header: converse(url(), `${LIVE}X-Slow: `, { after: drip('a') }),
    busy: converse(url(1), `${LIVE}X-Slow: `, { after: (socket) => void readLate(socket) }),
    second: converse(url(), `${LIVE}\r\nGET /health/l`, { after: drip('i') }),
    body: converse(url(), post('X-Request-Id: body\r\nContent-Length: 1000\r\n\r\n{'), { after: drip(' ') }),
    silentBody: converse(url(), post('X-Request-Id: silentBody\r\nContent-Length: 1000\r\n\r\n{')),
    file: lateFile(),
    reader,
    patient: reader.then(patientOrder),
    unread: unreadOrder(),
  };
}

/** Requests more than all buffers in between hold, and reads nothing: how long the gateway kept it (ms). */
async function unreadAnswers(): Promise<number> {
  const { hostname, port } = new URL(url(2));
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  running.push(socket);
  socket.pause();
  const request = `GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n`;
  // More requests at once would end the connection of a stranger.
  socket.write(request.repeat(16));
  const started = performance.now();
  await until(
    'it is closed',
    () => fleet.gateways[2]?.output().includes(`closed ${socket.localPort}.`) ?? false,
  );
  return performance.now() - started;
}

/** An order for which the platform needs longer than a connection may be idle. */
async function patientOrder(): Promise<number> {
  await sandbox.fault({ operation: order.upstream, times: 1, action: { delayMs: 4_000 } });
  const { status } = await fleet.post(2, order.path, { ...order.body, channelOrderId: 'SO-patient' });
  return status;
}

/** An order whose time is up before the gateway begins it: the response to its caller, and how many orders the platform has. */
async function unreadOrder() {
  const gateway = await startInProcess(sandbox);
  const limits = gateway.app.get(CallerLimits);
  const { promise: turn, resolve: begin } = Promise.withResolvers<undefined>();
  limits.admit = () => turn;
  const body = JSON.stringify({ ...order.body, channelOrderId: 'SO-unread' }) + ' '.repeat(500_000);
  const answer = await gateway.post(order.path, body);
  begin(undefined);
  const found = await gateway.get('/v1/license-orders/crm/SO-unread');
  await gateway.stop();
  return [answer.status, answer.body['code'], answer.body['outcome'], found.status];
}

describe('a slow caller', () => {
  it.each(['nothing', 'header', 'busy'] as const)(
    'K18 over its headers (%s) is cut off within seconds',
    async (which) => {
      const { answers, closed, ms } = (await slow[which]) as Conversation;
      expect(closed).toBe(true);
      // An idle machine needs 4 s. Node's own limit is a minute.
      expect(ms).toBeLessThan(20_000);
      // A client that sent no byte gets no response.
      if (which === 'nothing') expect(answers).toEqual([]);
      else
        expect(answers).toMatchObject([
          { status: 400, body: { code: 'validation-failed', outcome: 'not_processed', retryable: true } },
        ]);
    },
  );

  it('K18 over the headers of its second request is cut off too', async () => {
    const { answers, closed, ms } = (await slow.second) as Conversation;
    expect([answers.map(({ status }) => status), closed]).toEqual([[200, 400], true]);
    expect(ms).toBeLessThan(20_000);
  });

  it.each(['body', 'silentBody'] as const)(
    'K19 over its body (%s) is cut off within seconds',
    async (which) => {
      const { answers, closed, ms } = (await slow[which]) as Conversation;
      expect(answers).toMatchObject([
        {
          status: 400,
          body: {
            outcome: 'not_processed',
            retryable: true,
            requestId: which,
            detail: expect.stringMatching(/in time: its headers have 4 s, all of it has 9 s/),
          },
        },
      ]);
      expect(closed).toBe(true);
      // An idle machine needs 9 s. Node's own limit is five minutes.
      expect(ms).toBeLessThan(25_000);
    },
  );

  it('K19 over a file is refused, and the file is not imported when its rest comes', async () => {
    expect(await slow.file).toEqual([[[400, 'not_processed']], []]);
  });

  it('K19 is told so if the gateway had no time to read the body, and its request is not carried out later', async () => {
    expect(await slow.unread).toEqual([503, 'overloaded', 'not_processed', 404]);
  });

  it('K20 over reading its response is cut off', async () => {
    // An idle machine needs 2 s or 4 s.
    expect(await slow.reader).toBeLessThan(20_000);
  });

  it('K20 that waits for its response may wait', async () => {
    expect(await slow.patient).toBe(201);
  });
});

describe('K21 more connections than the gateway accepts', () => {
  const smallUrl = () => url(1);
  /** The status on a connection of its own. */
  const fresh = (path = ASSETS) =>
    fetch(smallUrl() + path, { headers: { 'x-api-key': fleet.key, connection: 'close' } }).then(
      ({ status }) => status,
      () => 'refused',
    );

  /** Silent connections that the gateway has not closed. */
  const open = new Set<Socket>();
  const connectIdle = (count: number) => {
    const { hostname, port } = new URL(smallUrl());
    for (; count > 0; count--) {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      open.add(socket);
      running.push(socket);
      socket.resume().once('close', () => open.delete(socket));
    }
  };

  it('cause idle ones to close, those of known callers last, and none whose caller waits: every new one is served', async () => {
    const agent = new Agent({ connections: 1, pipelining: 1 });
    const askAgain = async () => {
      const headers = { 'x-api-key': fleet.key };
      const { statusCode, body } = await ask(smallUrl() + ASSETS, { dispatcher: agent, headers });
      await body.dump();
      return statusCode;
    };
    let connections = 0;
    agent.on('connect', () => connections++);
    expect(await askAgain()).toBe(200);
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { delayMs: 1_500 } });
    const waiting = askAgain();
    await sandbox.untilSpoiled(1, waiting);
    connectIdle(200);
    // Half of its files.
    await until('the rest is closed', () => open.size <= 128);
    const statuses: unknown[] = [];
    for (let count = 0; count < 10; count++) {
      connectIdle(5);
      statuses.push(await fresh(), await fresh('/health/live'));
    }
    statuses.push(await waiting, await askAgain());
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(connections).toBe(1);
    expect(await metric('gateway_connections_closed_total', 1)).toBeGreaterThanOrEqual(72);
    for (const socket of open) socket.destroy();
    await agent.close();
  });

  it('close after at most 72 s idle, if they have served a request', async () => {
    const answer = await fetch(url() + ASSETS, { headers: { 'x-api-key': fleet.key } });
    const [, seconds] = /timeout=(\d+)/.exec(answer.headers.get('keep-alive') ?? '') ?? [];
    // Node closes a second later.
    expect(Number(seconds)).toBeLessThan(72);
    expect(Number(seconds)).toBeGreaterThan(60);
  });
});

it('K40 a flood for public pages and for the health is served, and known callers beside it', async () => {
  const flood = Array.from({ length: 2_000 }, async (_, index) => {
    const answer = await fetch(url() + (index % 2 ? '/problems' : '/health/ready'));
    await answer.arrayBuffer();
    return answer.status;
  });
  const over = new AbortController();
  const flooding = Promise.all(flood).finally(() => over.abort());
  const statuses: number[] = [];
  while (!over.signal.aborted) statuses.push((await fleet.get(0, ASSETS)).status);
  expect(new Set([...(await flooding), ...statuses])).toEqual(new Set([200]));
});

it('K50 a file with a fault at its beginning is read to its end, so that its sender gets the response', async () => {
  const file = `account,name\n${'\n'.repeat(8_000_000)}`;
  const head =
    `POST /v1/enterprises/ent-harbour/member-imports?mode=add HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${fleet.key}\r\n` +
    `Content-Type: text/csv\r\nContent-Length: ${file.length}\r\n\r\n`;
  const failures: Error[] = [];
  const { answers } = await converse(url(), head + file, {
    after: (socket) => socket.on('error', (error) => failures.push(error)),
  });
  expect(answers.map(({ status, body }) => [status, body['code']])).toEqual([[400, 'validation-failed']]);
  expect(failures).toEqual([]);
});

describe('K1 bodies beyond the limit', () => {
  const residentMiB = () => {
    const status = readFileSync(`/proc/${fleet.gateways[0]?.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };

  /** Returns the MiB by which the process grew at most until this was done. */
  const growth = async (act: () => Promise<unknown>): Promise<number> => {
    const before = residentMiB();
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, residentMiB())), 10);
    await act().finally(() => clearInterval(watch));
    return peak - before;
  };
  /** How a client sees that the server ends a connection on which it is still sending. */
  const CUT_OFF = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];
  const endOf = ({ cause }: Error) => String((cause as { code?: string } | undefined)?.code);
  const times = <T>(count: number, make: () => Promise<T>) =>
    Promise.all(Array.from({ length: count }, make));

  it('leave no trace in memory, however many come at once', async () => {
    const send = async () => {
      const body = new Blob([Buffer.alloc(10 * 1024 * 1024, ' ')]).stream();
      const headers = { 'x-api-key': fleet.key, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
      // The gateway reads on for a while, so that clients see the response. One that sends for longer is cut off.
      return fetch(`${url()}/v1/asset-num-reservations`, init).then(
        (answer) => answer.arrayBuffer().then(() => answer.status),
        (error: Error) => endOf(error),
      );
    };
    // The process keeps some memory of the first for good.
    await times(10, send);
    const statuses: (number | string)[] = [];
    const grown = await growth(async () => {
      for (let round = 0; round < 2; round++) statuses.push(...(await times(10, send)));
    });
    for (const status of statuses) expect([413, ...CUT_OFF]).toContain(status);
    // The clients have sent 200 MiB.
    expect(grown).toBeLessThan(100);
    expect((await fleet.get(0, read.path)).status).toBe(200);
  });

  it('K38 of clients without a key are not read: the client sees 401, and memory stays constant with any number of them', async () => {
    const body = Buffer.alloc(1024 * 1024 - 1, ' ');
    const head = `POST /v1/license-orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
    const bytes = Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length + 1}\r\n\r\n`), body]);
    const grown = await growth(async () => {
      // Complete except for the last byte, as an attacker would hold it.
      const held = await times(200, () => converse(url(), bytes, { patienceMs: 60_000 }));
      expect(held.filter(({ closed }) => !closed)).toEqual([]);
      // A body that the gateway had waited for would be 400 after 9 s.
      const statuses = held.flatMap(({ answers }) => answers.map(({ status }) => status));
      expect(new Set(statuses)).toEqual(new Set([401]));
      const wrong = { 'x-api-key': newApiKey().key, 'content-type': 'application/json' };
      const answer = await fetch(`${url()}/v1/license-orders`, { method: 'POST', headers: wrong, body });
      expect([answer.status, answer.headers.get('connection')]).toEqual([401, 'close']);
      expect(await answer.json()).toMatchObject({ code: 'unauthenticated', outcome: 'not_processed' });
    });
    // The clients have sent 200 MiB.
    expect(grown).toBeLessThan(100);
  });

  it.each([
    ['path that cannot be decoded', '/%ff', 400],
    ['parameter of 3,000 characters', `/v1/jobs/${'7'.repeat(3_000)}/retry`, 401],
  ])('K38 on a %s are refused in the same way, and the request is logged', async (_, path, status) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
    const { answers, closed } = await converse(url(), `${head}Content-Length: 1000000000\r\n\r\n{"a":`);
    expect(closed).toBe(true);
    expect(answers).toMatchObject([
      { status, headers: { connection: 'close' }, body: { outcome: 'not_processed' } },
    ]);
    const line = new RegExp(`"event":"request","requestId":"${answers[0]?.headers['x-request-id']}"`);
    await until('its line', () => line.test(fleet.gateways[0]?.output() ?? ''));
  });

  it('K38 of a client without a key are not read after the response either', async () => {
    const piece = Buffer.alloc(64 * 1024, ' ');
    const length = 64 * 1024 * 1024;
    let taken = 0;
    const status = await new Promise<number>((resolve) => {
      let heard = 0;
      const more = (socket: Socket) => {
        if (taken >= length) socket.destroy();
        else
          socket.write(piece, (error) => {
            if (error) return;
            taken += piece.length;
            more(socket);
          });
      };
      const { port } = new URL(url());
      const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true }, () => {
        const head = 'POST /v1/license-orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
        socket.write(`${head}Content-Length: ${length}\r\n\r\n`, () => more(socket));
      });
      socket
        .once('data', (chunk: Buffer) => (heard = Number(chunk.toString('latin1', 9, 12))))
        // The gateway has closed it.
        .on('error', () => undefined)
        .once('close', () => resolve(heard));
    });
    expect(status).toBe(401);
    // What the system's buffers of both ends hold.
    expect(taken).toBeLessThan(length / 4);
  });

  it('K39 of one caller share a budget: beyond it 503, for that caller alone, and all of the budget is freed afterwards', async () => {
    const bytes = () => metric('gateway_request_body_bytes');
    await until('nothing is under way', async () => (await bytes()) === 0);
    let refusedCount = 0;
    const sockets: Socket[] = [];
    const after = (socket: Socket) => void sockets.push(socket.once('data', () => refusedCount++));
    const held = Array.from({ length: 40 }, () =>
      converse(url(), post(`Content-Length: ${1024 * 1024}\r\n\r\n{`), { after }),
    );
    await until('they are under way', async () => (await bytes()) >= 32 * 1024 * 1024);
    expect(await bytes()).toBe(32 * 1024 * 1024);
    const neighbour = { 'x-api-key': fleet.keys['neighbour'] as string, 'content-type': 'application/json' };
    const sized = (headers: Record<string, string>) =>
      fetch(`${url()}/v1/asset-num-reservations`, { method: 'POST', headers, body: '{"size":1}' });
    expect((await sized(neighbour)).status).toBe(201);
    const refused = await sized({ ...neighbour, 'x-api-key': fleet.key });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({
      code: 'overloaded',
      outcome: 'not_processed',
      retryable: true,
    });
    await until('the rest is refused', () => refusedCount === 8);
    for (const socket of sockets) socket.destroy();
    const statuses = (await Promise.all(held)).map(({ answers }) => answers[0]?.status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(8);
    expect(statuses.filter((status) => status === undefined)).toHaveLength(32);
    await until('all is given back', async () => (await bytes()) === 0);
    expect((await sized({ ...neighbour, 'x-api-key': fleet.key })).status).toBe(201);
  });

  it('K39 are freed too if their callers reset the connection before the gateway parses them', async () => {
    const bytes = () => metric('gateway_request_body_bytes');
    await until('nothing is under way', async () => (await bytes()) === 0);
    const length = 100 * 1024;
    const { hostname, port } = new URL(url());
    const sockets = Array.from({ length: 40 }, () => {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      socket.write(post(`Content-Length: ${length}\r\n\r\n${'{"size":1'.padEnd(length - 1)}`));
      return socket;
    });
    await until('all but the last byte of each has arrived', async () => {
      const isSent = sockets.every(({ writableLength }) => writableLength === 0);
      return isSent && (await bytes()) === sockets.length * length;
    });
    for (const socket of sockets) {
      socket.write('}');
      socket.resetAndDestroy();
    }
    await until('all is given back', async () => (await bytes()) === 0);
    expect((await fleet.post(0, '/v1/asset-num-reservations', { size: 1 })).status).toBe(201);
  });
});

it('K42 at once are sixteen at most of a stranger, also if their paths cannot be decoded', async () => {
  const closed = () => metric('gateway_connections_closed_total');
  const before = await closed();
  const conversation = await converse(url(), 'GET /% HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000));
  expect(conversation.closed).toBe(true);
  expect(conversation.answers.length).toBeLessThanOrEqual(16);
  expect(await closed()).toBe(before + 1);
});
