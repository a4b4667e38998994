import { setImmediate as endOfTurn } from 'node:timers/promises';
import {
  type Budget,
  type BudgetUse,
  exhausted,
  exhaustedProblem,
  monthOf,
  type MonthlyUse,
} from '../control/budgets.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
import {
  enterprisesOf,
  isWithin,
  keptFor,
  type LedgerRecord,
  released,
  type State,
  transitions,
  unsettled,
} from './ledger-record.ts';
import type { MemoryMoveLog } from './memory-move-log.ts';
import type { LoggedMove } from './move-log.ts';
import {
  type Begin,
  type Begun,
  type Listing,
  MAX_WRITES,
  type Move,
  type Moved,
  type OrderLedgerStore,
  type OrderQuery,
  type WaitingOrders,
} from './order-ledger-store.ts';

interface Kept extends LedgerRecord {
  readonly owner: string;
  readonly fingerprint: string;
  readonly leaseUntil: number;
  readonly alias: string | undefined;
  /** When the record may be deleted; infinite while the order is not settled. */
  readonly until: number;
  /** What it takes of its caller's budgets, and of which month. */
  readonly taken: { readonly month: string; readonly uses: readonly BudgetUse[] } | undefined;
}

/** Records are kept for days, so a minute more does not matter. */
const FORGET_MS = 60_000;

/** Without Redis, for as long as the process lives. `now` is in ms since the epoch and never goes back. */
export class MemoryOrderLedger implements OrderLedgerStore {
  readonly #records = new Map<string, Kept>();
  /** The records that are not settled: the sweep reads them twice a second. */
  readonly #open = new Map<string, Kept>();
  readonly #aliases = new Map<string, string>();
  /** For each caller, the number of its records that are no orders. */
  readonly #writes = new Map<string, number>();
  /** What was used of budgets, by caller and month. */
  readonly #used = new Map<string, Record<Budget, number>>();
  #forgottenAt = -Infinity;

  constructor(
    private readonly moves: MemoryMoveLog,
    private readonly now: () => number = monotonicNow,
    /** The problem for an order, where an operator has stopped orders. */
    private readonly refusal: () => ProblemException | undefined = () => undefined,
  ) {}

  /** Orders that arrive in one turn of the event loop continue together, which takes less of the processor than one after the other. */
  async begin(write: Begin): Promise<Begun> {
    const begun = this.#begin(write);
    await endOfTurn();
    return begun;
  }

  holds(name: string, owner: string): Promise<boolean> {
    const kept = this.#find(name);
    return Promise.resolve(kept?.state === 'sending' && kept.owner === owner);
  }

  move(move: Move): Promise<Moved> {
    const kept = this.#find(move.name);
    if (!kept) return Promise.resolve({ kind: 'missing' });
    const isThere = move.from === undefined || move.from === kept.state;
    const isAllowed = isThere && transitions[move.by][kept.state]?.includes(move.to);
    if (!isAllowed || (move.owner !== undefined && move.owner !== kept.owner))
      return Promise.resolve({ kind: 'refused', record: recordOf(kept) });
    const leftMs = kept.submittedAt + (move.minAgeMs ?? 0) - this.now();
    if (leftMs > 0) return Promise.resolve({ kind: 'early', leftMs });
    const moved = this.#put(kept, move.to, move.details);
    // A write that is no order and changed nothing leaves no record.
    if (!moved.details.order && released.includes(moved.state)) this.#remove(moved);
    return Promise.resolve({ kind: 'moved', record: recordOf(moved) });
  }

  read(name: string, within?: ReadonlySet<string>): Promise<LedgerRecord | undefined> {
    const kept = this.#find(name);
    const order = kept?.details.order;
    const isThere = !within || (order !== undefined && isWithin(order, within));
    return Promise.resolve(kept && isThere ? recordOf(kept) : undefined);
  }

  list(query: OrderQuery, offset: number, count: number): Promise<Listing> {
    const all = [...this.#records.keys()]
      .reverse()
      .map((name) => this.#find(name))
      .filter((kept) => kept !== undefined && matches(query, kept)) as Kept[];
    const records = all.slice(offset, offset + count).map(recordOf);
    return Promise.resolve({ records, total: all.length });
  }

  recordIn({ record }: LoggedMove): LedgerRecord {
    return record as LedgerRecord;
  }

  sweep(): Promise<readonly string[]> {
    const ended: string[] = [];
    for (const { name, state } of this.#open.values())
      if (state === 'sending' && this.#find(name)?.state === 'in_doubt') ended.push(name);
    if (this.now() - this.#forgottenAt >= FORGET_MS) this.#forget();
    return Promise.resolve(ended);
  }

  waiting(): Promise<WaitingOrders> {
    const ordersIn = (wanted: State) => {
      const ages = [...this.#open.values()]
        .filter(({ state, details }) => state === wanted && details.order)
        .map(({ submittedAt }) => this.now() - submittedAt);
      return { count: ages.length, oldestMs: Math.max(0, ...ages) };
    };
    return Promise.resolve({ inDoubt: ordersIn('in_doubt'), accepted: ordersIn('accepted') });
  }

  #begin(write: Begin): Begun {
    const { name, owner, fingerprints, leaseMs, details, alias } = write;
    const target = alias && this.#aliases.get(alias);
    if (target && target !== name && this.#find(target)) return { kind: 'taken' };
    const kept = this.#find(name);
    if (kept?.state === 'sending' && kept.owner === owner)
      return { kind: 'begun', submittedAt: kept.submittedAt };
    const same = kept !== undefined && fingerprints.includes(kept.fingerprint);
    const free = !kept || released.includes(kept.state) || (kept.state === 'rejected' && !same);
    if (!free) return { kind: 'there', same, record: recordOf(kept) };
    const problem = details.order && this.refusal();
    if (problem) return { kind: 'not_admitted', problem };
    const taken = write.budgets && { month: monthOf(this.now()), uses: write.budgets };
    const spent = taken && exhausted(taken.uses, this.#usedIn(details.caller, taken.month));
    if (spent) return { kind: 'not_admitted', problem: exhaustedProblem(spent, this.now()) };
    const writes = this.#writes.get(details.caller) ?? 0;
    if (!details.order && writes >= MAX_WRITES) return { kind: 'full' };
    if (!details.order) this.#writes.set(details.caller, writes + 1);
    const submittedAt = this.now();
    // The newest record is the last: list() reverses the order.
    this.#records.delete(name);
    this.#keep({
      name,
      state: 'sending',
      submittedAt,
      settledAt: null,
      details,
      owner,
      fingerprint: fingerprints[0] as string,
      leaseUntil: submittedAt + leaseMs,
      alias,
      until: Infinity,
      taken,
    });
    if (taken) this.#count(details.caller, taken, 1);
    if (alias) this.#aliases.set(alias, name);
    return { kind: 'begun', submittedAt };
  }

  /** The record as of now: its lease may have ended, or the time for which it is kept. */
  #find(name: string): Kept | undefined {
    const kept = this.#records.get(name);
    if (!kept) return undefined;
    if (kept.until <= this.now()) {
      this.#remove(kept);
      return undefined;
    }
    const ended = kept.state === 'sending' && kept.leaseUntil <= this.now();
    return ended ? this.#put(kept, 'in_doubt') : kept;
  }

  #remove({ name, alias, details }: Kept): void {
    this.#records.delete(name);
    this.#open.delete(name);
    if (alias !== undefined && this.#aliases.get(alias) === name) this.#aliases.delete(alias);
    if (details.order) return;
    const left = (this.#writes.get(details.caller) ?? 1) - 1;
    if (left > 0) this.#writes.set(details.caller, left);
    else this.#writes.delete(details.caller);
  }

  #put(kept: Kept, state: State, details = kept.details): Kept {
    const now = this.now();
    const keptMs = keptFor(state, details.order !== undefined);
    const until = keptMs === undefined ? Infinity : now + keptMs;
    const settledAt = state === 'in_doubt' ? null : now;
    const isBack = kept.taken && (state === 'rejected' || released.includes(state));
    if (isBack) this.#count(details.caller, kept.taken, -1);
    const next = { ...kept, state, details, settledAt, until, taken: isBack ? undefined : kept.taken };
    this.#keep(next);
    if (details.order) this.moves.add('order', kept.name, state, recordOf(next), now);
    return next;
  }

  used(caller: string, months: readonly string[]): Promise<readonly MonthlyUse[]> {
    return Promise.resolve(months.map((month) => ({ month, used: { ...this.#usedIn(caller, month) } })));
  }

  #usedIn(caller: string, month: string): Record<Budget, number> {
    return this.#used.get(`${caller}:${month}`) ?? { orders: 0, licences: 0, deletions: 0 };
  }

  #count(caller: string, { month, uses }: NonNullable<Kept['taken']>, sign: 1 | -1): void {
    const used = { ...this.#usedIn(caller, month) };
    for (const { budget, amount } of uses) used[budget] += sign * amount;
    this.#used.set(`${caller}:${month}`, used);
  }

  #keep(kept: Kept): void {
    this.#records.set(kept.name, kept);
    if (unsettled.includes(kept.state)) this.#open.set(kept.name, kept);
    else this.#open.delete(kept.name);
  }

  #forget(): void {
    this.#forgottenAt = this.now();
    for (const name of this.#records.keys()) this.#find(name);
    for (const [alias, name] of this.#aliases) if (!this.#records.has(name)) this.#aliases.delete(alias);
  }
}

function matches(query: OrderQuery, { state, submittedAt, details: { order } }: Kept): boolean {
  const { states, channels, within, enterprise, from = -Infinity, until = Infinity } = query;
  if (!order || submittedAt < from || submittedAt >= until) return false;
  if (states && !states.includes(state)) return false;
  if (channels && !channels.has(order.channelCode)) return false;
  if (enterprise !== undefined && !enterprisesOf(order).includes(enterprise)) return false;
  return !within || isWithin(order, within);
}

function recordOf({ name, state, submittedAt, settledAt, details }: Kept): LedgerRecord {
  return { name, state, submittedAt, settledAt, details };
}

/** Starts with the wall clock's time and continues with the monotonic clock: a step of the wall clock ends no lease. */
function monotonicNow(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}
