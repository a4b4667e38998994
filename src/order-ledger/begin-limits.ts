import { type Budget, exhausted, exhaustedProblem, monthOf } from '../budgets/state/budgets.ts';
import { type MaintenanceWindow, stoppedProblem } from '../maintenance/state/maintenance.ts';
import { type Rows, rowsAs } from '../database/engine.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { firstDay, MAX_ORDER_BYTES, type UseRow } from '../budgets/state/use-store.ts';
import { type Begin, MAX_SCHEDULED, MAX_WRITES } from './write-steps.ts';

/** The `Retry-After` for a caller with too many bytes of orders, of which each day frees one day's bytes, or with too many scheduled orders. */
const TOO_MUCH_S = 3_600;

export interface NewRow extends Begin {
  readonly sealed: string;
  /** The sealed details for the event of a scheduled order; undefined for any other write, which has no event yet. */
  readonly told: string | undefined;
}

/** The event of a scheduled order counts too, because it stays when the order is cancelled. */
export function bytesOf({ sealed, told = '' }: NewRow): number {
  return sealed.length + told.length;
}

interface Bounded {
  bytes: number;
  writes: number;
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

  /** Returns why the order must not be recorded; undefined where it may be. */
  refusal(row: NewRow): ProblemException | undefined {
    const { budgets, notBefore, scheduledAt } = row;
    const { caller } = row.details;
    const window = this.#window;
    if (window && window.from <= this.now && this.now < window.until) return stoppedProblem(window, this.now);
    const spent = budgets && exhausted(budgets, this.#usedBy(caller));
    if (spent) return exhaustedProblem(spent, this.now);
    // A scheduled order has its record already.
    if (scheduledAt !== undefined) return undefined;
    if (notBefore !== undefined && this.#boundedOf(caller).scheduled >= MAX_SCHEDULED)
      return new ProblemException('too-many-requests', {
        detail: `This caller has ${MAX_SCHEDULED} orders for a later day: no more are kept.`,
        retryAfter: TOO_MUCH_S,
      });
    if (this.#boundedOf(caller).bytes + bytesOf(row) <= MAX_ORDER_BYTES) return undefined;
    return new ProblemException('too-many-requests', {
      detail: `The records of this caller's orders of the last 7 days have more than ${MAX_ORDER_BYTES / 1024 / 1024} MiB.`,
      retryAfter: TOO_MUCH_S,
    });
  }

  /** Counts the write as one more record of its caller. Returns false where the caller may have no more. */
  take(row: NewRow): boolean {
    const { budgets = [], notBefore } = row;
    const { caller, order } = row.details;
    const bounded = this.#boundedOf(caller);
    if (!order && bounded.writes >= MAX_WRITES) return false;
    if (order) bounded.bytes += bytesOf(row);
    else bounded.writes++;
    if (notBefore !== undefined) bounded.scheduled++;
    const used = this.#usedBy(caller);
    for (const { budget, amount } of budgets) used[budget] += amount;
    return true;
  }

  #boundedOf(caller: string): Bounded {
    let bounded = this.#bounded.get(caller);
    if (!bounded) {
      bounded = { bytes: 0, writes: 0, scheduled: 0 };
      for (const { kind, period, used } of this.#counters.get(caller) ?? [])
        if (kind === 'writes' || kind === 'scheduled') bounded[kind] += used;
        else if (kind === 'bytes' && period >= firstDay(this.now)) bounded.bytes += used;
      this.#bounded.set(caller, bounded);
    }
    return bounded;
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
