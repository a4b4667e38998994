import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import examples from '../../src/operation/openapi/examples.json' with { type: 'json' };
import { newApiKey, newEncryptionKey, newSecret } from '../support/canary.ts';
import { hasContainers, newContainer } from '../support/container.ts';
import { emptyDatabase } from '../support/database.ts';
import { Fleet } from '../support/fleet.ts';
import {
  type GatewayProcess,
  START_SCRIPT,
  startGatewayProcess,
  withEndTimers,
} from '../support/gateway-process.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { deletionOfAsset, orderOf } from '../support/order-body.ts';
import { freePort, startRedis, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** Faults of the process itself: of the shipped gateway, of `npm start`, and of the demo. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const CUSTOMERS = '/v1/customers?channelCode=crm&channelCustomerId=CH-1001';
const LOCKS = '/v1/enterprises/ent-harbour/locks/disable';
const locks = { assetNums: ['8000001003'] };
const DAY_MS = 24 * 3600 * 1000;
const READY = '/health/ready';
const LIVE = '/health/live';

const sandbox = useSandbox();
const children: ChildProcess[] = [];

beforeEach(() => sandbox.reset());
afterEach(() => {
  for (const { pid, exitCode, signalCode } of children.splice(0))
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
});

/** A gateway, and its process. */
interface Started {
  readonly gateway: TestGateway;
  readonly child: GatewayProcess;
}

async function start(
  how: Parameters<typeof startGatewayProcess>[1] = {},
  environment: Record<string, string> = {},
): Promise<Started> {
  let child: GatewayProcess | undefined;
  const gateway = await TestGateway.start(
    sandbox,
    environment,
    [],
    async (all) => (child = await startGatewayProcess(all, how)),
  );
  return { gateway, child: child as GatewayProcess };
}

/** A command in a process group of its own, and how it ends. */
function run(
  command: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): { child: ChildProcess; output: () => string; end: Promise<{ code: number | null; output: string }> } {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: 'pipe',
    detached: true,
  });
  children.push(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const end = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return { child, output: () => output, end };
}

/** The status, or `refused` without a response. */
function statusOf({ url, key }: { url: string; key: string }, path: string): Promise<number | 'refused'> {
  return fetch(url + path, {
    headers: { 'x-api-key': key, connection: 'close' },
    signal: AbortSignal.timeout(20_000),
  }).then(
    ({ status }) => status,
    () => 'refused',
  );
}

/** Repeats a read until it gets that status. */
async function eventually(gateway: TestGateway, path: string, status: number): Promise<TestAnswer> {
  let answer: TestAnswer | undefined;
  const isIt = async () => (answer = await gateway.get(path)).status === status;
  await until(`${path} is ${status}`, isIt);
  return answer as TestAnswer;
}

/** Repeats a request that an overloaded gateway refuses, as after a test that has just filled its heap. */
async function untilAdmitted(ask: () => Promise<TestAnswer>): Promise<TestAnswer> {
  for (;;) {
    const answer = await ask();
    if (answer.body['code'] !== 'overloaded') return answer;
    await sleep(250);
  }
}

/** A read and a write under way at the platform, which a fault may meet. */
async function slowCalls(gateway: TestGateway, action: object): Promise<Promise<TestAnswer>[]> {
  await sandbox.fault({ operation: ['listAssets', 'disableLocks'], times: 2, action });
  const headers = { 'cache-control': 'no-cache' };
  const calls = [
    untilAdmitted(() => gateway.get(ASSETS, { headers })),
    untilAdmitted(() => gateway.post(LOCKS, locks)),
  ];
  for (const each of calls) each.catch(() => undefined);
  await sandbox.untilSpoiled(2, ...calls);
  return calls;
}

const statusesOf = async (calls: Promise<TestAnswer>[]) =>
  (await Promise.all(calls)).map(({ status }) => status);

describe('npm start', () => {
  describe('P3 with a second and a third signal', () => {
    it('P1 ended by SIGTERM under 200 requests a second: not ready at once, all get responses, none is reset, exit 0', async () => {
      const gateway = new TestGateway();
      let npm: ReturnType<typeof run> | undefined;
      // The requests after the signal take longer on a slow machine, too.
      const slowness = Number(process.env['TEST_SLOWNESS'] ?? 1);
      const environment = { NODE_OPTIONS: withEndTimers(`ms===5000||ms>30000?ms*${slowness}:ms`) };
      await gateway.open(sandbox, environment, async (all) => {
        const { output, end } = (npm = run('npm', ['start'], all));
        const told = () => /^.*"event":"listening".*$/m.exec(output())?.[0];
        await Promise.race([end, until('it listens', () => told() !== undefined)]);
        const { url, managementPort } = JSON.parse(told() ?? output()) as Record<string, string>;
        const managementUrl = `http://127.0.0.1:${managementPort}`;
        return { url: String(url), managementUrl, output, stop: async () => void (await end) };
      });
      const { child, end } = npm as ReturnType<typeof run>;
      const inFlight = await slowCalls(gateway, { delayMs: 2_000 });
      const answers: Promise<number | string>[] = [];
      const kept = () => gateway.get(CUSTOMERS).then(({ status }) => status, String);
      const send = async (count: number) => {
        for (; count > 0; count--) {
          // Clients that keep their connections, as most do, and some that open one for each call.
          answers.push(answers.length % 10 ? kept() : statusOf(gateway, CUSTOMERS));
          await sleep(5);
        }
      };
      await send(60);
      child.kill('SIGTERM');
      await until('it is not ready', async () => (await statusOf(gateway, READY)) === 503);
      // The gateway serves new connections for five seconds after the signal.
      child.kill('SIGINT');
      await send(60);
      child.kill('SIGTERM');
      const ready = await gateway.get(READY);
      expect([ready.status, ready.headers.get('connection'), ready.body]).toEqual([
        503,
        'close',
        expect.objectContaining({ status: 'down' }),
      ]);
      expect(await statusOf(gateway, LIVE)).toBe(200);
      expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
      expect(await statusesOf(inFlight)).toEqual([200, 200]);
      expect((await end).code).toBe(0);
      expect(await statusOf(gateway, LIVE)).toBe('refused');
      await gateway.stop();
    });
  });

  it('P2 that ends with calls without an end abandons them after the grace period: 504 for each, with an unknown outcome for the write, and exits 0', async () => {
    // The timers of more than 30 s, those of the end of the grace, are early. The process would linger before them after SIGTERM.
    const environment = {
      UPSTREAM_DEADLINE_MS: '600000',
      NODE_OPTIONS: withEndTimers('ms>30000?ms-31000:ms'),
    };
    const { gateway, child } = await start({}, environment);
    const calls = await slowCalls(gateway, { hang: true });
    child.child.kill('SIGINT');
    const [read, write] = await Promise.all(calls);
    expect(read?.status).toBe(504);
    expect(read?.body).toMatchObject({ code: 'upstream-timeout', outcome: 'not_processed', retryable: true });
    expect(write?.status).toBe(504);
    expect(write?.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: false });
    expect(await child.ended).toBe(0);
    expect(await sandbox.journal('disableLocks')).toHaveLength(1);
    await gateway.stop();
  });

  it('P1 that ends while the body of a request does not arrive refuses it in time, and exits 0', async () => {
    // The timer of the body is early.
    const { gateway, child } = await start({}, { NODE_OPTIONS: withEndTimers('ms===9500?2000:ms') });
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /v1/license-orders HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${gateway.key}\r\n` +
        'content-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n',
    );
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await until('the gateway asks for the body', () => text.includes(' 100 '));
    child.child.kill('SIGINT');
    await once(socket, 'close');
    expect(text).toMatch(/HTTP\/1\.1 400 .*"code":"validation-failed"/s);
    expect(await child.ended).toBe(0);
    await gateway.stop();
  });

  it('P17 with wrong settings is refused with all their names, without their values', async () => {
    const gateway = new TestGateway();
    const wrong = {
      UPSTREAM_BASE_URL: 'value-of-it',
      UPSTREAM_TOKEN_URL: 'value-of-it',
      UPSTREAM_DEADLINE_MS: 'value-of-it',
      REDIS_URL: 'redis://127.0.0.1:1',
      ENCRYPTION_KEYS: 'value-of-it',
      PORT: '70000',
      CALLERS_FILE: '',
    };
    const { code, output } = await run('sh', [START_SCRIPT], {
      ...gateway.environment(sandbox),
      ...wrong,
    }).end;
    expect(code).toBe(1);
    for (const name of Object.keys(wrong).filter((each) => each !== 'REDIS_URL'))
      expect(output).toContain(name);
    expect(output).toMatch(/CALLERS_FILE is required/);
    expect(output).not.toMatch(/value-of-it|70000/);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'P26 that gets %s during its start ends at once with 0',
    async (signal) => {
      // A database that never responds.
      const database = createServer().listen(0, '127.0.0.1');
      const connected = once(database, 'connection') as Promise<[Socket]>;
      await once(database, 'listening');
      const gateway = new TestGateway();
      gateway.writeCallers();
      gateway.writeUsers({});
      const { child, end } = run('sh', [START_SCRIPT], {
        ...gateway.environment(sandbox),
        DATABASE_URL: `postgres://gateway@127.0.0.1:${(database.address() as AddressInfo).port}/gateway`,
        ENCRYPTION_KEYS: newEncryptionKey(),
      });
      const [socket] = await connected;
      child.kill(signal);
      expect((await end).code).toBe(0);
      socket.destroy();
      database.close();
    },
  );

  it('P21 with an unknown word for NODE_ENV is refused by name', async () => {
    const gateway = new TestGateway();
    const environment = { ...gateway.environment(sandbox), NODE_ENV: 'production ' };
    const { code, output } = await run('sh', [START_SCRIPT], environment).end;
    expect([code, output]).toEqual([
      1,
      expect.stringContaining('NODE_ENV must be one of production, development, test'),
    ]);
  });

  it.each(['PORT', 'MANAGEMENT_PORT'])('G9 names %s where another process has that port', async (name) => {
    const gateway = new TestGateway();
    gateway.writeCallers();
    gateway.writeUsers({});
    const taken = new URL(sandbox.url).port;
    const environment = { ...gateway.environment(sandbox), [name]: taken };
    const { code, output } = await run('sh', [START_SCRIPT], environment).end;
    expect(code).toBe(1);
    expect(output).toContain(
      `configuration: ${name} must be a port that is free: another process listens on 127.0.0.1:${taken}`,
    );
    expect(output).not.toMatch(/"stack":"undefined"|EADDRINUSE/);
  });

  it('G9 names both variables where the two listeners have one port', async () => {
    const gateway = new TestGateway();
    gateway.writeCallers();
    gateway.writeUsers({});
    const port = String(await freePort());
    const environment = { ...gateway.environment(sandbox), PORT: port, MANAGEMENT_PORT: port };
    const { code, output } = await run('sh', [START_SCRIPT], environment).end;
    expect(code).toBe(1);
    expect(output).toContain(
      `configuration: PORT must be a port that is free: MANAGEMENT_PORT is ${port} as well`,
    );
  });

  it.each(['HOST', 'MANAGEMENT_HOST'])(
    'P17 names %s, and not its value, where nobody knows that name',
    async (name) => {
      const gateway = new TestGateway();
      gateway.writeCallers();
      gateway.writeUsers({});
      const environment = { ...gateway.environment(sandbox), [name]: 'value..of-it' };
      const { code, output } = await run('sh', [START_SCRIPT], environment).end;
      expect(code).toBe(1);
      expect(output).toMatch(new RegExp(`^configuration: ${name} must be an address of this machine`, 'm'));
      expect(output).not.toMatch(/value\.\.of-it|\n +at /);
    },
  );
});

describe('the space for young objects', () => {
  const told = async (how: Parameters<typeof start>[0]) => {
    const { child } = await start(how);
    await child.stop();
    const line = /^.*"event":"listening".*$/m.exec(child.output())?.[0] ?? '';
    const { memoryMiB, semiSpaceMiB } = JSON.parse(line) as Record<string, number>;
    return { memoryMiB, semiSpaceMiB };
  };

  it('fits the memory of the process, unless NODE_OPTIONS says another, and the log tells it', async () => {
    const { memoryMiB = 0, semiSpaceMiB } = await told({});
    expect(semiSpaceMiB).toBe(memoryMiB < 1_024 ? 32 : 64);
    expect(await told({ nodeOptions: '--max-semi-space-size=8' })).toEqual({ memoryMiB, semiSpaceMiB: 8 });
    // Where the user of the test may make a container.
    for (const [mebibytes, expected] of hasContainers ? [[512, 32] as const, [1_024, 64] as const] : []) {
      const container = newContainer(mebibytes);
      const here = await told({ controlGroup: container.door }).finally(() => container.remove());
      expect(here).toEqual({ memoryMiB: mebibytes, semiSpaceMiB: expected });
    }
  });
});

describe('a process that cannot work', () => {
  let gateway: TestGateway;
  let child: GatewayProcess;
  beforeAll(async () => {
    // A container of 512 MiB has these limits.
    const nodeOptions = '--max-old-space-size=256 --max-semi-space-size=32';
    const how = { disturbed: true, nodeOptions };
    ({ gateway, child } = await start(how, { CACHE_TTL_MS: '60000', UPSTREAM_DEADLINE_MS: '60000' }));
  });
  afterAll(() => gateway.stop());

  it('P8 with an event loop that blocks repeatedly refuses requests, says so, and recovers by itself', async () => {
    expect((await gateway.get(ASSETS)).status).toBe(200);
    await child.disturb({ block: 1_400, times: 4 });
    const refused = await eventually(gateway, ASSETS, 503);
    expect(refused.body).toMatchObject({ code: 'overloaded', outcome: 'not_processed', retryable: true });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await gateway.get(LIVE)).status).toBe(200);
    await eventually(gateway, ASSETS, 200);
    expect((await gateway.get(READY)).body).toMatchObject({ status: 'ok', load: 'ok' });
    expect(await gateway.metrics()).toMatch(/gateway_requests_refused_total\{reason="event-loop"\} [1-9]/);
  });

  it('P8 after a pause of 5 s responds to what came meanwhile, also on a connection from before, and no effect remains', async () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    await once(socket, 'connect');
    // The gateway accepts them one after another.
    expect(await statusOf(gateway, ASSETS)).toBe(200);
    child.child.kill('SIGSTOP');
    const waiting = [gateway.get(LIVE), gateway.get(ASSETS)];
    socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n');
    await sleep(5_000);
    child.child.kill('SIGCONT');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
    expect(await statusesOf(waiting)).toEqual([200, 200]);
    expect((await gateway.get(READY)).body).toMatchObject({ status: 'ok', load: 'ok' });
  });

  it('P8 after a pause beyond the deadline of calls, callers get what the platform has answered meanwhile, and no circuit opens', async () => {
    const paused = await start({ disturbed: true }, { UPSTREAM_DEADLINE_MS: '1000' });
    try {
      expect((await paused.gateway.get(ASSETS)).status).toBe(200);
      await sandbox.fault({ operation: 'listAssets', action: { delayMs: 500 } });
      const headers = { 'cache-control': 'no-cache' };
      const reads = Array.from({ length: 30 }, () => paused.gateway.get(ASSETS, { headers }));
      await sandbox.untilSpoiled(reads.length, ...reads);
      await paused.child.disturb({ block: 2_000, times: 1 });
      expect([...new Set(await statusesOf(reads))]).toEqual([200]);
      expect((await paused.gateway.get(ASSETS)).status).toBe(200);
    } finally {
      await paused.gateway.stop();
    }
  });

  it('P10 with a heap that is nearly full refuses new requests, finishes the rest, and recovers later', async () => {
    const inFlight = await slowCalls(gateway, { delayMs: 3_000 });
    await child.disturb({ heap: 228 });
    const refused = await eventually(gateway, CUSTOMERS, 503);
    expect(refused.body).toMatchObject({ code: 'overloaded', outcome: 'not_processed' });
    expect((await gateway.get(LIVE)).status).toBe(200);
    expect((await gateway.get(READY)).body).toMatchObject({ status: 'degraded', load: 'overloaded' });
    expect(await statusesOf(inFlight)).toEqual([200, 200]);
    await child.disturb({ heap: 0 });
    await eventually(gateway, CUSTOMERS, 200);
  });

  it('P15 a wall clock that steps back a day, and ahead, loses no token and returns no old response', async () => {
    const members = '/v1/enterprises/ent-harbour/members?pageSize=5';
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const opened = await gateway.post('/v1/sessions', login);
    expect(opened.status).toBe(201);
    const headers = { 'x-session-id': opened.body['sessionId'] as string };
    const status = async (path: string) => (await gateway.get(path)).status;
    const tokens = async () => (await sandbox.journal('token')).length;
    expect([await status(ASSETS), await status(members)]).toEqual([200, 200]);
    const asked = await tokens();
    for (const clock of [-DAY_MS, DAY_MS, 0]) {
      await child.disturb({ clock });
      expect([await status(ASSETS), await status(members)]).toEqual([200, 200]);
      // A session ends by the clock of its store, which did not step.
      expect((await gateway.get('/v1/sessions/current', { headers })).status).toBe(200);
      // A response that was cached at another time does not hide a write.
      expect((await gateway.post(LOCKS, locks)).status).toBe(200);
      const before = (await sandbox.journal('listAssets')).length;
      expect(await status(ASSETS)).toBe(200);
      expect((await sandbox.journal('listAssets')).length).toBe(before + 1);
    }
    expect(await tokens()).toBe(asked);
  });

  it('P11 with a heap beyond its limit ends, and the next one serves at once', async () => {
    const dying = await start({ disturbed: true, nodeOptions: '--max-old-space-size=96' });
    void dying.child.disturb({ heap: 1_000 }).catch(() => undefined);
    expect(await dying.child.ended).not.toBe(0);
    await dying.gateway.stop();
    const next = await start();
    expect((await next.gateway.get(ASSETS)).status).toBe(200);
    await next.gateway.stop();
  });

  it('P13 with hardly any file descriptors serves, refuses or responds with 503, and never hangs', async () => {
    const { gateway: narrow } = await start({ maxFiles: 64 });
    expect(await statusOf(narrow, ASSETS)).toBe(200);
    const sockets = Array.from({ length: 100 }, () => connect(Number(new URL(narrow.url).port), '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => undefined);
    // Idle connections make room, so most requests are served.
    for (let round = 0; round < 20; round++)
      expect([200, 503, 'refused']).toContain(await statusOf(narrow, ASSETS));
    for (const socket of sockets) socket.destroy();
    await until('it serves', async () => (await statusOf(narrow, ASSETS)) === 200);
    await narrow.stop();
  });

  describe('O5 the log cannot be written', () => {
    it.each(['a full disk', 'a pipe without a reader', 'a closed pipe'])(
      'P14 a log that goes to %s fails no request',
      async (where) => {
        const port = String(await freePort());
        const { key } = gateway;
        const files = { CALLERS_FILE: gateway.callersFile, UPSTREAM_USERS_FILE: gateway.usersFile };
        const server = spawn('sh', [START_SCRIPT], {
          env: { PATH: process.env['PATH'], ...gateway.environment(sandbox), ...files, PORT: port },
          stdio: ['ignore', where === 'a full disk' ? openSync('/dev/full', 'w') : 'pipe', 'pipe'],
        });
        server.stderr?.resume();
        try {
          const exit = once(server, 'exit');
          if (where === 'a closed pipe') server.stdout?.destroy();
          const to = { url: `http://127.0.0.1:${port}`, key };
          await until('it lives', async () => (await statusOf(to, LIVE)) === 200);
          // Lines of about 200 bytes: more than a pipe takes.
          for (let round = 0; round < 8; round++) {
            const calls = Array.from({ length: 50 }, () => statusOf(to, '/v1/nothing-here'));
            expect(new Set(await Promise.all(calls))).toEqual(new Set([404]));
          }
          expect(await statusOf(to, ASSETS)).toBe(200);
          // The test must read the rest, or the process cannot flush it.
          server.stdout?.resume();
          server.kill('SIGINT');
          expect(await exit).toEqual([0, null]);
        } finally {
          server.kill('SIGKILL');
        }
      },
    );
  });

  // The last one: it ends the gateway of the others.
  it.each(['exception', 'rejection'] as const)(
    'P12 after an uncaught %s finishes requests in flight, accepts no new ones, exits with 1, and logs no message of it',
    async (fail) => {
      const failing = fail === 'exception' ? { gateway, child } : await start({ disturbed: true });
      const inFlight = await slowCalls(failing.gateway, { delayMs: 1_500 });
      const secret = newApiKey().key;
      await failing.child.disturb({ fail, secret, shape: 'message' });
      await until('it is not ready', async () => (await statusOf(failing.gateway, READY)) !== 200);
      expect(await statusesOf(inFlight)).toEqual([200, 200]);
      expect(await failing.child.ended).toBe(1);
      const output = failing.child.output();
      expect(output).toMatch(/"event":"(uncaught-exception|unhandled-rejection)","error":"RangeError"/);
      expect(output).toContain('disturb.ts');
      expect(output).not.toContain(secret);
      await failing.gateway.stop();
    },
  );
});

/** The README's commands with the demo's key and ports; after each comes a mark. */
function readmeStory(
  { PORT, SANDBOX_PORT }: { PORT: string; SANDBOX_PORT: string },
  demoKey: string,
): string {
  const story = readFileSync('README.md', 'utf8').split('## Where to read on')[0] ?? '';
  const blocks = [...story.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const commands = blocks
    .filter((block) => block.includes('curl'))
    .join('\n')
    .replace(/^KEY=.*$/m, `KEY=${demoKey}`)
    .replaceAll(':3000', `:${PORT}`)
    .replaceAll(':4000', `:${SANDBOX_PORT}`);
  // The gateway learns of a moved clock a moment later.
  const curl =
    'curl() { local told; while told=$(command curl "$@") && [[ $told == *order-not-settleable* ]]; do :; done; echo "$told"; echo @@; }';
  return `${curl}\n${commands}`;
}

it('npm run new-key says how it is used where it got no name, and makes a key for a name', async () => {
  const told = await run(process.execPath, ['scripts/new-key.ts', 'two', 'names']).end;
  expect(told).toEqual({ code: 2, output: expect.stringContaining('usage: npm run new-key -- <name>') });
  expect(told.output).not.toContain('lgw_');
  const made = await run('npm', ['run', '-s', 'new-key', '--', 'crm']).end;
  expect(made).toEqual({ code: 0, output: expect.stringMatching(/lgw_[^]*"name": "crm"/) });
});

it('P23 killed while it deletes a member leaves no 404 to the repeat of the deletion at another process', async () => {
  const redis = await startRedis();
  const shared = { REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() };
  const [one, other] = await Promise.all([start({}, shared), start({}, shared)]);
  try {
    await sandbox.fault({ operation: 'deleteMember', times: 1, phase: 'after', action: { hang: true } });
    const path = '/v1/enterprises/ent-harbour/members/mem-harbour-dora';
    const cutOff = one.gateway.request('DELETE', path).catch(() => 'cut off');
    await sandbox.untilSpoiled(1, cutOff);
    one.child.child.kill('SIGKILL');
    expect(await cutOff).toBe('cut off');
    expect((await other.gateway.request('DELETE', path)).status).toBe(204);
    expect((await other.gateway.request('DELETE', path)).status).toBe(404);
  } finally {
    await Promise.all([one.gateway.stop(), other.gateway.stop()]);
    await redis.stop();
  }
});

it('P24 ended while its work waits for the platform takes no connection, and gives back what it has not sent', async () => {
  // The end of the grace comes too late to end any of these calls.
  const environment = {
    UPSTREAM_DEADLINE_MS: '600000',
    UPSTREAM_ORDER_DEADLINE_MS: '600000',
    NODE_OPTIONS: withEndTimers('ms===33000||ms===35000?ms*100:ms'),
  };
  const fleet = await Fleet.start(sandbox, 1, { environment });
  try {
    const [ending] = fleet.gateways as [GatewayProcess];
    for (const operation of ['batchOrder', 'listMembers'])
      await sandbox.fault({ operation, times: 1, action: { hang: true } });
    // The gateway reads the assets of a deletion when it takes it, and again at its time.
    await sandbox.fault({ operation: 'listAssets', skip: 1, times: 1, action: { hang: true } });
    for (const over of [{}, { items: [deletionOfAsset] }]) {
      const notBefore = new Date(Date.now() + 5_000).toISOString();
      const order = orderOf(`SO-END-${'items' in over ? 2 : 1}`, { ...over, notBefore });
      expect((await fleet.post(0, '/v1/license-orders', order)).status).toBe(202);
    }
    const imported = await fetch(`${ending.url}/v1/enterprises/ent-harbour/member-imports`, {
      method: 'POST',
      headers: { 'x-api-key': fleet.key, 'x-acting-user': 'default', 'content-type': 'text/csv' },
      body: `account,password,name\r\nlate1,${newSecret('m')},Late\r\n`,
    });
    expect([imported.status, imported.ok ? '' : await imported.text()]).toEqual([202, '']);
    await sandbox.untilSpoiled(3);
    await fleet.launch(environment);
    const headers = { 'x-api-key': fleet.key };
    const stream = await fetch(`${ending.url}/v1/events/stream`, { headers });
    ending.child.kill('SIGINT');
    await stream.text();
    const to = { url: ending.url, key: fleet.key };
    await until('it takes no connection', async () => (await statusOf(to, LIVE)) === 'refused');
    const stateOf = async (path: string) => (await fleet.get(1, path)).body['state'];
    const job = imported.headers.get('location') ?? '';
    await until('the other process has imported', async () => (await stateOf(job)) === 'succeeded');
    const [first, second] = ['/v1/license-orders/crm/SO-END-1', '/v1/license-orders/crm/SO-END-2'];
    await until('the other process has sent', async () => (await stateOf(second)) === 'succeeded');
    expect([await stateOf(first), ending.child.exitCode]).toEqual(['sending', null]);
    // The sandbox cuts off the calls that hang when its state is set.
    await sandbox.control('PUT', '/state', await sandbox.control<object>('GET', '/state'));
    expect(await ending.ended).toBe(0);
    expect(await stateOf(first)).toBe('in_doubt');
    expect(await sandbox.journal('batchOrder')).toHaveLength(2);
  } finally {
    await fleet.stop();
  }
});

it('P25 ended while an order is at the platform whose caller has hung up records it', async () => {
  const { url, remove } = await emptyDatabase('file');
  const stores = { DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey() };
  const { gateway, child } = await start({}, stores);
  await sandbox.fault({ operation: 'batchOrder', times: 1, action: { delayMs: 2_000 } });
  const caller = new AbortController();
  const order = fetch(`${gateway.url}/v1/license-orders`, {
    method: 'POST',
    headers: { 'x-api-key': gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify(orderOf('SO-END-3')),
    signal: caller.signal,
  });
  await sandbox.untilSpoiled(1, order);
  caller.abort();
  await expect(order).rejects.toThrow();
  child.child.kill('SIGINT');
  expect(await child.ended).toBe(0);
  const next = await start({}, stores);
  const record = await next.gateway.get('/v1/license-orders/crm/SO-END-3');
  expect([record.status, record.body['state']]).toEqual([200, 'succeeded']);
  await Promise.all([gateway.stop(), next.gateway.stop()]);
  await remove();
});

describe('npm run demo', () => {
  it('G9 says at once which of its ports is taken, prints no key, and leaves nothing behind', async () => {
    const taken = new URL(sandbox.url).port;
    for (const name of ['PORT', 'SANDBOX_PORT', 'MANAGEMENT_PORT']) {
      const temporary = mkdtempSync(join(tmpdir(), 'demo-test-'));
      const free = {
        PORT: String(await freePort()),
        SANDBOX_PORT: String(await freePort()),
        MANAGEMENT_PORT: String(await freePort()),
      };
      const environment = { ...free, [name]: taken, DEMO_SKIP_BUILD: '1', TMPDIR: temporary };
      const { code, output } = await run(process.execPath, ['scripts/demo.ts'], environment).end;
      expect([code, output]).toEqual([
        1,
        expect.stringContaining(`Port ${taken} is in use: ${name}=<another port> npm run demo`),
      ]);
      expect(output).not.toContain('lgw_');
      expect(readdirSync(temporary)).toEqual([]);
      rmSync(temporary, { recursive: true });
    }
  });

  it('G11 prints a key and a request that work together, follows the clock of its sandbox, and ends cleanly on Ctrl-C', async () => {
    const environment = {
      PORT: String(await freePort()),
      SANDBOX_PORT: String(await freePort()),
      MANAGEMENT_PORT: '0',
      DEMO_SKIP_BUILD: '1',
    };
    const { child, output: printed, end } = run('npm', ['run', 'demo'], environment);
    const told = () => /curl -s (\S+) -H '([^:]+): ([^']+)'/.exec(printed());
    await Promise.race([end, until('it has printed a request', () => told() !== null)]);
    const [, url = '', name = '', value = ''] = told() ?? [];
    const answer = await fetch(url, { headers: { [name]: value } });
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as { items: object[] }).items.length).toBeGreaterThan(5);
    expect((await fetch(`http://127.0.0.1:${environment.PORT}/docs`)).status).toBe(200);
    // The commands of the README, in their order, and then the first example of the page.
    const story = await run('bash', ['-e', '-c', readmeStory(environment, value)]).end;
    const answers = story.output
      .split('@@\n')
      .slice(0, -1)
      .map((each) => JSON.parse(each) as object);
    expect(answers).toMatchObject([
      { items: expect.any(Array) },
      { channelOrderId: 'SO-3001', state: 'succeeded' },
      { ids: [expect.any(String)] },
      { code: 'outcome-unknown', outcome: 'unknown' },
      { channelOrderId: 'SO-3002', state: 'in_doubt' },
      { aheadMs: 1_200_000 },
      { channelOrderId: 'SO-3002', state: 'not_placed' },
    ]);
    const placed = await fetch(`http://127.0.0.1:${environment.PORT}/v1/license-orders`, {
      method: 'POST',
      headers: { [name]: value, 'content-type': 'application/json' },
      body: JSON.stringify(examples.requests.placeOrder.newBuy.value),
    });
    expect(placed.status).toBe(201);
    const job = await fetch(`http://127.0.0.1:${environment.PORT}/v1/jobs`, { headers: { [name]: value } });
    expect(((await job.json()) as { total: number }).total).toBe(1);
    // A century later what has an end has expired, also what the order for a later day has bought by then.
    const overview = url.replace(/assets$/, 'overview');
    const hasExpired = async (count: number) => {
      const headers = { [name]: value, 'cache-control': 'no-cache' };
      const { assets } = (await (await fetch(overview, { headers })).json()) as {
        assets: { expired: number };
      };
      return assets.expired === count;
    };
    await until('one product has expired', () => hasExpired(1));
    const body = JSON.stringify({ advanceMs: 100 * 365 * 86_400_000 });
    await fetch(`http://127.0.0.1:${environment.SANDBOX_PORT}/__sandbox/clock`, { method: 'PUT', body });
    await until('seven products have expired', () => hasExpired(7));
    // Sent to the whole process group, as a terminal does.
    process.kill(-(child.pid as number), 'SIGINT');
    const { code, output } = await end;
    expect(code).toBe(0);
    expect(output).toContain('Demo ended.');
    await expect(fetch(`http://127.0.0.1:${environment.SANDBOX_PORT}/__sandbox/health`)).rejects.toThrow();
  });
});

it('P20 ends at once although clients have opened connections in advance, or read a stream', async () => {
  const { gateway, child } = await start();
  const unused = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  await once(unused, 'connect');
  // The gateway has taken the connections before this one.
  expect((await gateway.get(ASSETS)).status).toBe(200);
  const headers = { 'x-api-key': gateway.key };
  const stream = await fetch(`${gateway.url}/v1/events/stream`, { headers });
  const started = performance.now();
  child.child.kill('SIGINT');
  expect(await stream.text()).toContain(': open\n\n');
  expect(await child.ended).toBe(0);
  // The process would wait 14 seconds for their requests, and 71 for another request after the stream.
  expect(performance.now() - started).toBeLessThan(10_000);
  unused.destroy();
  await gateway.stop();
});
