import { SeededRandom } from '../../../sandbox/random.ts';
import type { Sizes } from '../engine.ts';

/** Short, so that deadlines and leases (deadline and 5 s) end during the run. */
export const DEADLINE_MS = 1_000;
/** The time after which no process is sending, with a margin. */
export const LEASE_MS = DEADLINE_MS + 5_000 + 1_000;
/** This delay is longer than the deadline, so no caller waits for the response. */
export const LATE_MS = 1_600;
/** Late enough for an operator to settle first. */
const VERY_LATE_MS = 3_000 * Number(process.env['TEST_SLOWNESS'] ?? 1);

/**
 * What the platform does to an order. The order's own branch code selects it, so every attempt of an order meets the same. The caller
 * cannot see whether the order was carried out. Failures that deliberate bugs get wrong come early, before a breaker opens.
 */
export const faults = {
  none: undefined,
  slow: { phase: 'before', action: { delayMs: 350 } },
  long: { phase: 'before', action: { delayMs: 700 } },
  'code-500-committed': { phase: 'after', action: { code: '500', message: 'network exception, retry' } },
  'reset-after-commit': { phase: 'after', action: { reset: 'before-headers' } },
  'silence-after-commit': { phase: 'after', action: { hang: true } },
  'late-commit': { phase: 'before', action: { delayMs: LATE_MS } },
  'very-late-commit': { phase: 'before', action: { delayMs: VERY_LATE_MS } },
  'truncated-success': { phase: 'after', action: { truncate: 40 } },
  'code-13004': { phase: 'before', action: { code: '13004' } },
  'code-500': { phase: 'before', action: { code: '500', message: 'network exception, retry' } },
  'reset-before': { phase: 'before', action: { reset: 'before-headers' } },
  stall: { phase: 'before', action: { hang: true } },
} as const;
export type Fault = keyof typeof faults;

/** Percentages. Failures of the platform stay well below a half, or the breaker would send nothing. */
const shares: Readonly<Partial<Record<Fault, number>>> = {
  none: 34,
  slow: 26,
  'reset-after-commit': 6,
  'reset-before': 3,
  'late-commit': 6,
  stall: 3,
  'code-500-committed': 6,
  'code-500': 3,
  'code-13004': 7,
  'truncated-success': 6,
};

export interface OrderSizes extends Sizes {
  readonly processes: number;
  /** Orders for each behaviour of the platform. */
  readonly ofEach: number;
  readonly orders: number;
  /** Concurrent submits of each order. */
  readonly submits: number;
  /** kill -9 of gateways, and of one whose database is a file. */
  readonly kills: number;
  readonly fileKills: number;
  /** The database crashes, an operator restarts it, or an administrator ends all connections to it. */
  readonly databaseKills: number;
  readonly restarts: number;
  readonly cuts: number;
  /** kill -9 of Redis, which comes back empty. */
  readonly redisKills: number;
}

interface PlannedOrder {
  readonly channelOrderId: string;
  readonly fault: Fault;
  /** The gateways that get the submits first. */
  readonly gateways: readonly number[];
}

export interface PlannedKill {
  /** The number of submitted orders after which it happens. */
  readonly after: number;
  /** The number is that of a gateway. */
  readonly what: number | 'database' | 'restart' | 'cut' | 'redis';
}

interface Plan {
  readonly orders: readonly PlannedOrder[];
  readonly kills: readonly PlannedKill[];
}

/** The same seed gives the same orders, faults and kills; their timing depends on the machine. */
export function planOf({ orders, submits, processes, seed, ...counts }: OrderSizes): Plan {
  const random = new SeededRandom(seed);
  const upTo = (count: number) => Math.floor(random.next() * count);
  const planned = Array.from({ length: orders }, (_unused, index): PlannedOrder => {
    const first = upTo(processes);
    return {
      channelOrderId: `chaos-${seed}-${index}`,
      fault: drawFault(random.next() * 100),
      gateways: [...Array(submits).keys()].map((submit) => (first + submit) % processes),
    };
  });
  const times = <T>(count: number, what: () => T) => Array.from({ length: count }, what);
  const all: PlannedKill['what'][] = [
    ...times(counts.kills, () => upTo(processes)),
    ...times(counts.databaseKills, () => 'database' as const),
    ...times(counts.restarts, () => 'restart' as const),
    ...times(counts.cuts, () => 'cut' as const),
    ...times(counts.redisKills, () => 'redis' as const),
  ];
  const shuffled = all
    .map((what) => ({ what, place: random.next() }))
    .sort((one, other) => one.place - other.place);
  // The disturbances begin early, and end before the last orders.
  const after = (place: number) => Math.floor((orders * (place + 0.5)) / (all.length + 1));
  return { orders: planned, kills: shuffled.map(({ what }, place) => ({ after: after(place), what })) };
}

function drawFault(point: number): Fault {
  let sum = 0;
  for (const [fault, share] of Object.entries(shares)) if (point < (sum += share)) return fault as Fault;
  return 'none';
}

/** The sandbox's fault rules: one for each fault. */
export function faultRules(): object[] {
  return Object.entries(faults)
    .filter(([, rule]) => rule !== undefined)
    .map(([fault, rule]) => ({
      operation: 'batchOrder',
      match: { body: { orderList: [{ branchCode: fault }] } },
      ...rule,
    }));
}
