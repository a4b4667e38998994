import type { MaintenanceWindow, Stops } from '../maintenance/state/maintenance.ts';
import type { NearlyUsed } from '../budgets/budget-watch.ts';
import type { WaitingOrders } from '../order-ledger/write-steps.ts';
import type { Attention, MaybeAttention } from './attention-item.ts';
import { type PlatformState, platformTrouble } from './platform-attention.ts';
import { database, type ReplicaState, replicaTrouble } from './replica-attention.ts';
import { counted, duration, named, timeOf } from './words.ts';

/** What the stores that all replicas share contain. */
export interface StoredState {
  /** The accepted orders that an operator may settle by now. */
  readonly orders: WaitingOrders;
  /** The number of orders of which a search found more licence orders than were ordered. */
  readonly placedTwice: number;
  /** The number of gaps that appeared within a day. */
  readonly newGaps: number;
  /** The number of codes that the platform answered with and the gateway does not know. */
  readonly unknownCodes: number;
  readonly stuckJobs: number;
  /** The number of webhooks that get no events although their owners want them. */
  readonly troubledWebhooks: number;
  /** The number of enterprises of the estate that were not read for a day. */
  readonly unreadEnterprises: number;
  readonly budgets: readonly NearlyUsed[];
  readonly maintenance: (MaintenanceWindow & { readonly active: boolean }) | undefined;
  /** What the database did not answer, in words. It counts as none above. */
  readonly unknown: readonly string[];
}

/** Everything that needs an operator now, the most urgent first. */
export function attentionFor(
  replica: ReplicaState,
  platform: PlatformState,
  stored: StoredState,
  now: number,
): Attention[] {
  const found: readonly MaybeAttention[] = [
    ...database(replica),
    ...platformTrouble(platform, now),
    notKnown(stored.unknown),
    ...openOrders(stored),
    ...replicaTrouble(replica),
    ...storedTrouble(stored, now),
  ];
  return found
    .filter((each) => each !== false && each !== undefined)
    .toSorted((one, other) => Number(one.level === 'watch') - Number(other.level === 'watch'));
}

/** A scheduled order counts as late only after this time. */
const OVERDUE_MS = 5 * 60_000;

const notKnown = (unknown: readonly string[]): MaybeAttention =>
  unknown.length > 0 && {
    level: 'act',
    title: `Not known: ${unknown.join(', ')}`,
    detail: 'The database did not answer these reads, so this page says nothing of what they would show',
    alert: 'DatabaseAway',
  };

function openOrders({
  placedTwice,
  orders: {
    inDoubt,
    accepted,
    scheduled: { overdueMs },
  },
}: StoredState): MaybeAttention[] {
  return [
    placedTwice > 0 && {
      level: 'act',
      title: `${counted(placedTwice, 'order')} placed more than once`,
      detail: 'The platform has more licence orders than were ordered: the last search names them',
      section: 'orders',
      alert: 'OrderPlacedTwice',
    },
    inDoubt.count > 0 && {
      level: 'act',
      title: `${counted(inDoubt.count, 'order')} in doubt`,
      detail: `Sent, and the outcome is not known in full, the oldest ${duration(inDoubt.oldestMs)} ago`,
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
    overdueMs > OVERDUE_MS && {
      level: 'watch',
      title: 'A scheduled order is late',
      detail: `Its time came ${duration(overdueMs)} ago, and it was not sent: the platform is away, or a maintenance stops orders`,
      section: 'scheduled',
      alert: 'OrdersOverdue',
    },
  ];
}

const storedTrouble = (
  {
    stuckJobs,
    newGaps,
    unknownCodes,
    troubledWebhooks,
    unreadEnterprises,
    budgets,
    maintenance,
  }: StoredState,
  now: number,
): MaybeAttention[] => [
  budgets.length > 0 && {
    level: 'watch',
    title: budgets.some(({ ratio }) => ratio >= 1) ? 'A budget is used up' : 'A budget is nearly used up',
    detail: `${named(budgets.map(budgetInWords))} of this month. At 100 % the caller gets 403, and nothing is sent`,
    section: 'budgets',
    alert: 'BudgetNearlyUsed',
  },
  maintenance && {
    level: 'watch',
    title: maintenance.active ? 'Maintenance' : 'Maintenance is to come',
    detail: `${STOPPED[maintenance.stops]} from ${timeOf(maintenance.from, now)} to ${timeOf(maintenance.until, now)}: ${maintenance.reason}`,
    section: 'maintenance',
    alert: 'MaintenanceOn',
  },
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
    title: `${counted(troubledWebhooks, 'webhook')} ${troubledWebhooks === 1 ? 'is' : 'are'} failing`,
    detail:
      'Their receivers accept nothing, or the gateway has switched them off for that. Missed events are kept for 7 days',
    section: 'webhooks',
    alert: 'WebhookFailing',
  },
  unreadEnterprises > 0 && {
    level: 'watch',
    title: `${counted(unreadEnterprises, 'enterprise')} of the estate not read for a day`,
    detail: 'Lists of the estate show what was there before, with its age. The page /estate says why',
    alert: 'EstateUnread',
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

const budgetInWords = ({ caller, budget, ratio }: NearlyUsed): string =>
  `${caller} has used ${Math.floor(ratio * 100)} % of its ${budget}`;
