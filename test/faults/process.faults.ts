import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { scopes } from '../../src/caller/scopes.ts';
import { newApiKey } from '../support/canary.ts';
import { type GatewayProcess, SHIPPED_START, startGatewayProcess } from '../support/gateway-process.ts';
import { freePort } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Faults of the process itself, in the shipped gateway. */

jest.setTimeout(120_000);

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const CUSTOMERS = '/v1/customers?channelCode=crm&channelCustomerId=CH-1001';
const LOCKS = '/v1/enterprises/ent-harbour/locks/disable';
const locks = JSON.stringify({ assetNums: ['8000001003'] });
const DAY_MS = 24 * 3600 * 1000;

const { key, hash } = newApiKey();
const headers = { 'x-api-key': key, 'content-type': 'application/json' };
let folder: string;
let sandbox: TestSandbox;
/** A separate platform for the longest test, which runs beside all others. */
let slowSandbox: TestSandbox;
let pastTheGrace: ReturnType<typeof stopPastTheGrace>;
const running: GatewayProcess[] = [];

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-faults-'));
  const caller = {
    name: 'p',
    keys: [hash],
    scopes: [...scopes],
    enterprises: ['*'],
    channels: ['*'],
    users: ['*'],
  };
  writeFileSync(join(folder, 'callers.json'), JSON.stringify({ callers: [caller] }));
  [sandbox, slowSandbox] = await Promise.all([TestSandbox.start(), TestSandbox.start()]);
  pastTheGrace = stopPastTheGrace();
  pastTheGrace.catch(() => undefined);
});
afterAll(async () => {
  for (const { child, ended } of running) {
    child.kill('SIGKILL');
    await ended;
  }
  await Promise.all([sandbox.close(), slowSandbox.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const environment = (platform: TestSandbox): Record<string, string> => ({
  UPSTREAM_BASE_URL: platform.url,
  UPSTREAM_TOKEN_URL: platform.tokenUrl,
  UPSTREAM_APP_KEY: platform.appKey,
  UPSTREAM_APP_SECRET: platform.appSecret,
  CALLERS_FILE: join(folder, 'callers.json'),
  CACHE_TTL_MS: '0',
});

async function start(
  how: Parameters<typeof startGatewayProcess>[1] = {},
  more: Record<string, string> = {},
  platform = sandbox,
): Promise<GatewayProcess> {
  await platform.reset();
  const gateway = await startGatewayProcess({ ...environment(platform), ...more }, how);
  running.push(gateway);
  return gateway;
}

async function call({ url }: { url: string }, path: string, body?: string): Promise<Answer> {
  const answer = await fetch(url + path, { method: body === undefined ? 'GET' : 'POST', headers, body });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

/** The status, or `refused` without a response. */
function statusOf(gateway: { url: string }, path: string): Promise<number | 'refused'> {
  return call(gateway, path).then(
    ({ status }) => status,
    () => 'refused',
  );
}

/** As {@link statusOf}, on a connection of its own, which may be refused. */
function freshStatus(gateway: { url: string }, path: string): Promise<number | 'refused'> {
  return fetch(gateway.url + path, {
    headers: { ...headers, connection: 'close' },
    signal: AbortSignal.timeout(3_000),
  }).then(
    ({ status }) => status,
    () => 'refused',
  );
}

/** Waits until the condition holds, up to a limit. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const giveUp = performance.now() + 45_000;
  while (!(await isTrue())) {
    if (performance.now() > giveUp) throw new Error('did not come true');
    await sleep(20);
  }
}

/** Repeats the request until it gets the expected response. */
async function eventually(
  gateway: GatewayProcess,
  path: string,
  isIt: (answer: Answer) => boolean,
): Promise<Answer> {
  let answer: Answer | undefined;
  await until(async () => {
    answer = await call(gateway, path);
    return isIt(answer);
  });
  return answer as Answer;
}

/** A read and a write under way at the platform, which a shutdown may meet. */
async function slowCalls(
  gateway: GatewayProcess,
  action: object,
  platform = sandbox,
): Promise<Promise<Answer>[]> {
  await platform.fault({ operation: ['listAssets', 'disableLocks'], times: 2, action });
  const calls = [call(gateway, ASSETS), call(gateway, LOCKS, locks)];
  for (const each of calls) each.catch(() => undefined);
  for (const operation of ['listAssets', 'disableLocks'])
    await until(async () => (await platform.journal(operation)).length > 0);
  return calls;
}

const statusesOf = async (calls: Promise<Answer>[]) => (await Promise.all(calls)).map(({ status }) => status);

async function stopPastTheGrace() {
  const gateway = await start({}, { UPSTREAM_DEADLINE_MS: '60000' }, slowSandbox);
  const calls = await slowCalls(gateway, { hang: true }, slowSandbox);
  const started = performance.now();
  gateway.child.kill('SIGTERM');
  const answers = await Promise.all(calls);
  return { answers, code: await gateway.ended, tookMs: performance.now() - started };
}

/** The status; rejects where the connection failed. */
function get(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0)).once('error', reject);
    })
      .once('error', reject)
      .end();
  });
}

describe('a stop', () => {
  it('P1 by SIGTERM under 200 requests a second: not ready at once, all get responses, none is reset, exit 0', async () => {
    const gateway = await start();
    const inFlight = await slowCalls(gateway, { delayMs: 2_000 });
    // Clients that keep their connections, as most do, and some that open one for each call.
    const kept = new Agent({ keepAlive: true, maxSockets: 20 });
    const fresh = new Agent({ keepAlive: false });
    const answers: Promise<number>[] = [];
    const send = async (ms: number) => {
      const end = performance.now() + ms;
      while (performance.now() < end) {
        const answer = get(gateway.url + CUSTOMERS, answers.length % 10 ? kept : fresh);
        answer.catch(() => undefined);
        answers.push(answer);
        await sleep(5);
      }
    };
    await send(1_000);
    gateway.child.kill('SIGTERM');
    await until(async () => (await statusOf(gateway, '/health/ready')) === 503);
    // The gateway serves new connections for five seconds after the signal.
    await send(1_000);
    const ready = await call(gateway, '/health/ready');
    expect(ready.status).toBe(503);
    expect(ready.body).toMatchObject({ status: 'down' });
    expect(ready.headers.get('connection')).toBe('close');
    expect(await statusOf(gateway, '/health/live')).toBe(200);
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
    expect(answers.length).toBeGreaterThan(50);
    expect(await statusesOf(inFlight)).toEqual([200, 200]);
    expect(await gateway.ended).toBe(0);
    expect(await statusOf(gateway, '/health/live')).toBe('refused');
    kept.destroy();
  });

  it('P3 a second signal, and a third, lose nothing', async () => {
    const gateway = await start();
    const inFlight = await slowCalls(gateway, { delayMs: 1_500 });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) {
      gateway.child.kill(signal);
      await sleep(100);
    }
    expect(await statusesOf(inFlight)).toEqual([200, 200]);
    expect(await gateway.ended).toBe(0);
  });
});

describe('a process that cannot work', () => {
  it('P8 with an event loop that blocks repeatedly refuses requests, says so, and recovers by itself', async () => {
    const gateway = await start({ disturbed: true });
    expect(await statusOf(gateway, ASSETS)).toBe(200);
    await gateway.disturb({ block: 1_500, times: 6 });
    const refused = await eventually(gateway, ASSETS, ({ status }) => status === 503);
    expect(refused.body).toMatchObject({ code: 'overloaded', outcome: 'not_processed', retryable: true });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await statusOf(gateway, '/health/live')).toBe(200);
    await eventually(gateway, ASSETS, ({ status }) => status === 200);
    expect((await call(gateway, '/health/ready')).body).toMatchObject({ status: 'ok', load: 'ok' });
    const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text();
    expect(metrics).toMatch(/gateway_requests_refused_total\{reason="event-loop"\} [1-9]/);
    await gateway.stop();
  });

  it('P8 after a pause of 5 s responds to a request that came meanwhile on a connection from before', async () => {
    const gateway = await start();
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    await once(socket, 'connect');
    // The gateway accepts them one after another.
    expect(await freshStatus(gateway, ASSETS)).toBe(200);
    gateway.child.kill('SIGSTOP');
    socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n');
    await sleep(5_000);
    gateway.child.kill('SIGCONT');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
    await gateway.stop();
  });

  it('P8 after a pause of 5 s responds to waiting requests, and no effect of the pause remains', async () => {
    const gateway = await start();
    expect(await statusOf(gateway, ASSETS)).toBe(200);
    gateway.child.kill('SIGSTOP');
    const waiting = [call(gateway, '/health/live'), call(gateway, ASSETS)];
    await sleep(5_000);
    gateway.child.kill('SIGCONT');
    expect(await statusesOf(waiting)).toEqual([200, 200]);
    expect((await call(gateway, '/health/ready')).body).toMatchObject({ status: 'ok', load: 'ok' });
    await gateway.stop();
  });

  it('P10 with a heap that is nearly full refuses new requests, finishes the rest, and recovers later', async () => {
    const gateway = await start({ disturbed: true, nodeOptions: '--max-old-space-size=256' });
    const inFlight = await slowCalls(gateway, { delayMs: 3_000 });
    await gateway.disturb({ heap: 228 });
    const refused = await eventually(gateway, CUSTOMERS, ({ status }) => status === 503);
    expect(refused.body).toMatchObject({ code: 'overloaded', outcome: 'not_processed' });
    expect(await statusOf(gateway, '/health/live')).toBe(200);
    expect((await call(gateway, '/health/ready')).body).toMatchObject({
      status: 'degraded',
      load: 'overloaded',
    });
    expect(await statusesOf(inFlight)).toEqual([200, 200]);
    await gateway.disturb({ heap: 0 });
    await eventually(gateway, CUSTOMERS, ({ status }) => status === 200);
    await gateway.stop();
  });

  it('P11 with a heap beyond its limit ends, and the next one serves at once', async () => {
    const gateway = await start({ disturbed: true, nodeOptions: '--max-old-space-size=96' });
    void gateway.disturb({ heap: 1_000 }).catch(() => undefined);
    expect(await gateway.ended).not.toBe(0);
    const next = await start();
    expect(await statusOf(next, ASSETS)).toBe(200);
    await next.stop();
  });

  it.each(['exception', 'rejection'] as const)(
    'P12 after an uncaught %s finishes requests in flight, accepts no new ones, exits with 1, and logs no message of it',
    async (fail) => {
      const gateway = await start({ disturbed: true });
      const inFlight = await slowCalls(gateway, { delayMs: 1_500 });
      const secret = newApiKey().key;
      await gateway.disturb({ fail, secret, shape: 'message' });
      await until(async () => (await freshStatus(gateway, '/health/ready')) !== 200);
      expect(await statusesOf(inFlight)).toEqual([200, 200]);
      expect(await gateway.ended).toBe(1);
      expect(gateway.output()).toMatch(
        /"event":"(uncaught-exception|unhandled-rejection)","error":"RangeError"/,
      );
      expect(gateway.output()).toContain('disturb.ts');
      expect(gateway.output()).not.toContain(secret);
    },
  );

  it('P13 with hardly any file descriptors serves, refuses or responds with 503, and never hangs', async () => {
    const gateway = await start({ maxFiles: 64 });
    expect(await statusOf(gateway, ASSETS)).toBe(200);
    const sockets = Array.from({ length: 100 }, () =>
      connect(Number(new URL(gateway.url).port), '127.0.0.1'),
    );
    for (const socket of sockets) socket.on('error', () => undefined);
    // Idle connections make room, so most requests are served.
    for (let round = 0; round < 50; round++)
      expect([200, 503, 'refused']).toContain(await freshStatus(gateway, ASSETS));
    for (const socket of sockets) socket.destroy();
    await until(async () => (await freshStatus(gateway, ASSETS)) === 200);
    await gateway.stop();
  });

  describe('O5 the log cannot be written', () => {
    it.each(['a full disk', 'a pipe without a reader', 'a closed pipe'])(
      'P14 a log that goes to %s fails no request',
      async (where) => {
        await sandbox.reset();
        const port = String(await freePort());
        const child = spawn(process.execPath, SHIPPED_START, {
          env: { PATH: process.env['PATH'], ...environment(sandbox), PORT: port, MANAGEMENT_PORT: '0' },
          stdio: ['ignore', where === 'a full disk' ? openSync('/dev/full', 'w') : 'pipe', 'pipe'],
        });
        child.stderr?.resume();
        try {
          const exit = once(child, 'exit');
          if (where === 'a closed pipe') child.stdout?.destroy();
          const gateway = { url: `http://127.0.0.1:${port}` };
          await until(async () => (await statusOf(gateway, '/health/live')) === 200);
          // Lines of about 200 bytes: more than a pipe takes.
          for (let round = 0; round < 8; round++) {
            const calls = Array.from({ length: 50 }, () => statusOf(gateway, '/v1/nothing-here'));
            expect(new Set(await Promise.all(calls))).toEqual(new Set([404]));
          }
          expect(await statusOf(gateway, ASSETS)).toBe(200);
          // The test must read the rest, or the process cannot flush it.
          child.stdout?.resume();
          child.kill('SIGINT');
          expect(await exit).toEqual([0, null]);
        } finally {
          child.kill('SIGKILL');
        }
      },
    );
  });

  it('P15 a wall clock that steps back a day, and ahead, loses no token and returns no old response', async () => {
    const users = join(folder, 'users.json');
    writeFileSync(
      users,
      JSON.stringify({ default: { username: 'admin@harbour', password: sandbox.seedPassword } }),
    );
    const gateway = await start({ disturbed: true }, { UPSTREAM_USERS_FILE: users, CACHE_TTL_MS: '60000' });
    const members = '/v1/enterprises/ent-harbour/members?pageSize=5';
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const opened = await call(gateway, '/v1/sessions', JSON.stringify(login));
    expect(opened.status).toBe(201);
    const session = () =>
      fetch(`${gateway.url}/v1/sessions/current`, {
        headers: { 'x-api-key': key, 'x-session-id': opened.body['sessionId'] as string },
      }).then(({ status }) => status);
    const tokens = async () => (await sandbox.journal('token')).length;
    expect([await statusOf(gateway, ASSETS), await statusOf(gateway, members)]).toEqual([200, 200]);
    const asked = await tokens();
    for (const clock of [-DAY_MS, DAY_MS, 0]) {
      await gateway.disturb({ clock });
      expect([await statusOf(gateway, ASSETS), await statusOf(gateway, members)]).toEqual([200, 200]);
      // A session ends by the clock of its store, which did not step.
      expect(await session()).toBe(200);
      // A response that was cached at another time does not hide a write.
      expect((await call(gateway, LOCKS, locks)).status).toBe(200);
      const before = (await sandbox.journal('listAssets')).length;
      expect(await statusOf(gateway, ASSETS)).toBe(200);
      expect((await sandbox.journal('listAssets')).length).toBe(before + 1);
    }
    expect(await tokens()).toBe(asked);
    await gateway.stop();
  });

  it.each<[string, Record<string, string>]>([
    ['UPSTREAM_BASE_URL', { UPSTREAM_BASE_URL: 'http://platform.example.com/value-of-it' }],
    ['UPSTREAM_TOKEN_URL', { UPSTREAM_TOKEN_URL: 'value-of-it' }],
    ['UPSTREAM_DEADLINE_MS', { UPSTREAM_DEADLINE_MS: 'value-of-it' }],
    ['ENCRYPTION_KEYS', { REDIS_URL: 'redis://127.0.0.1:1', ENCRYPTION_KEYS: 'value-of-it' }],
  ])('P17 a start with a wrong %s is refused with its name, without its value', async (name, wrong) => {
    const failure = await startGatewayProcess({ ...environment(sandbox), ...wrong }).then(
      () => 'it started',
      (error: unknown) => (error as Error).message,
    );
    expect(failure).toContain(name);
    expect(failure).not.toContain('value-of-it');
  });
});

// The last test, since it takes longest; it began with the first.
describe('a stop with calls that do not end', () => {
  it('P2 abandons them after the grace period: 504 for each, with an unknown outcome for the write, and exits 0', async () => {
    const { answers, code, tookMs } = await pastTheGrace;
    const [read, write] = answers;
    expect(read?.status).toBe(504);
    expect(read?.body).toMatchObject({ code: 'upstream-timeout', outcome: 'not_processed', retryable: true });
    expect(write?.status).toBe(504);
    expect(write?.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: false });
    expect(code).toBe(0);
    expect(tookMs).toBeGreaterThan(20_000);
    expect(await slowSandbox.journal('disableLocks')).toHaveLength(1);
  });
});
