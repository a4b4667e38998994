import { type Budget, exhausted, exhaustedProblem, monthOf } from '../budgets/state/budgets.ts';
import { type MaintenanceWindow, stoppedProblem } from '../maintenance/state/maintenance.ts';
import { type Rows, rowsAs } from '../database/engine.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import {
  type CounterOfBytes,
  countsForS,
  dayOf,
  firstDay,
  keyedBytes,
  MAX_RECORD_BYTES,
  type UseRow,
} from '../budgets/state/use-store.ts';
import { type Begin, MAX_SCHEDULED } from './write-steps.ts';

/** The `Retry-After` for a caller with too many scheduled orders. */
const TOO_MANY_S = 3_600;
const MIB = 1024 * 1024;

export interface NewRow extends Begin {
  readonly sealed: string;
  /** The sealed details for the event of a scheduled order; undefined for any other write, which has no event yet. */
  readonly told: string | undefined;
}

/** What counts of a new write. */
type CountedRow = Pick<NewRow, 'details' | 'notBefore' | 'sealed' | 'told'>;

/** The event of a scheduled order counts too, because it stays when the order is cancelled. */
export function bytesOf({ sealed, told = '' }: CountedRow): number {
  return sealed.length + told.length;
}

/** Returns what the write adds to the bytes of its caller, and to which counter. */
export function countedBytes(row: CountedRow): { readonly kind: CounterOfBytes; readonly amount: number } {
  return row.details.order
    ? { kind: 'bytes', amount: bytesOf(row) }
    : { kind: 'keyed-bytes', amount: keyedBytes(row.sealed.length) };
}

interface Bounded extends Record<CounterOfBytes, number> {
  scheduled: number;
}

interface Found {
  readonly window: Rows | undefined;
  readonly counters: Rows | undefined;
}

/** Decides which writes of one transaction may begin, by the maintenance, the budgets and the bounds. Each write leaves less for the next. */
export class BeginLimits {
  readonly #counters: ReadonlyMap<string, readonly UseRow[]>;
  readonly #bounded = new Map<string, Bounded>();
  readonly #used = new Map<string, Record<Budget, number>>();
  readonly #window: MaintenanceWindow | undefined;
  readonly #month: string;

  constructor(
    { window, counters }: Found,
    private readonly now: number,
  ) {
    [this.#window] = rowsAs<MaintenanceWindow>(window);
    this.#counters = Map.groupBy(rowsAs<UseRow>(counters), ({ caller }) => caller);
    this.#month = monthOf(now);
  }

  /** Returns why the write must not be recorded; undefined where it may be. */
  refusal(row: NewRow): ProblemException | undefined {
    const { budgets, scheduledAt } = row;
    const { caller, order } = row.details;
    if (!order) return this.#tooManyBytes(row);
    const window = this.#window;
    if (window && window.from <= this.now && this.now < window.until) return stoppedProblem(window, this.now);
    const spent = budgets && exhausted(budgets, this.#usedBy(caller));
    if (spent) return exhaustedProblem(spent, this.now);
    // A scheduled order has its record already.
    return scheduledAt === undefined ? this.tooMany(row) : undefined;
  }

  /** Returns the problem of a write whose caller has too many records; undefined where there is room for it. */
  tooMany(row: CountedRow): ProblemException | undefined {
    const { caller } = row.details;
    if (row.notBefore !== undefined && this.#boundedOf(caller).scheduled >= MAX_SCHEDULED)
      return new ProblemException('too-many-requests', {
        detail: `This caller has ${MAX_SCHEDULED} orders for a later day: no more are kept.`,
        retryAfter: TOO_MANY_S,
      });
    return this.#tooManyBytes(row);
  }

  /** Counts the write as one more record of its caller. */
  take(row: NewRow): void {
    const { budgets = [], notBefore } = row;
    const { caller } = row.details;
    const bounded = this.#boundedOf(caller);
    const { kind, amount: bytes } = countedBytes(row);
    bounded[kind] += bytes;
    if (notBefore !== undefined) bounded.scheduled++;
    const used = this.#usedBy(caller);
    for (const { budget, amount } of budgets) used[budget] += amount;
  }

  #tooManyBytes(row: CountedRow): ProblemException | undefined {
    const { caller, order } = row.details;
    const { kind, amount } = countedBytes(row);
    if (this.#boundedOf(caller)[kind] + amount <= MAX_RECORD_BYTES) return undefined;
    const records = order ? 'orders' : 'writes with an Idempotency-Key';
    const counted = this.#bytesOf(caller).filter((use) => use.kind === kind && use.used > 0);
    const [oldest = dayOf(this.now)] = counted.map(({ period }) => period).toSorted();
    return new ProblemException('too-many-requests', {
      detail: `The records of this caller's ${records} of the last 7 days have more than ${MAX_RECORD_BYTES / MIB} MiB.`,
      retryAfter: countsForS(oldest, this.now),
    });
  }

  #boundedOf(caller: string): Bounded {
    let bounded = this.#bounded.get(caller);
    if (!bounded) {
      bounded = { bytes: 0, 'keyed-bytes': 0, scheduled: 0 };
      for (const { kind, used } of this.#counters.get(caller) ?? [])
        if (kind === 'scheduled') bounded.scheduled += used;
      for (const { kind, used } of this.#bytesOf(caller)) bounded[kind] += used;
      this.#bounded.set(caller, bounded);
    }
    return bounded;
  }

  /** Returns the counters of bytes of the days that count. */
  #bytesOf(caller: string) {
    const first = firstDay(this.now);
    const isCounted = (use: UseRow): use is UseRow & { kind: CounterOfBytes } =>
      (use.kind === 'bytes' || use.kind === 'keyed-bytes') && use.period >= first;
    return (this.#counters.get(caller) ?? []).filter(isCounted);
  }

  #usedBy(caller: string): Record<Budget, number> {
    let used = this.#used.get(caller);
    if (!used) {
      used = { orders: 0, licences: 0, deletions: 0 };
      for (const row of this.#counters.get(caller) ?? [])
        if (row.period === this.#month) used[row.kind as Budget] = row.used;
      this.#used.set(caller, used);
    }
    return used;
  }
}
