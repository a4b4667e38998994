/**
 * The platform and the gateway for tests of callers, as processes of a checkout of the gateway's repository: what a test meets is what
 * runs in production. For tests without processes there is `fakeLicensing`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Licensing, type LicensingOptions } from './licensing.ts';
import { operations } from './operations.ts';

/** A checkout of the gateway in which `npm ci` and `npm run build` have run. */
interface Checkout {
  /** Its folder. By default the variable LICENSING_GATEWAY_HOME, or the repository that this package lies in. */
  readonly home?: string;
}

export interface SandboxOptions extends Checkout {
  /** Of the draws of faults with a probability: the same seed gives the same draws. */
  readonly seed?: number;
  /** Rules that spoil calls of the platform; sandbox/README.md of the gateway lists them. */
  readonly faults?: readonly object[];
  /** Data in place of the seed, in the form of `GET /__sandbox/state`. */
  readonly state?: object;
}

/** The emulated platform. */
export interface Sandbox {
  readonly url: string;
  /** Every seeded user logs in with it, as `account@enterprise`. */
  readonly password: string;
  /** Back to the seed and to the faults of the start. */
  reset(): Promise<void>;
  /** Adds rules that spoil calls. */
  fault(...rules: readonly object[]): Promise<void>;
  /** Moves the platform's clock. */
  advance(ms: number): Promise<void>;
  /** The orders that the platform has carried out. */
  orders(): Promise<
    readonly { channelCode: string; channelOrderId: string; licenseOrderIds: readonly string[] }[]
  >;
  /** Any call of its control side, such as `GET`, `/state`. */
  control(method: string, path: string, body?: object): Promise<unknown>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface GatewayOptions extends SandboxOptions {
  /** Variables of the gateway on top of its own; config/.env.example of the gateway lists them. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What the caller of the test may do. By default everything. */
  readonly caller?: {
    readonly scopes?: readonly string[];
    readonly enterprises?: readonly string[];
    readonly channels?: readonly string[];
    readonly users?: readonly string[];
    readonly rateLimit?: { readonly requests: number; readonly perSeconds: number };
  };
  /** Users of the platform by their alias. By default `default`, the administrator of `ent-harbour`. */
  readonly users?: Readonly<Record<string, string>>;
  /** Of the client that it comes with. */
  readonly client?: Omit<LicensingOptions, 'baseUrl' | 'apiKey' | 'token'>;
}

/** A gateway in front of a sandbox of its own. */
export interface Gateway {
  readonly url: string;
  readonly apiKey: string;
  /** A client of it. */
  readonly licensing: Licensing;
  readonly sandbox: Sandbox;
  /** Resets the sandbox. The gateway remembers the numbers of orders, so that each test takes new ones. */
  reset(): Promise<void>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Started {
  readonly child: ChildProcess;
  readonly ready: string;
}

const START_MS = 60_000;
/** `npm ci` brings it: the tests of a caller may run on an older one. */
const PINNED_NODE = 'node_modules/.bin/node';

/** What `npm run build` makes, and production runs. */
const GATEWAY = 'dist/bundle/gateway.js';

/** Starts the emulated platform on a free port. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return (await launchSandbox(options)).sandbox;
}

/** Starts a sandbox, and a gateway in front of it, each on a free port, with credentials made up for it. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const home = homeOf(options);
  const { sandbox, appKey, appSecret } = await launchSandbox(options);
  const folder = mkdtempSync(join(tmpdir(), 'licensing-test-'));
  const { scopes } = (await import(pathToFileURL(join(home, 'dist/caller/scopes.js')).href)) as {
    scopes: readonly string[];
  };
  const apiKey = `lgw_${randomBytes(32).toString('base64url')}`;
  const users = options.users ?? { default: 'admin@harbour' };
  const callersFile = join(folder, 'callers.json');
  const usersFile = join(folder, 'users.json');
  const caller = {
    ...{ name: 'test', keys: [createHash('sha256').update(apiKey).digest('hex')] },
    ...{ scopes, enterprises: ['*'], channels: ['*'], users: Object.keys(users) },
    ...options.caller,
  };
  write(callersFile, { callers: [caller] });
  write(
    usersFile,
    Object.fromEntries(
      Object.entries(users).map(([alias, username]) => [alias, { username, password: sandbox.password }]),
    ),
  );
  try {
    const { child, ready } = await launch(home, GATEWAY, /^.*"event":"listening".*$/m, {
      ...{
        PORT: '0',
        MANAGEMENT_PORT: '0',
        CACHE_TTL_MS: '0',
        CALLERS_FILE: callersFile,
        UPSTREAM_USERS_FILE: usersFile,
      },
      ...{ UPSTREAM_BASE_URL: sandbox.url, UPSTREAM_TOKEN_URL: `${sandbox.url}/oauth/token` },
      ...{ UPSTREAM_APP_KEY: appKey, UPSTREAM_APP_SECRET: appSecret },
      ...options.environment,
    });
    const { url } = JSON.parse(ready) as { url: string };
    const stop = async () => {
      await ended(child);
      await sandbox.stop();
      rmSync(folder, { recursive: true, force: true });
    };
    const licensing = new Licensing({ ...options.client, baseUrl: url, apiKey });
    return {
      url,
      apiKey,
      licensing,
      sandbox,
      reset: () => sandbox.reset(),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

type Methods<Group> = { readonly [Name in keyof Group]?: Group[Name] };

/** What a test without a gateway puts in place of some methods. */
export type Fakes = {
  readonly [Group in keyof Licensing]?: Licensing[Group] extends (...given: never[]) => unknown
    ? Licensing[Group]
    : Methods<Licensing[Group]>;
};

/** A client for unit tests: these methods, and every other rejects with its name. Nothing is sent. */
export function fakeLicensing(fakes: Fakes = {}): Licensing {
  const licensing = new Licensing({ baseUrl: 'http://licensing.invalid', apiKey: 'fake', fetch: notFaked });
  for (const [group, methods] of Object.entries(licensing) as [string, Record<string, unknown>][])
    for (const name of Object.keys(methods))
      if (name !== 'placeAndWait') methods[name] = unfaked(group, name);
  // A view of a fake is the fake: its methods are the same.
  licensing.as = licensing.withSession = () => licensing;
  for (const [group, methods] of Object.entries(fakes)) {
    if (typeof methods === 'function') Object.assign(licensing, { [group]: methods });
    else Object.assign(licensing[group as 'orders'], methods);
  }
  return licensing;
}

/** Rejects at the first use, also where a walk or a job is asked for. */
function unfaked(group: string, name: string): () => unknown {
  const error = () => new Error(`${group}.${name} is not faked: give it to fakeLicensing`);
  const isWalk = Object.values(operations).some(({ group: of, each }) => of === group && each === name);
  if (isWalk)
    // oxlint-disable-next-line require-yield
    return async function* () {
      throw error();
    };
  if (name === 'follow')
    return () => {
      throw error();
    };
  return () => Promise.reject(error());
}

function notFaked(): never {
  throw new Error('A fake client sends nothing');
}

async function launchSandbox(
  options: SandboxOptions,
): Promise<{ sandbox: Sandbox; appKey: string; appSecret: string }> {
  const { seed, faults = [], state } = options;
  const [appKey, appSecret, password] = [9, 24, 12].map((bytes) =>
    randomBytes(bytes).toString('base64url'),
  ) as [string, string, string];
  const folder = mkdtempSync(join(tmpdir(), 'licensing-sandbox-'));
  const stateFile = join(folder, 'state.json');
  if (state !== undefined) write(stateFile, state);
  const { child, ready } = await launch(homeOf(options), 'sandbox/main.ts', /http:\/\/\S+:\d+/, {
    ...{
      SANDBOX_PORT: '0',
      SANDBOX_APP_KEY: appKey,
      SANDBOX_APP_SECRET: appSecret,
      SANDBOX_ADMIN_PASSWORD: password,
    },
    ...(seed !== undefined && { SANDBOX_SEED: String(seed) }),
    ...(state !== undefined && { SANDBOX_STATE_FILE: stateFile }),
  });
  const url = /http:\/\/[^\s/]+/.exec(ready)?.[0] ?? '';
  const control = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}/__sandbox${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`sandbox: ${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  };
  const fault = async (...rules: readonly object[]) => {
    if (rules.length > 0) await control('POST', '/faults', rules);
  };
  const stop = async () => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const sandbox: Sandbox = {
    url,
    password,
    reset: async () => {
      await control('POST', '/reset', {});
      await fault(...faults);
    },
    fault,
    advance: async (ms) => void (await control('PUT', '/clock', { advanceMs: ms })),
    orders: async () => (await control('GET', '/commits')) as Awaited<ReturnType<Sandbox['orders']>>,
    control,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  await fault(...faults);
  return { sandbox, appKey, appSecret };
}

function write(path: string, content: object): void {
  writeFileSync(path, JSON.stringify(content), { mode: 0o600 });
}

/** The checkout: as told, or the repository around this package. */
function homeOf({ home = process.env['LICENSING_GATEWAY_HOME'] }: Checkout): string {
  const own = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  const found = home ?? own;
  for (const path of ['sandbox/main.ts', GATEWAY, PINNED_NODE]) {
    if (!existsSync(join(found, path)))
      throw new Error(
        `${join(found, path)} is missing: LICENSING_GATEWAY_HOME, or the option home, is a checkout of the gateway in which \`npm ci\` and \`npm run build\` have run`,
      );
  }
  return found;
}

/** Starts a program of the checkout with the Node that its lock file brings; resolves with the output that shows it is ready. */
async function launch(
  home: string,
  program: string,
  ready: RegExp,
  environment: Record<string, string>,
): Promise<Started> {
  const child = spawn(join(home, PINNED_NODE), [program], {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(impatience);
      child.kill('SIGKILL');
      reject(new Error(`${program} ${why}: ${output}`));
    };
    const impatience = setTimeout(() => fail(`was not ready within ${START_MS / 1_000} s`), START_MS);
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      const found = ready.exec(output)?.[0];
      if (found === undefined) return;
      clearTimeout(impatience);
      // What comes later is read and dropped, so that the process is not held up.
      child.stdout.removeAllListeners('data').resume();
      child.stderr.removeAllListeners('data').resume();
      resolve({ child, ready: found });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', (error) => fail(`did not start (${error.message})`));
    child.once('exit', (code) => fail(`ended with ${code}`));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  child.removeAllListeners('exit');
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    // SIGTERM would wait for a load balancer.
    child.kill('SIGINT');
  });
}
