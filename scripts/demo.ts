/**
 * `npm run demo` runs the sandbox and the gateway with one command, without other installations. Every credential is made up at start and
 * stays in a temporary folder until Ctrl-C. `npm run dev` is the same with its own compiled files (`.dev`) instead of the bundle. A change
 * of a source compiles it, and restarts its process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { prettyFactory } from 'pino-pretty';
import { prepareDemo } from './demo-state.ts';
import { isBuilt } from './built.ts';
import { faultOfPort } from '../sandbox-package/src/ports.ts';
import { newSetting, type Setting } from '../sandbox-package/src/setting.ts';

const READY_WITHIN_MS = 30_000;
/** Keeps compiled code, so that later starts are faster. */
const NODE_COMPILE_CACHE = 'node_modules/.cache/demo';
/** Lets the gateway's clock follow the sandbox's. */
const DEMO_CLOCK = new URL('./demo-clock.ts', import.meta.url).href;
/** The id of the request after which the demo is ready. */
const LAST_REQUEST = 'demo-is-ready';
const port = process.env['PORT'] ?? '3000';
const sandboxPort = process.env['SANDBOX_PORT'] ?? '4000';
const managementPort = process.env['MANAGEMENT_PORT'] ?? '9464';
const isWatched = process.argv.includes('--watch');
const gatewayUrl = `http://127.0.0.1:${port}`;
const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;

const children: ChildProcess[] = [];
let setting: Setting | undefined;
let ending = false;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(0));
// A terminal that was closed takes no more text, and the demo must still end its processes.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function end(code: number): Promise<void> {
  if (ending) return;
  ending = true;
  // The gateway ends before the platform, so that its requests in flight can still finish.
  for (const child of children.toReversed()) await stop(child);
  setting?.remove();
  say(code === 0 ? '\nDemo ended.' : '');
  process.exit(code);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  // SIGTERM would wait for a load balancer.
  child.kill('SIGINT');
  await gone;
}

function start(
  name: string,
  [program = process.execPath, ...args]: readonly string[],
  environment: Record<string, string>,
): ChildProcess {
  const child = spawn(program, args, {
    // The process gets only these variables, because the demo must not use a real platform's settings.
    env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // The process has its own group, so that it gets Ctrl-C once, from here.
    detached: true,
  });
  child.stderr?.pipe(process.stderr);
  child.once('exit', (code) => {
    if (ending) return;
    process.stderr.write(`\nThe ${name} ended by itself (${code}).\n`);
    void end(1);
  });
  children.push(child);
  return child;
}

async function assertFree(ports: Readonly<Record<string, string>>): Promise<void> {
  const faults: string[] = [];
  const others: string[] = [];
  for (const [variable, given] of Object.entries(ports)) {
    const fault = await faultOfPort(Number(given));
    if (fault === undefined) continue;
    faults.push(`port ${given} ${fault}`);
    others.push(`${variable}=<another port>`);
  }
  if (faults.length === 0) return;
  process.stderr.write(`${faults.join(', ').replace(/^p/, 'P')}: ${others.join(' ')} npm run demo\n`);
  process.exit(1);
}

async function healthy(url: string): Promise<void> {
  const giveUp = Date.now() + READY_WITHIN_MS;
  for (;;) {
    const ok = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok || ending) return;
    if (Date.now() > giveUp) throw new Error(`${url} did not become healthy`);
    await sleep(50);
  }
}

/** Prints the log of the gateway. Resolves once it has the last request of the preparation. */
function printLog({ stdout }: ChildProcess): Promise<void> {
  const lineOf = prettyFactory({
    colorize: process.stdout.isTTY,
    ignore: 'event',
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
  });
  return new Promise((resolve) => {
    if (stdout === null) return resolve();
    createInterface({ input: stdout }).on('line', (line) => {
      process.stdout.write(lineOf(line));
      if (line.includes(LAST_REQUEST)) resolve();
    });
  });
}

await assertFree({ PORT: port, SANDBOX_PORT: sandboxPort, MANAGEMENT_PORT: managementPort });

/** Compiles, and then compiles each change. Resolves when the first build is ready. */
async function compileOnChange(): Promise<void> {
  const compiler = start(
    'compiler',
    [
      ...[process.execPath, 'node_modules/@nestjs/cli/bin/nest.js', 'build', '--path', 'tsconfig.dev.json'],
      ...['--watch', '--preserveWatchOutput'],
    ],
    {},
  );
  let printed = '';
  await new Promise<void>((resolve) => {
    compiler.stdout?.on('data', (chunk: Buffer) => {
      process.stdout.write(chunk);
      printed += chunk.toString();
      if (printed.includes('Watching for file changes')) resolve();
    });
  });
}

/** Builds the gateway, with a dot each second. */
async function build(): Promise<void> {
  process.stdout.write('Building the gateway, which is done again only after a change of its sources ');
  const building = spawn('npm', ['run', '-s', 'build:gateway'], { stdio: ['ignore', 'inherit', 'inherit'] });
  const dots = setInterval(() => process.stdout.write('.'), 1_000);
  const [code] = (await once(building, 'exit')) as [number | null];
  clearInterval(dots);
  say(code === 0 ? ' done' : ' failed');
  if (code !== 0) process.exit(1);
}

/** The command of a process that restarts when a file changes that it has read. */
const WATCHED = [process.execPath, '--watch', '--watch-preserve-output', '--watch-kill-signal=SIGINT'];

if (isWatched) await compileOnChange();
else if (process.env['DEMO_SKIP_BUILD'] !== '1' && !isBuilt('.')) {
  await build();
}

const appKey = randomBytes(12).toString('hex');
const appSecret = randomBytes(24).toString('hex');
const adminPassword = randomBytes(9).toString('base64url');
const caller = { name: 'demo', channels: ['crm'] };
const users = { default: 'admin@harbour' };
setting = newSetting({ url: sandboxUrl, appKey, appSecret, password: adminPassword }, caller, users);
const { apiKey: key } = setting;

try {
  start('sandbox', [...(isWatched ? WATCHED : [process.execPath]), 'sandbox/main.ts'], {
    SANDBOX_PORT: sandboxPort,
    SANDBOX_APP_KEY: appKey,
    SANDBOX_APP_SECRET: appSecret,
    SANDBOX_ADMIN_PASSWORD: adminPassword,
    SANDBOX_COMPANIES: '3x24x2',
  });
  const command = isWatched
    ? [...WATCHED, '--import', DEMO_CLOCK, '.dev/main.js']
    : ['sh', 'dist/bundle/start.sh', '--import', DEMO_CLOCK];
  const gateway = start('gateway', command, {
    DEMO_SANDBOX_CLOCK: `${sandboxUrl}/__sandbox/clock`,
    PORT: port,
    MANAGEMENT_PORT: managementPort,
    ...setting.environment,
    DOCS: 'on',
    ESTATE_REFRESH: '6h',
  });
  const logged = printLog(gateway);
  // Both start at once, because the gateway needs the platform for its first request only.
  await healthy(`${sandboxUrl}/__sandbox/health`);
  await healthy(`${gatewayUrl}/health/ready`);
  say('Making example data, with one order that gets lost: its lines in the log say ERROR.');
  await prepareDemo({ gatewayUrl, key, sandboxUrl });
  const headers = { 'x-api-key': key, 'x-request-id': LAST_REQUEST };
  await (await fetch(`${gatewayUrl}/v1/callers/me`, { headers })).text();
  await logged;
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  await end(1);
}

say(`
  Gateway   ${gatewayUrl}          Sandbox ${sandboxUrl}/__sandbox
  API page  ${gatewayUrl}/docs     (Authorize with the key below)
  Estate    ${gatewayUrl}/estate   (what ends when, and what lies unused; the gateway reads it within a minute or two)
  Console   http://127.0.0.1:${managementPort}/console  (for operators: orders in doubt, jobs, gaps, what needs attention)
  API key   ${key}
  Log in    admin@harbour, password ${adminPassword}   (POST /v1/sessions; without a session this user acts by default)

  Try it:

  curl -s ${gatewayUrl}/v1/enterprises/ent-harbour/assets -H 'X-Api-Key: ${key}'

  Ctrl-C ends both. The log of the gateway follows.
`);
