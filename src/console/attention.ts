import type { MaintenanceWindow, Stops } from '../control/maintenance.ts';
import type { OpenOrders } from './doubts.ts';
import type { Overload } from '../http/admission.ts';
import type { StoreWatch } from '../order-store/watch.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import type { TokenTrouble } from '../token/token.manager.ts';

export interface Attention {
  /** `act`: callers are refused or orders are at stake. `watch`: it may become so. */
  readonly level: 'act' | 'watch';
  readonly title: string;
  /** The cause, as far as the gateway knows it. */
  readonly detail: string;
  /** The section of the console that shows more. */
  readonly section?: 'orders' | 'gaps' | 'jobs' | 'webhooks' | 'maintenance';
  /** The alert of `deploy/prometheus/alerts.yml`, whose section in `docs/operating.md` says what to do. */
  readonly alert?: string;
}

/** What this process knows about itself and about what it depends on. */
export interface ReplicaState {
  readonly draining: boolean;
  readonly overload: Overload | undefined;
  readonly redis: Pick<SharedRedis, 'status' | 'reason'>;
  readonly orders: StoreWatch['trouble'];
  readonly tokenFailure: TokenTrouble | undefined;
  readonly openCircuits: readonly string[];
  readonly maintenance: (MaintenanceWindow & { readonly active: boolean }) | undefined;
}

/** What is in the stores of all replicas. */
export interface StoredState {
  readonly orders: OpenOrders;
  /** The number of gaps that appeared within a day. */
  readonly newGaps: number;
  /** The number of codes that the platform answered with and nobody knows. */
  readonly unknownCodes: number;
  readonly stuckJobs: number;
  /** Those that get nothing although their owners want it. */
  readonly troubledWebhooks: number;
}

type Found = Attention | false | undefined;

/** Everything that needs an operator now, the most urgent first. */
export function attentionFor(replica: ReplicaState, stored: StoredState): Attention[] {
  const found: readonly Found[] = [
    ...orderStore(replica.orders),
    tokens(replica),
    ...openOrders(stored.orders),
    ...replicaTrouble(replica),
    ...storedTrouble(stored),
  ];
  return found
    .filter((each) => each !== false && each !== undefined)
    .toSorted((one, other) => Number(one.level === 'watch') - Number(other.level === 'watch'));
}

const STORE_ALERTS: Readonly<Record<string, string>> = {
  away: 'OrderStoreAway',
  epoch: 'OrderStoreUnconfirmed',
  count: 'OrderStoreUnconfirmed',
};

const orderStore = ({ stopped, reason, unreadable }: ReplicaState['orders']): Found[] => [
  stopped !== 'none' && {
    level: 'act',
    title: 'Orders are refused',
    detail: reason ?? 'The order store cannot be used',
    alert: STORE_ALERTS[stopped] ?? 'OrderStoreRefuses',
  },
  unreadable > 0 && {
    level: 'act',
    title: `${counted(unreadable, 'record')} of writes cannot be read`,
    detail:
      'Sealed under a key that ENCRYPTION_KEYS does not have, or damaged: the log names them. A caller that repeats such an order gets 503.',
    alert: 'OrderRecordsUnreadable',
  },
];

function tokens({ tokenFailure: failure }: ReplicaState): Found {
  if (failure?.kind === 'rejected')
    return {
      level: 'act',
      title: 'The platform refuses the credentials of the gateway',
      detail: `The token endpoint says ${failure.reason} to ${failure.principal}: check UPSTREAM_APP_KEY and UPSTREAM_APP_SECRET`,
      alert: 'CredentialsRefused',
    };
  return (
    failure && {
      level: 'act',
      title: 'The gateway gets no access token',
      detail: `The token endpoint (UPSTREAM_TOKEN_URL) does not serve ${failure.principal}: ${failure.reason}`,
      alert: 'TokenEndpointFailing',
    }
  );
}

function openOrders({ placedTwice, inDoubt, accepted }: OpenOrders): Found[] {
  return [
    placedTwice > 0 && {
      level: 'act',
      title: `${counted(placedTwice, 'order')} placed more than once`,
      detail: 'The platform has more licence orders than were ordered: the last look names them',
      section: 'orders',
      alert: 'OrderPlacedTwice',
    },
    inDoubt.count > 0 && {
      level: 'act',
      title: `${counted(inDoubt.count, 'order')} in doubt`,
      detail: `Sent with an unknown outcome, the oldest ${duration(inDoubt.oldestMs)} ago`,
      section: 'orders',
      alert: 'OrdersInDoubt',
    },
    accepted.count > 0 && {
      level: 'watch',
      title: `${counted(accepted.count, 'order')} accepted and not seen since`,
      detail: `The platform accepted them for later (async), the oldest ${duration(accepted.oldestMs)} ago, and nothing shows that it has placed them`,
      section: 'orders',
      alert: 'OrdersAccepted',
    },
  ];
}

const replicaTrouble = ({ overload, openCircuits, redis, draining, maintenance }: ReplicaState): Found[] => [
  overload !== undefined && {
    level: 'act',
    title: 'New requests are refused',
    detail: `The process has reached its limit: ${overload}`,
    alert: 'Overloaded',
  },
  openCircuits.length > 0 && {
    level: 'act',
    title: `The gateway does not call the platform for ${openCircuits.join(', ')}`,
    detail:
      'The circuit is open because calls failed: the dashboard shows which, and how. It tries again by itself',
    alert: 'CircuitOpen',
  },
  redis.status === 'down' && {
    level: 'watch',
    title: 'The shared Redis cannot be used',
    detail: `${(redis.reason ?? 'no connection').replace(/\.$/, '')}. Reads go on; sessions get 503, rates are counted by each replica alone`,
    alert: 'RedisAway',
  },
  maintenance && {
    level: 'watch',
    title: maintenance.active ? 'Maintenance' : 'Maintenance is to come',
    detail: `${STOPPED[maintenance.stops]} from ${timeOf(maintenance.from)} to ${timeOf(maintenance.until)}: ${maintenance.reason}`,
    section: 'maintenance',
    alert: 'MaintenanceOn',
  },
  draining && {
    level: 'watch',
    title: 'This replica stops',
    detail: 'It got the signal to stop, and finishes the requests that it has',
  },
];

const storedTrouble = ({ stuckJobs, newGaps, unknownCodes, troubledWebhooks }: StoredState): Found[] => [
  unknownCodes > 0 && {
    level: 'watch',
    title: `${counted(unknownCodes, 'code')} of the platform that the gateway does not know`,
    detail:
      'Callers get 502, and an order with such a code is in doubt. Ask what the codes mean, and teach them in PLATFORM_PROFILE_FILE',
    section: 'gaps',
    alert: 'UnmappedCode',
  },
  stuckJobs > 0 && {
    level: 'watch',
    title: `${counted(stuckJobs, 'import')} without progress`,
    detail: 'No row was done for ten minutes. What was sent is recorded, and nothing is sent twice',
    section: 'jobs',
    alert: 'ImportStuck',
  },
  troubledWebhooks > 0 && {
    level: 'watch',
    title: `${counted(troubledWebhooks, 'webhook')} without deliveries`,
    detail:
      'Their receivers take nothing, or they were switched off for it. What they miss is kept for 7 days',
    section: 'webhooks',
    alert: 'WebhookFailing',
  },
  newGaps > 0 && {
    level: 'watch',
    title: `${counted(newGaps, 'new gap')} in the platform's answers`,
    detail: 'The platform answers in a way that its interface does not have. Callers are served all the same',
    section: 'gaps',
    alert: 'GapsAppeared',
  },
];

const STOPPED: Readonly<Record<Stops, string>> = {
  orders: 'Orders are stopped',
  writes: 'Writes and orders are stopped, imports wait,',
  all: 'The platform is not called',
};

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function duration(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return `${Math.max(1, Math.round(ms / 1_000))} s`;
  return minutes < 120 ? `${Math.round(minutes)} min` : `${Math.round(minutes / 60)} h`;
}
