/** The sandbox as a server. It listens, and passes a request through routing, checks, faults and response. */
import { randomBytes, randomInt } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Accounts } from './access/accounts.ts';
import { Gatekeeper, parseBody } from './access/gatekeeper.ts';
import { NonceRegister } from './access/nonces.ts';
import { TokenEndpoint } from './access/oauth.ts';
import { TokenStore } from './access/tokens.ts';
import { Clock } from './clock.ts';
import { control } from './control/control.ts';
import type { Sandbox } from './control/routes.ts';
import { Snapshots } from './control/snapshots.ts';
import { replaceState } from './control/state-control.ts';
import { Journal } from './control/journal.ts';
import { Exchange } from './exchange.ts';
import { Pending } from './fault/pending.ts';
import { FaultRules } from './fault/rules.ts';
import { writeJson } from './json.ts';
import { type SandboxOptions, settle } from './options.ts';
import { SeededRandom } from './random.ts';
import { seedCompanies } from './state/seed-companies.ts';
import { seed } from './state/seed.ts';
import { State } from './state/state.ts';

export interface RunningSandbox {
  /** The `{base_url}` of the interface. */
  readonly url: string;
  readonly tokenUrl: string;
  /** The seed of the generator behind faults with a probability. `startSandbox` repeats a run with it. */
  readonly seed: number;
  /** The password of the seeded users. */
  readonly seedPassword: string;
  /** Makes a control call without HTTP: `/__sandbox` with this path and JSON body. Returns the status and the text of the response. */
  control(method: string, path: string, body?: string): { readonly status: number; readonly text: string };
  /** Ends the sandbox at once. It cuts open connections and cancels delayed and hanging responses. */
  close(): Promise<void>;
}

/** Starts a sandbox with its data. Rejects with a `ControlError` if the given state is wrong, and if it cannot listen. */
export async function startSandbox(options: SandboxOptions): Promise<RunningSandbox> {
  const settings = settle(options, {
    seed: randomInt(2 ** 32),
    seedPassword: randomBytes(12).toString('base64url'),
  });
  const clock = new Clock();
  const state = new State();
  const world = { state, clock, settings };
  if (options.state === undefined) seed(world);
  else replaceState(world, options.state, 'state');
  if (options.companies) seedCompanies(world, options.companies);
  const tokens = new TokenStore(clock, settings.tokenPrefix);
  const random = new SeededRandom(settings.seed);
  const sandbox: Sandbox = {
    world,
    clock,
    initial: state.copy(),
    snapshots: new Snapshots(state, clock),
    accounts: new Accounts(state, options.appKey, options.appSecret, options.users ?? []),
    tokens,
    nonces: new NonceRegister(),
    faults: new FaultRules(random),
    journal: new Journal(tokens, settings.journalLimit),
    pending: new Pending(),
    random,
  };
  const exchange = new Exchange(
    sandbox,
    new Gatekeeper(tokens, sandbox.nonces, sandbox.accounts, settings.profile),
    new TokenEndpoint(sandbox.accounts, tokens, {
      scopes: settings.scopes,
      lifetimeSeconds: settings.tokenLifetimeSeconds,
      profile: settings.profile,
    }),
  );

  const server = serverOf(options, (request, response) => {
    void handle(exchange, request, response, settings.log);
  });
  server.keepAliveTimeout = settings.keepAliveTimeoutMs;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(settings.port, settings.host, resolve);
  });
  const { address, family, port } = server.address() as AddressInfo;
  const url = `${options.tls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  return {
    url,
    tokenUrl: `${url}/oauth/token`,
    seed: settings.seed,
    seedPassword: settings.seedPassword,
    control: (method, path, body = '') => {
      const { pathname, searchParams: query } = new URL(path, 'http://sandbox');
      const answer = control(sandbox, {
        method,
        path: pathname,
        query,
        body: parseBody(Buffer.from(body)).body,
      });
      return { status: answer.status, text: answer.body === null ? '' : writeJson(answer.body) };
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        sandbox.pending.callOffAll();
        server.closeAllConnections();
      }),
  };
}

function serverOf(
  { tls, log = () => {} }: SandboxOptions,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const settings = { keepAlive: true, requestTimeout: 0 };
  if (!tls) return createServer(settings, listener);
  const { cert, key, clientCa: ca } = tls;
  return createTlsServer({ ...settings, cert, key, ca, requestCert: true }, listener)
    .on('secureConnection', (socket) => {
      log(`client certificate ${socket.getPeerX509Certificate()?.fingerprint256}`);
    })
    .on('tlsClientError', (error: NodeJS.ErrnoException) => log(`TLS refused: ${error.code}`));
}

async function handle(
  exchange: Exchange,
  request: IncomingMessage,
  response: ServerResponse,
  log: (line: string) => void,
): Promise<void> {
  try {
    await exchange.handle(request, response);
  } catch (error) {
    // A caller that hung up while it was sending is no fault of the sandbox.
    if (request.destroyed && !request.complete) return;
    const { name, stack } = error instanceof Error ? error : { name: 'not an Error', stack: '' };
    log(`failed: ${name} ${(stack ?? '').split('\n').at(1)?.trim() ?? ''}`);
    request.socket.destroy();
  }
}
