/** The control side under `/__sandbox`: how a test, a demo or a person controls the sandbox. */
import type { Accounts } from '../access/accounts.ts';
import type { NonceRegister } from '../access/nonces.ts';
import type { Grant, TokenStore } from '../access/tokens.ts';
import type { World } from '../call.ts';
import { CHECKS, checkObject, ControlError, parseRule } from '../fault/parse-rule.ts';
import type { Pending } from '../fault/pending.ts';
import type { FaultRules } from '../fault/rules.ts';
import { isObject } from '../json.ts';
import type { SeededRandom } from '../random.ts';
import { seed } from '../state/seed.ts';
import type { Journal } from './journal.ts';

export interface Sandbox {
  readonly world: World;
  readonly accounts: Accounts;
  readonly tokens: TokenStore;
  readonly nonces: NonceRegister;
  readonly faults: FaultRules;
  readonly journal: Journal;
  readonly pending: Pending;
  readonly random: SeededRandom;
}

export interface ControlRequest {
  readonly method: string;
  /** Below `/__sandbox`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON body; undefined when there is none. */
  readonly body: unknown;
}

interface ControlAnswer {
  readonly status: number;
  readonly body: unknown;
}

type Action = (sandbox: Sandbox, request: ControlRequest) => unknown;

const ROUTES: Readonly<Record<string, Action>> = {
  'GET /health': () => ({ status: 'ok' }),
  'POST /reset': reset,
  'GET /journal': readJournal,
  'DELETE /journal': ({ journal }) => journal.clear(),
  'GET /commits': ({ world }) =>
    world.state.commits.map(({ at, ...commit }) => ({ ...commit, at: new Date(at).toISOString() })),
  'GET /state': ({ world: { state } }) => ({
    enterprises: state.enterprises.all(),
    customers: state.customers.all(),
    employees: state.employees.all().map(({ password: _, ...employee }) => employee),
    assets: state.assets.all(),
    orders: state.orders.all(),
    products: state.products.all(),
    merchandises: state.merchandises.all(),
  }),
  'POST /tokens/revoke': revoke,
  'GET /clock': readClock,
  'PUT /clock': setClock,
  'PUT /app-secrets': setSecrets,
  'PUT /users': setUser,
  'POST /faults': addFaults,
  'GET /faults': ({ faults }) => ({
    faults: faults.list().map(({ id, spec, matched, hits }) => ({ id, ...spec, matched, hits })),
  }),
  'DELETE /faults': ({ faults }) => faults.clear(),
};

/** Answers a control request: 200 with JSON, 204 without content, 400 naming the field, or 404. */
export function control(sandbox: Sandbox, request: ControlRequest): ControlAnswer {
  try {
    const fault = /^\/faults\/([^/]+)$/.exec(request.path)?.[1];
    if (request.method === 'DELETE' && fault !== undefined) {
      return sandbox.faults.remove(fault)
        ? { status: 204, body: null }
        : { status: 404, body: { error: `no fault ${fault}` } };
    }
    const line = `${request.method} ${request.path}`;
    const action = Object.hasOwn(ROUTES, line) ? ROUTES[line] : undefined;
    if (action === undefined) {
      return { status: 404, body: { error: `no ${line} here; known: ${Object.keys(ROUTES).join(', ')}` } };
    }
    const body = action(sandbox, request);
    return body === undefined ? { status: 204, body: null } : { status: 200, body };
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    return { status: 400, body: { error: error.message, field: error.field } };
  }
}

/** Back to the seed. Delayed and hanging responses are cancelled, so that no earlier call takes effect after the reset. */
function reset(sandbox: Sandbox, { body }: ControlRequest): unknown {
  checkObject(body ?? {}, 'body', { tokens: CHECKS.flag });
  const { world, accounts, tokens, nonces, faults, journal, pending, random } = sandbox;
  pending.callOffAll();
  world.clock.reset();
  world.state.clear();
  seed(world);
  accounts.reset();
  nonces.clear();
  faults.clear();
  journal.clear();
  random.restart();
  if (isObject(body) && body['tokens'] === true) tokens.clear();
  return { status: 'reset' };
}

function readJournal({ journal }: Sandbox, { query }: ControlRequest): unknown {
  const after = Number(query.get('after') ?? '0');
  if (!Number.isSafeInteger(after) || after < 0) throw new ControlError('after', 'must be an entry id');
  return { entries: journal.list({ operation: query.get('operation'), after }) };
}

function revoke({ tokens }: Sandbox, { body }: ControlRequest): unknown {
  const given = body ?? {};
  checkObject(given, 'body', {
    scope: CHECKS.text,
    grant: CHECKS.word('client_credentials', 'password'),
    username: CHECKS.text,
    tokens: CHECKS.word('access', 'refresh', 'all'),
  });
  const filter = given as {
    scope?: string;
    grant?: Grant;
    username?: string;
    tokens?: 'access' | 'refresh' | 'all';
  };
  return { revoked: tokens.revoke({ ...filter, tokens: filter.tokens ?? 'access' }) };
}

function readClock({ world }: Sandbox): unknown {
  return { now: new Date(world.clock.now()).toISOString() };
}

function setClock(sandbox: Sandbox, { body }: ControlRequest): unknown {
  const given = body ?? {};
  const integer = (value: unknown): string | null =>
    Number.isSafeInteger(value) ? null : 'must be an integer';
  checkObject(given, 'body', { now: CHECKS.text, advanceMs: integer });
  const { now, advanceMs } = given as { now?: string; advanceMs?: number };
  if ((now === undefined) === (advanceMs === undefined))
    throw new ControlError('body', 'needs either now or advanceMs');
  if (advanceMs !== undefined) sandbox.world.clock.advance(advanceMs);
  if (now !== undefined) {
    const instant = Date.parse(now);
    if (Number.isNaN(instant)) throw new ControlError('body.now', 'must be an RFC 3339 time');
    sandbox.world.clock.set(instant);
  }
  return readClock(sandbox);
}

function setSecrets({ accounts }: Sandbox, { body }: ControlRequest): void {
  const secrets = isObject(body) ? body['secrets'] : undefined;
  if (!Array.isArray(secrets) || !secrets.every((secret): secret is string => typeof secret === 'string')) {
    throw new ControlError('body.secrets', 'must be an array of strings');
  }
  accounts.setSecrets(secrets);
}

function setUser({ accounts }: Sandbox, { body }: ControlRequest): void {
  checkObject(body, 'body', { username: CHECKS.text, password: CHECKS.text });
  const { username, password } = body as { username?: string; password?: string };
  if (username === undefined) throw new ControlError('body.username', 'is required');
  if (password === undefined) throw new ControlError('body.password', 'is required');
  accounts.setUser({ username, password });
}

function addFaults({ faults }: Sandbox, { body }: ControlRequest): unknown {
  const specs = Array.isArray(body)
    ? body.map((rule, place) => parseRule(rule, `[${place}]`))
    : [parseRule(body, 'rule')];
  return { ids: specs.map((spec) => faults.add(spec)) };
}
