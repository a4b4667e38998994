import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { TokenManager } from '../token/token.manager.ts';
import type { TokenTrouble } from '../token/token-troubles.ts';
import { type FailuresInARow, OperationGroups } from '../upstream/resilience/operation-groups.ts';
import type { MaybeAttention } from './attention-item.ts';
import { named, secondOf, timeOf } from './words.ts';

/** The alert CredentialsRefused looks back equally far. */
const REFUSED_MS = 600_000;

/** What this process knows about the platform. */
export interface PlatformState {
  readonly tokens: readonly TokenTrouble[];
  /** Whether the last request to the token endpoint failed, for whomever it was. */
  readonly isEndpointFailing: boolean;
  /** The kinds of principals whose new tokens the platform refuses too. */
  readonly heldOff: readonly string[];
  readonly openCircuits: readonly string[];
  readonly failing: readonly FailuresInARow[];
}

@Injectable()
export class PlatformWatch {
  constructor(
    private readonly tokens: TokenManager,
    private readonly groups: OperationGroups,
    private readonly metrics: Metrics,
  ) {}

  async state(): Promise<PlatformState> {
    const breakers = await this.metrics.samples('gateway_upstream_breaker_state');
    const events = this.metrics.recent('gateway_token_events_total', REFUSED_MS);
    return {
      tokens: this.tokens.troubles,
      isEndpointFailing: breakers.some(({ labels, value }) => labels['group'] === 'tokens' && value > 0),
      heldOff: events.flatMap(({ event, principal = '' }) => (event === 'held_off' ? [principal] : [])),
      openCircuits: this.groups.open,
      failing: this.groups.failing,
    };
  }
}

export const platformTrouble = (state: PlatformState, now: number): MaybeAttention[] => [
  ...withoutToken(state, now),
  ...heldOff(state),
  ...calls(state, now),
];

function withoutToken({ tokens: troubles, isEndpointFailing }: PlatformState, now: number): MaybeAttention[] {
  const rejected = (kind: TokenTrouble['of']) =>
    troubles.filter((each) => each.kind === 'rejected' && each.of === kind);
  const [applications, users] = [rejected('application'), rejected('user')];
  const silent = troubles.filter(({ kind }) => kind === 'unavailable');
  return [
    applications.length > 0 && {
      level: 'act',
      title: 'The platform refuses the credentials of the gateway',
      detail: `${refusals(applications)}: check UPSTREAM_APP_KEY and UPSTREAM_APP_SECRET. ${nextTry(applications, now)}`,
      alert: 'CredentialsRefused',
    },
    users.length > 0 && {
      level: 'act',
      title: `The platform refuses the password of ${named(users.map(({ principal }) => principal))}`,
      detail: `${refusals(users)}: check UPSTREAM_USERS_FILE. ${nextTry(users, now)}`,
      alert: 'CredentialsRefused',
    },
    silent.length > 0 && {
      level: 'act',
      title: 'The gateway gets no access token',
      detail: `The token endpoint (UPSTREAM_TOKEN_URL) does not serve ${reasons(silent)}. ${nextTry(silent, now)}`,
      alert: 'TokenEndpointFailing',
    },
    silent.length === 0 &&
      isEndpointFailing && {
        level: 'act',
        title: 'Users cannot log in',
        detail:
          'The token endpoint (UPSTREAM_TOKEN_URL) did not serve a login or a session. The gateway has its own tokens still. The next login tries again',
        alert: 'TokenEndpointFailing',
      },
  ];
}

const refusals = (troubles: readonly TokenTrouble[]) =>
  `The token endpoint says ${named(troubles.map(({ reason, principal }) => `${reason} to ${principal}`))}`;

const reasons = (troubles: readonly TokenTrouble[]) =>
  named(troubles.map(({ reason, principal }) => `${principal}: ${reason}`));

/** Says when the gateway asks for a token again: it asks when a call needs one. */
function nextTry(troubles: readonly TokenTrouble[], now: number): string {
  const times = troubles.map(({ retryAt }) => retryAt);
  if (times.includes(undefined)) return 'The credentials have changed since then: the next call tries them';
  const first = Math.min(...times.map((at) => at ?? now));
  return first > now
    ? `The first call after ${secondOf(first)} tries again`
    : 'The next call tries again, and ends this message where it gets a token';
}

/** Leaves out a principal whose credentials are refused, which has an item of its own. */
const heldOff = ({ heldOff: kinds, tokens: troubles }: PlatformState): MaybeAttention[] =>
  kinds
    .filter((kind) => !troubles.some(({ kind: why, of }) => why === 'rejected' && of === kind))
    .map((kind) => ({
      level: 'act',
      title: `The platform refuses even new tokens of the ${kind}`,
      detail:
        'Its token endpoint gives tokens and its API does not take them. Each call asks once for another one',
      alert: 'CredentialsRefused',
    }));

function calls({ openCircuits, failing }: PlatformState, now: number): MaybeAttention[] {
  const isOpen = ({ group }: FailuresInARow) => openCircuits.includes(group);
  const open = failing.filter(isOpen).map((each) => inWords(each, now));
  const others = failing.filter((each) => !isOpen(each));
  const isSilent = others.every(({ calls: all, timeouts }) => all === timeouts);
  return [
    openCircuits.length > 0 && {
      level: 'act',
      title: `The gateway does not call the platform for ${openCircuits.join(', ')}`,
      detail: [
        'The circuit is open because calls failed: the dashboard shows which, and how. It tries again by itself',
        ...open,
      ].join('. '),
      alert: 'CircuitOpen',
    },
    others.length > 0 && {
      level: 'act',
      title: isSilent ? 'The platform does not answer' : 'The platform does not serve calls',
      detail: others.map((each) => inWords(each, now)).join('. '),
      alert: 'PlatformFailing',
    },
  ];
}

function inWords({ group, calls: all, timeouts, since, last }: FailuresInARow, now: number): string {
  const what = timeouts === all ? 'timed out' : timeouts === 0 ? 'failed' : `failed (${timeouts} timed out)`;
  const [from, until] = [timeOf(since, now), timeOf(last, now)];
  const latest = from === until ? '' : `, the latest at ${until}`;
  return `${all} of the last ${all} calls of ${group} ${what} since ${from}${latest}`;
}
