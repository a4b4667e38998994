import { isFailed, sum } from './traffic.ts';
import { SILENT_MS, type Seen } from './replicas.ts';
import type { OpenOrders } from './doubts.ts';
import type { ReplicaState } from './replica-state.ts';

/** One thing that needs an operator, in words. */
export interface Attention {
  /** `act`: callers are refused or orders are at stake. `watch`: it may become so. */
  readonly level: 'act' | 'watch';
  readonly title: string;
  /** The cause, as far as the gateway knows it. */
  readonly detail: string;
  /** The section of the console that shows more. */
  readonly section: 'now' | 'orders' | 'gaps' | 'callers';
  /** The alert of `deploy/prometheus/alerts.yml`, whose section in `docs/operating.md` says what to do. */
  readonly alert?: string;
}

/** A share of failures that is no accident. */
const FAILED_SHARE = 0.05;
const FAILED_LEAST = 5;

/** Everything that needs an operator now, the most urgent first. */
export function attentionFor({ states, others }: Seen, orders: OpenOrders, now: number): Attention[] {
  const found = [
    ...orderStore(states),
    ...tokens(states),
    ...inDoubt(states, orders),
    ...accepted(orders),
    ...failures(states),
    ...circuits(states),
    ...sharedRedis(states),
    ...replicas(states, others, now),
    ...callers(states),
  ];
  return found.toSorted((one, other) => Number(one.level === 'watch') - Number(other.level === 'watch'));
}

const STORE_ALERTS: Readonly<Record<string, string>> = {
  away: 'OrderStoreAway',
  epoch: 'OrderStoreUnconfirmed',
  count: 'OrderStoreUnconfirmed',
};

function orderStore(states: readonly ReplicaState[]): Attention[] {
  const stopped = states.filter(({ orders }) => orders.status === 'down');
  const unreadable = Math.max(...states.map(({ orders }) => orders.unreadable));
  const found: Attention[] = [];
  if (stopped.length > 0) {
    const { stopped: why, reason } = (stopped[0] as ReplicaState).orders;
    found.push({
      level: 'act',
      title: `Orders are refused${ofAll(stopped, states)}`,
      detail: reason ?? 'The order store cannot be used',
      section: 'now',
      alert: STORE_ALERTS[why] ?? 'OrderStoreRefuses',
    });
  }
  if (unreadable > 0)
    found.push({
      level: 'act',
      title: `${counted(unreadable, 'record')} of writes cannot be read`,
      detail:
        'Sealed under a key that ENCRYPTION_KEYS does not have, or damaged: the events below name them. A caller that repeats such an order gets 503.',
      section: 'now',
      alert: 'OrderRecordsUnreadable',
    });
  return found;
}

function tokens(states: readonly ReplicaState[]): Attention[] {
  const failing = states.filter(({ tokens: { failure } }) => failure);
  const failure = failing[0]?.tokens.failure;
  if (!failure) return [];
  const isRejected = failure.kind === 'rejected';
  return [
    {
      level: 'act',
      title: isRejected
        ? 'The platform refuses the credentials of the gateway'
        : `The gateway gets no access token${ofAll(failing, states)}`,
      detail: isRejected
        ? `The token endpoint says ${failure.reason} to ${failure.principal}: check UPSTREAM_APP_KEY and UPSTREAM_APP_SECRET`
        : `The token endpoint (UPSTREAM_TOKEN_URL) does not serve ${failure.principal}: ${failure.reason}`,
      section: 'now',
      alert: isRejected ? 'CredentialsRefused' : 'TokenEndpointFailing',
    },
  ];
}

function inDoubt(
  states: readonly ReplicaState[],
  { inDoubt: { count = 0, oldestMs } }: OpenOrders,
): Attention[] {
  const twice = states.some(({ events }) =>
    events.some(({ line }) => line['event'] === 'order-placed-twice'),
  );
  const found: Attention[] = [];
  if (twice)
    found.push({
      level: 'act',
      title: 'An order stands at the platform more than once',
      detail: 'Its licence orders are in the events, and with the order if it is still in doubt',
      section: 'orders',
      alert: 'OrderPlacedTwice',
    });
  if (count > 0)
    found.push({
      level: 'act',
      title: `${counted(count, 'order')} in doubt`,
      detail: `Sent with an unknown outcome, the oldest ${duration(oldestMs)} ago`,
      section: 'orders',
      alert: 'OrdersInDoubt',
    });
  return found;
}

function accepted({ accepted: { count = 0, oldestMs } }: OpenOrders): Attention[] {
  if (count === 0) return [];
  return [
    {
      level: 'watch',
      title: `${counted(count, 'order')} accepted and not seen since`,
      detail: `The platform accepted them for later (async), the oldest ${duration(oldestMs)} ago, and nothing shows that it has placed them`,
      section: 'orders',
      alert: 'OrdersAccepted',
    },
  ];
}

function failures(states: readonly ReplicaState[]): Attention[] {
  const overloaded = states.filter(({ overload }) => overload !== null);
  const found: Attention[] = overloaded.slice(0, 1).map(({ overload }) => ({
    level: 'act',
    title: `New requests are refused${ofAll(overloaded, states)}`,
    detail: `The process has reached its limit: ${overload}`,
    section: 'now',
    alert: 'Overloaded',
  }));
  const all = states.flatMap(({ requests }) => requests);
  const failed = all.filter(([key]) => isFailed(key));
  const [total, count] = [all, failed].map((each) => sum(each.map(([, value]) => value)));
  if (count !== undefined && total && count >= FAILED_LEAST && count / total >= FAILED_SHARE)
    found.push({
      level: 'act',
      title: `${Math.round((100 * count) / total)} % of requests failed in the last minute`,
      detail: `${count} of ${total}, most of them ${most(failed)}; failed attempts at the platform: ${most(failedAttempts(states))}`,
      section: 'now',
      alert: 'ServerErrors',
    });
  return found;
}

function circuits(states: readonly ReplicaState[]): Attention[] {
  const open = new Set(
    states.flatMap((each) => each.circuits.flatMap(([group, state]) => (state === 'open' ? [group] : []))),
  );
  // The token endpoint has an entry of its own.
  open.delete('tokens');
  if (open.size === 0) return [];
  const failed = failedAttempts(states);
  return [
    {
      level: 'act',
      title: `The gateway does not call the platform for ${[...open].join(', ')}`,
      detail: `The circuit is open because calls failed${failed.length > 0 ? `, most of them ${most(failed)}` : ''}. It tries again by itself`,
      section: 'now',
      alert: 'CircuitOpen',
    },
  ];
}

function sharedRedis(states: readonly ReplicaState[]): Attention[] {
  const down = states.filter(({ redis }) => redis.status === 'down');
  return down.slice(0, 1).map(({ redis }) => ({
    level: 'watch',
    title: `The shared Redis cannot be used${ofAll(down, states)}`,
    detail: `${(redis.reason ?? 'no connection').replace(/\.$/, '')}. Reads go on; sessions get 503, rates are counted by each replica alone`,
    section: 'now',
    alert: 'RedisAway',
  }));
}

function replicas(states: readonly ReplicaState[], others: Seen['others'], now: number): Attention[] {
  // Without Redis, or while it refuses writes, no replica can report.
  const isBlind = others === 'away' || states[0]?.redis.status === 'down';
  const found: Attention[] = states
    .filter(({ at }) => !isBlind && now - at > SILENT_MS)
    .map(({ id, at }) => ({
      level: 'watch',
      title: `Replica ${id} is silent`,
      detail: `It reported ${duration(now - at)} ago: it has died, or has lost Redis`,
      section: 'now',
      alert: 'GatewayDown',
    }));
  const versions = new Set(states.map(({ version }) => version));
  if (versions.size > 1)
    found.push({
      level: 'watch',
      title: 'Replicas run different versions',
      detail: [...versions].join(', '),
      section: 'now',
    });
  if (isBlind)
    found.push({
      level: 'watch',
      title: 'The other replicas cannot be seen',
      detail: 'Replicas report to each other through the shared Redis',
      section: 'now',
    });
  return found;
}

function failedAttempts(states: readonly ReplicaState[]): (readonly [string, number])[] {
  return states.flatMap(({ attempts }) => attempts).filter(([key]) => !key.endsWith(' success'));
}

function callers(states: readonly ReplicaState[]): Attention[] {
  const refused = new Map<string, number>();
  for (const each of states.flatMap((state) => state.callers))
    if (each.refused > 0) refused.set(each.name, (refused.get(each.name) ?? 0) + each.refused);
  if (refused.size === 0) return [];
  return [
    {
      level: 'watch',
      title: 'Callers are above their limits',
      detail: `Refused in the last five minutes: ${[...refused].map(([name, count]) => `${name} ${count}`).join(', ')}`,
      section: 'callers',
    },
  ];
}

function ofAll(some: readonly unknown[], all: readonly unknown[]): string {
  return some.length === all.length ? '' : ` by ${some.length} of ${all.length} replicas`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** The two most frequent, as `getAsset 503 (12)`. */
function most(counts: readonly (readonly [string, number])[]): string {
  const sums = new Map<string, number>();
  for (const [key, count] of counts) sums.set(key, (sums.get(key) ?? 0) + count);
  const first = [...sums].toSorted(([, one], [, other]) => other - one).slice(0, 2);
  return first.length === 0 ? 'none' : first.map(([key, count]) => `${key} (${count})`).join(', ');
}

function duration(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return `${Math.max(1, Math.round(ms / 1_000))} s`;
  return minutes < 120 ? `${Math.round(minutes)} min` : `${Math.round(minutes / 60)} h`;
}
