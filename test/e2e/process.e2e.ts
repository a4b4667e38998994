import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { orderExamples } from '../../src/order/order-examples.ts';
import { newApiKey } from '../support/canary.ts';
import { SHIPPED_START } from '../support/gateway-process.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { freePort } from '../support/redis.ts';

/** The shipped gateway (the build, through `npm start`) as a process of its own, and the demo. */

let sandbox: TestSandbox;
let folder: string;
const { key, hash } = newApiKey();
const children: ChildProcess[] = [];

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  folder = mkdtempSync(join(tmpdir(), 'gateway-process-'));
  const caller = {
    name: 'p',
    keys: [hash],
    scopes: ['orders:read', 'orders:write'],
    enterprises: ['*'],
    channels: ['*'],
  };
  writeFileSync(join(folder, 'callers.json'), JSON.stringify({ callers: [caller] }));
});
beforeEach(() => sandbox.reset());
afterEach(() => {
  for (const { pid, exitCode, signalCode } of children.splice(0)) {
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  }
});
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

const good = (): Record<string, string> => ({
  UPSTREAM_BASE_URL: sandbox.url,
  UPSTREAM_TOKEN_URL: sandbox.tokenUrl,
  UPSTREAM_APP_KEY: sandbox.appKey,
  UPSTREAM_APP_SECRET: sandbox.appSecret,
  CALLERS_FILE: join(folder, 'callers.json'),
});

function run(command: string, args: string[], environment: Record<string, string | undefined>): ChildProcess {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: 'pipe',
    detached: true,
  });
  children.push(child);
  return child;
}

async function ended(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

async function startedByNpm(): Promise<{
  child: ChildProcess;
  url: string;
  end: Promise<{ code: number | null; output: string }>;
}> {
  const port = String(await freePort());
  const child = run('npm', ['start'], { ...good(), PORT: port, MANAGEMENT_PORT: '0', LOG_LEVEL: 'info' });
  const end = ended(child);
  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      if (line.includes('"event":"listening"')) resolve();
    });
    void end.then(({ output }) => reject(new Error(output)));
  });
  await ready;
  return { child, url: `http://127.0.0.1:${port}`, end };
}

describe('a start', () => {
  it.each<[string, Record<string, string | undefined>, RegExp]>([
    [
      'without its required settings',
      { UPSTREAM_BASE_URL: undefined, CALLERS_FILE: undefined },
      /UPSTREAM_BASE_URL is required.*CALLERS_FILE is required/,
    ],
    [
      'with plain http beyond the loopback',
      { UPSTREAM_BASE_URL: 'http://platform.example.com' },
      /UPSTREAM_BASE_URL must be https/,
    ],
    [
      'with a key of the wrong length',
      { REDIS_URL: 'redis://127.0.0.1:1', ENCRYPTION_KEYS: 'k1:c2hvcnQ=' },
      /ENCRYPTION_KEYS must be kid:base64\(32 bytes\)/,
    ],
    [
      'with Redis and no key',
      { REDIS_URL: 'redis://127.0.0.1:1' },
      /ENCRYPTION_KEYS is required with REDIS_URL/,
    ],
    ['in production without Redis', { NODE_ENV: 'production' }, /REDIS_URL is required in production/],
    [
      'with callers from nowhere',
      { CALLERS_FILE: '/nowhere.json' },
      /CALLERS_FILE names "\/nowhere\.json": there is no such file/,
    ],
    ['with a port that is none', { PORT: '70000' }, /PORT must be a whole number from 0 to 65535/],
  ])('%s fails at once, and names the variable but no value', async (_, change, message) => {
    const child = run(process.execPath, SHIPPED_START, { ...good(), MANAGEMENT_PORT: '0', ...change });
    const { code, output } = await ended(child);
    expect(code).toBe(1);
    expect(output).toMatch(message);
    for (const secret of [sandbox.appSecret, sandbox.appKey, 'c2hvcnQ=', 'platform.example.com'])
      expect(output).not.toContain(secret);
  });
});

describe('npm start', () => {
  it.each(['PORT', 'MANAGEMENT_PORT'])('G9 names %s where another process has that port', async (name) => {
    const taken = new URL(sandbox.url).port;
    const { code, output } = await ended(
      run('npm', ['start'], { ...good(), PORT: '0', MANAGEMENT_PORT: '0', [name]: taken }),
    );
    expect(code).toBe(1);
    expect(output).toContain(
      `configuration: ${name} must be a port that is free: another process listens on 127.0.0.1:${taken}`,
    );
    expect(output).not.toMatch(/"stack":"undefined"|EADDRINUSE/);
  });

  it('serves, and on SIGTERM finishes what is in flight and exits 0', async () => {
    const { child, url, end } = await startedByNpm();
    await sandbox.fault({ operation: 'listAssets', action: { delayMs: 700 } });
    const inFlight = fetch(`${url}/v1/enterprises/ent-harbour/assets`, { headers: { 'x-api-key': key } });
    while ((await sandbox.journal('listAssets')).length === 0)
      await new Promise((resolve) => setImmediate(resolve));
    child.kill('SIGTERM');
    const answer = await inFlight;
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as { items: object[] }).items.length).toBeGreaterThan(5);
    const { code, output } = await end;
    expect(code).toBe(0);
    for (const secret of [sandbox.appSecret, sandbox.appKey, key]) expect(output).not.toContain(secret);
    await expect(fetch(`${url}/health/live`)).rejects.toThrow();
  });
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

it('npm run new-key -- --help says how it is used, as a wrong name does, and makes no key', async () => {
  for (const [words, code] of [
    [['--help'], 0],
    [['-h'], 0],
    [[], 2],
    [['--name', 'crm'], 2],
    [['two', 'names'], 2],
    [['a/b'], 2],
  ] as const) {
    const told = await ended(run('npm', ['run', '-s', 'new-key', '--', ...words], {}));
    expect([words, told.code, told.output]).toEqual([
      words,
      code,
      expect.stringContaining('usage: npm run new-key -- <name>'),
    ]);
    expect(told.output).not.toContain('lgw_');
  }
  const made = await ended(run('npm', ['run', '-s', 'new-key', '--', 'crm'], {}));
  expect([made.code, made.output]).toEqual([0, expect.stringMatching(/lgw_[^]*"name": "crm"/)]);
});

describe('npm run demo', () => {
  it.each(['PORT', 'SANDBOX_PORT', 'MANAGEMENT_PORT'])(
    'says at once that %s is taken, and prints no key',
    async (name) => {
      const temporary = mkdtempSync(join(folder, 'tmp-'));
      const taken = new URL(sandbox.url).port;
      const free = {
        PORT: String(await freePort()),
        SANDBOX_PORT: String(await freePort()),
        MANAGEMENT_PORT: String(await freePort()),
      };
      const { code, output } = await ended(
        run('npm', ['run', 'demo'], { ...free, [name]: taken, DEMO_SKIP_BUILD: '1', TMPDIR: temporary }),
      );
      expect(code).toBe(1);
      expect(output).toContain(`Port ${taken} is in use: ${name}=<another port> npm run demo`);
      expect(output).not.toContain('lgw_');
      // npm keeps a directory there.
      expect(readdirSync(temporary).filter((each) => each.includes('demo'))).toEqual([]);
    },
  );

  it('G11 prints a key and a request that work together, follows the clock of its sandbox, and ends cleanly on Ctrl-C', async () => {
    const environment = {
      PORT: String(await freePort()),
      SANDBOX_PORT: String(await freePort()),
      MANAGEMENT_PORT: '0',
      DEMO_SKIP_BUILD: '1',
    };
    const child = run('npm', ['run', 'demo'], environment);
    const end = ended(child);
    const line = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (each) => {
        if (each.includes('curl -s')) resolve(each);
      });
      void end.then(({ output }) => reject(new Error(output)));
    });
    const [, url = '', name = '', value = ''] = /curl -s (\S+) -H '([^:]+): ([^']+)'/.exec(line) ?? [];
    const answer = await fetch(url, { headers: { [name]: value } });
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as { items: object[] }).items.length).toBeGreaterThan(5);
    expect((await fetch(`http://127.0.0.1:${environment.PORT}/docs`)).status).toBe(200);
    // The commands of the README, in their order, and then the first example of the page.
    const told = new Promise<string>((resolve) => {
      const shell = run('bash', ['-e', '-c', readmeStory(environment, value)], {});
      void ended(shell).then(({ output }) => resolve(output));
    });
    const answers = (await told)
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
      body: JSON.stringify(orderExamples.newBuy.value),
    });
    expect(placed.status).toBe(201);
    const job = await fetch(`http://127.0.0.1:${environment.PORT}/v1/jobs`, { headers: { [name]: value } });
    expect(((await job.json()) as { total: number }).total).toBe(1);
    // A century later what has an end has expired.
    const overview = url.replace(/assets$/, 'overview');
    const expired = async () => {
      const headers = { [name]: value, 'cache-control': 'no-cache' };
      const { assets } = (await (await fetch(overview, { headers })).json()) as {
        assets: { expired: number };
      };
      return assets.expired;
    };
    expect(await expired()).toBe(1);
    const body = JSON.stringify({ advanceMs: 100 * 365 * 86_400_000 });
    await fetch(`http://127.0.0.1:${environment.SANDBOX_PORT}/__sandbox/clock`, { method: 'PUT', body });
    while ((await expired()) === 1) await new Promise((resolve) => setImmediate(resolve));
    expect(await expired()).toBe(6);
    // Sent to the whole process group, as a terminal does.
    process.kill(-(child.pid as number), 'SIGINT');
    const { code, output } = await end;
    expect(code).toBe(0);
    expect(output).toContain('Demo ended.');
    await expect(fetch(`http://127.0.0.1:${environment.SANDBOX_PORT}/__sandbox/health`)).rejects.toThrow();
  });
});
