/** The control calls and their effects. */
import type { Accounts } from '../access/accounts.ts';
import type { NonceRegister } from '../access/nonces.ts';
import type { Grant, TokenStore } from '../access/tokens.ts';
import type { World } from '../call.ts';
import type { Clock } from '../clock.ts';
import { parseRule } from '../fault/parse-rule.ts';
import type { Pending } from '../fault/pending.ts';
import type { FaultRules } from '../fault/rules.ts';
import { isObject } from '../json.ts';
import { forgetReads } from '../member/list.ts';
import { passTime } from '../order/batch.ts';
import { checkedProfile } from '../profile.ts';
import type { SeededRandom } from '../random.ts';
import type { StateCopy } from '../state/state.ts';
import { LAST_INSTANT } from '../state/time.ts';
import { CHECKS, checkObject, ControlError, Unknown } from './checks.ts';
import type { Journal } from './journal.ts';
import type { Snapshots } from './snapshots.ts';
import { patchRow, replaceState, showState } from './state-control.ts';

export const CONTROL_PREFIX = '/__sandbox';

export interface Sandbox {
  readonly world: World;
  readonly clock: Clock;
  /** The state at the start. */
  readonly initial: StateCopy;
  readonly snapshots: Snapshots;
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
  /** The path below `/__sandbox`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON body. Undefined if there is none. */
  readonly body: unknown;
}

type Action = (sandbox: Sandbox, request: ControlRequest, parameters: Parameters) => unknown;
export type Parameters = Readonly<Record<string, string>>;

interface Route {
  readonly method: string;
  /** The path below `/__sandbox`, with parameters in braces. */
  readonly path: string;
  readonly does: string;
  readonly act: Action;
}

export const ROUTES: readonly Route[] = [
  route('GET', '', 'what there is', () => ({ routes: index() })),
  route('GET', '/health', 'whether the sandbox serves', () => ({ status: 'ok' })),
  route('POST', '/reset', 'back to the seed; { tokens: true } ends all tokens too', reset),
  route('GET', '/state', 'all data, without passwords', ({ world }) => showState(world.state)),
  route('PUT', '/state', 'another state in place of all data, as GET shows it', putState),
  route(
    'PATCH',
    '/state/{collection}/{id}',
    'changes fields of one row, such as { freezing: true } of assets/ast-1009',
    (sandbox, { body }, { collection = '', id = '' }) => patchRow(sandbox.world, collection, id, body),
  ),
  route('GET', '/snapshots', 'the names of the snapshots', ({ snapshots }) => ({
    snapshots: snapshots.names(),
  })),
  route(
    'POST',
    '/snapshots/{name}',
    'keeps all data and the clock under a name',
    ({ snapshots }, _request, { name = '' }) => {
      snapshots.take(name);
      return { name };
    },
  ),
  route('POST', '/snapshots/{name}/restore', 'back to that snapshot', restoreSnapshot),
  route('DELETE', '/snapshots/{name}', 'forgets it', ({ snapshots }, _request, { name = '' }) =>
    snapshots.remove(name),
  ),
  route('GET', '/profile', 'the readings of the interface', ({ world }) => world.settings.profile),
  route('PUT', '/profile', 'changes readings, such as { maxPageSize: 50, largerPages: "cut" }', putProfile),
  route('GET', '/clock', "the sandbox's time", readClock),
  route(
    'PUT',
    '/clock',
    'sets the time, { now: <RFC 3339> }, or moves it, { advanceMs: <integer> }',
    setClock,
  ),
  route(
    'GET',
    '/journal',
    'the latest requests and their responses; ?operation= and ?after=<id> choose',
    readJournal,
  ),
  route('DELETE', '/journal', 'empties the journal', ({ journal }) => journal.clear()),
  route('GET', '/commits', 'the batches that were accepted', ({ world }) =>
    world.state.commits.map(({ at, ...commit }) => ({ ...commit, at: new Date(at).toISOString() })),
  ),
  route(
    'POST',
    '/faults',
    'adds fault rules: { operation, action, match?, times?, skip?, probability?, phase? }',
    addFaults,
  ),
  route('GET', '/faults', 'the fault rules and their hits', ({ faults }) => ({
    faults: faults.list().map(({ id, spec, matched, hits }) => ({ id, ...spec, matched, hits })),
  })),
  route('DELETE', '/faults', 'removes all fault rules', ({ faults }) => faults.clear()),
  route('DELETE', '/faults/{id}', 'removes one fault rule', ({ faults }, _request, { id = '' }) => {
    if (!faults.remove(id)) throw new Unknown(`no fault ${id}`);
  }),
  route('POST', '/tokens/revoke', 'ends tokens: { scope?, grant?, username?, tokens? }', revoke),
  route('PUT', '/app-secrets', "sets the application's valid secrets: { secrets: [] }", setSecrets),
  route('PUT', '/users', 'adds a user, or changes a password: { username, password }', setUser),
];

function route(method: string, path: string, does: string, act: Action): Route {
  return { method, path, does, act };
}

/** Lists every control call, for a program or a person. */
export function index(): { method: string; path: string; does: string }[] {
  return ROUTES.map(({ method, path, does }) => ({ method, path: CONTROL_PREFIX + path, does }));
}

/** Restores the seed. Delayed and hanging responses are cancelled, so that no earlier call takes effect after the reset. */
function reset(sandbox: Sandbox, { body }: ControlRequest): unknown {
  checkObject(body ?? {}, 'body', { tokens: CHECKS.flag });
  const { world, clock, initial, accounts, tokens, nonces, faults, journal, pending, random } = sandbox;
  pending.callOffAll();
  clock.reset();
  world.state.restore(initial);
  forgetReads(world.state);
  Object.assign(world.settings.profile, world.settings.initialProfile);
  accounts.reset();
  nonces.clear();
  faults.clear();
  journal.clear();
  random.restart();
  if (isObject(body) && body['tokens'] === true) tokens.clear();
  return { status: 'reset' };
}

/** Replaces the state. Delayed and hanging responses are cancelled, as by a reset. */
function putState({ world, pending }: Sandbox, { body }: ControlRequest): unknown {
  replaceState(world, body, 'body');
  pending.callOffAll();
  return showState(world.state);
}

/** Restores a snapshot. Delayed and hanging responses are cancelled, as by a reset. */
function restoreSnapshot(
  { world, snapshots, pending }: Sandbox,
  _request: ControlRequest,
  { name = '' }: Parameters,
): unknown {
  snapshots.restore(name);
  forgetReads(world.state);
  pending.callOffAll();
  return { name };
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

function putProfile({ world }: Sandbox, { body }: ControlRequest): unknown {
  return Object.assign(world.settings.profile, checkedProfile(body ?? {}, 'body'));
}

function readClock({ clock }: Sandbox): unknown {
  return { now: new Date(clock.now()).toISOString(), aheadMs: clock.offset };
}

function setClock(sandbox: Sandbox, { body }: ControlRequest): unknown {
  const given = body ?? {};
  const integer = (value: unknown): string | null =>
    Number.isSafeInteger(value) ? null : 'must be an integer';
  checkObject(given, 'body', { now: CHECKS.text, advanceMs: integer });
  const { now, advanceMs } = given as { now?: string; advanceMs?: number };
  if ((now === undefined) === (advanceMs === undefined))
    throw new ControlError('body', 'needs either now or advanceMs');
  const instant = now === undefined ? sandbox.clock.now() + (advanceMs ?? 0) : Date.parse(now);
  if (Number.isNaN(instant)) throw new ControlError('body.now', 'must be an RFC 3339 time');
  // Times outside these bounds have no RFC 3339 form, so no record could have them.
  if (instant < 0 || instant > LAST_INSTANT)
    throw new ControlError(
      now === undefined ? 'body.advanceMs' : 'body.now',
      'must lead to a time from 1970 to 9999',
    );
  if (now === undefined) sandbox.clock.advance(advanceMs ?? 0);
  else sandbox.clock.set(instant);
  passTime(sandbox.world);
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
