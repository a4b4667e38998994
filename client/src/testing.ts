/**
 * The platform and the gateway for tests of callers, as processes of the package `@licensing-gateway/sandbox`. A test uses the same
 * programs that run in production. For tests without processes there is `fakeLicensing`.
 */
import { Licensing, type LicensingOptions } from './licensing.ts';
import { runPackage, type Running } from './testing-process.ts';

export { fakeLicensing, type Fakes } from './fake-licensing.ts';

export interface SandboxOptions {
  /** The Node that runs them, if the Node of the test is too old. The default is the Node of the test. */
  readonly node?: string | undefined;
  /** The seed for the draws of faults with a probability. The same seed results in the same draws. */
  readonly seed?: number | undefined;
  /** Rules that spoil calls of the platform. The README of `@licensing-gateway/sandbox` says where they are listed. */
  readonly faults?: readonly object[] | undefined;
  /** Data that replaces the seed, in the form of `GET /__sandbox/state`. */
  readonly state?: object | undefined;
  /** The file of the profile, which describes the platform where its interface is silent. The gateway gets it too. */
  readonly profile?: string | undefined;
}

/** The emulated platform. */
export interface Sandbox {
  readonly url: string;
  /** The password of every seeded user, who logs in as `account@enterprise`. */
  readonly password: string;
  /** Restores the seed and the faults of the start. */
  reset(): Promise<void>;
  /** Adds rules that spoil calls. */
  fault(...rules: readonly object[]): Promise<void>;
  /** Moves the platform's clock, and that of the gateway in front of it. */
  advance(ms: number): Promise<void>;
  /** Returns the orders that the platform has carried out. */
  orders(): Promise<
    readonly { channelCode: string; channelOrderId: string; licenseOrderIds: readonly string[] }[]
  >;
  /** Makes any call of its control side, such as `GET`, `/state`. */
  control(method: string, path: string, body?: object): Promise<unknown>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface GatewayOptions extends SandboxOptions {
  /** Variables of the gateway in addition to its own. config/.env.example of the gateway lists them. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** The rights of the test's caller. The default is everything. */
  readonly caller?:
    | {
        readonly scopes?: readonly string[] | undefined;
        readonly enterprises?: readonly string[] | undefined;
        readonly channels?: readonly string[] | undefined;
        readonly users?: readonly string[] | undefined;
        readonly rateLimit?: { readonly requests: number; readonly perSeconds: number } | undefined;
      }
    | undefined;
  /** Users of the platform by their alias. The default is `default`, the administrator of `ent-harbour`. */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** Options of the client in the result. */
  readonly client?: Omit<LicensingOptions, 'baseUrl' | 'apiKey' | 'token'> | undefined;
}

/** A gateway in front of a sandbox of its own. */
export interface Gateway {
  readonly url: string;
  readonly apiKey: string;
  /** The address of `/metrics`, and of the console below `/console`. */
  readonly managementUrl: string;
  /** A client of the gateway. */
  readonly licensing: Licensing;
  readonly sandbox: Sandbox;
  /** Resets the sandbox. The gateway remembers the numbers of orders, so each test must use new ones. */
  reset(): Promise<void>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts the emulated platform on a free port. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { node, seed, profile, state } = options;
  return sandboxOf(await runPackage(node, { seed, profile, 'sandbox-only': true }, { state }), options);
}

/** Starts a sandbox, and a gateway in front of it, each on a free port, with credentials made up for it. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { node, seed, profile, state, caller, users, environment } = options;
  const running = await runPackage(node, { seed, profile }, { state, caller, users, environment });
  const { url = '', apiKey = '', managementUrl = '' } = running.started;
  const sandbox = await sandboxOf(running, options);
  return {
    url,
    apiKey,
    managementUrl,
    licensing: new Licensing({ ...options.client, baseUrl: url, apiKey }),
    sandbox,
    reset: () => sandbox.reset(),
    stop: running.stop,
    [Symbol.asyncDispose]: running.stop,
  };
}

/** Returns the sandbox with the faults of the start. */
async function sandboxOf({ started, stop }: Running, { faults = [] }: SandboxOptions): Promise<Sandbox> {
  const { url, password } = started.sandbox;
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
  try {
    await fault(...faults);
  } catch (error) {
    await stop();
    throw error;
  }
  return sandbox;
}
