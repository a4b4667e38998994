import {
  exhausted,
  exhaustedProblem,
  monthOf,
  type Budget,
  type BudgetUse,
} from '../budgets/state/budgets.ts';
import { type MaintenanceWindow, stoppedProblem } from '../maintenance/state/maintenance.ts';
import { type Rows, rowsAs } from '../database/engine.ts';
import { type Columns, columnNames, rows, sql } from '../database/sql.ts';
import { locked, type Decision, raise, type Step } from '../database/step.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { type Details, enterprisesOf, released } from './ledger-record.ts';
import { MAINTENANCE, WINDOW } from '../maintenance/state/window-store.ts';
import { DELETE_NAMED, lockedRows, ROWS_OF_ALIASES, wanted, WRITE_FIELDS } from './named-row-store.ts';
import { countWrites, groupOf, groupWrites, type OrderCount, type Place } from './order-counts-store.ts';
import { type Begin, type Begun, MAX_WRITES } from './write-steps.ts';
import {
  boundedUses,
  budgetsOf,
  dayOf,
  MAX_ORDER_BYTES,
  type Use,
  type UseRow,
  usesOf,
  useWrites,
} from '../budgets/state/use-store.ts';
import { placeOf, type WriteRow } from './write-rows.ts';

/** After this time a caller is told that the database is away, and nothing is sent. */
const WITHIN_MS = 250;
/** When a caller whose orders have too many bytes may try again: each day frees those of a day. */
const TOO_MUCH_S = 3_600;

export interface NewRow extends Begin {
  readonly sealed: string;
}

type BeginResult =
  | Extract<Begun, { readonly kind: 'begun' | 'taken' | 'full' | 'not_admitted' }>
  | { readonly kind: 'there'; readonly same: boolean; readonly row: WriteRow }
  /** It was being sent, and its lease has ended: it has to be moved before anything else. */
  | { readonly kind: 'ended' };

const KNOWN = lockedRows(WRITE_FIELDS);
const BEGUN: Columns = {
  ...{ name: 'text', owner: 'text', fingerprint: 'text', caller: 'text', alias: 'text' },
  ...{ channel: 'text', enterpriseGroup: 'text', submittedAt: 'bigint', leaseUntil: 'bigint' },
  ...{ taken: 'text', countedOn: 'text', size: 'bigint', details: 'text' },
};
const INSERT = sql`
  INSERT INTO writes (platform, state, ${columnNames(BEGUN)})
  SELECT CAST(:platform AS text), 'sending', ${columnNames(BEGUN)} FROM ${rows('begun', BEGUN)}`;

/** Begins writes: looks at the maintenance, takes of the budgets, and records each, or none of it. Its owner may repeat it. */
export const beginWrites: Step<NewRow, BeginResult> = {
  name: 'begin writes',
  key: ({ name }) => name,
  bytes: ({ sealed }) => sealed.length,
  guarded: true,
  repeatable: true,
  withinMs: WITHIN_MS,
  look: (begins) => {
    const now = Date.now();
    const callers = [...new Set(begins.map(({ details: { caller } }) => caller))];
    const limited = begins.filter(({ budgets }) => budgets?.length).map(({ details: { caller } }) => caller);
    return [
      locked(MAINTENANCE, 'shared'),
      WINDOW.with(),
      KNOWN.with(wanted(begins.map(({ name }) => name))),
      ROWS_OF_ALIASES.with(wanted(begins.flatMap(({ alias }) => alias ?? []))),
      boundedUses(callers, now),
      // Another month may have begun at the database.
      ...(limited.length === 0
        ? []
        : budgetsOf([...new Set(limited)], [now - 60_000, now + 60_000].map(monthOf))),
    ];
  },
  decide: (begins, found, now) => new Beginning(found, now).decide(begins),
};

/** The decision of one transaction. What one write takes is not there for the next. */
class Beginning {
  readonly #known: ReadonlyMap<string, WriteRow>;
  readonly #aliases: Map<string, string>;
  readonly #bounded: Map<string, Bounded>;
  readonly #budgets: readonly UseRow[];
  readonly #used = new Map<string, Record<Budget, number>>();
  readonly #window: MaintenanceWindow | undefined;
  readonly #month: string;
  /** Those that begin now. */
  readonly #fresh: NewRow[] = [];

  constructor(
    [, window, known, aliases = [], bounded, ...locksAndBudgets]: readonly Rows[],
    private readonly now: number,
  ) {
    [this.#window] = rowsAs<MaintenanceWindow>(window);
    this.#known = new Map(rowsAs<WriteRow>(known).map((row) => [row.name, row]));
    this.#aliases = new Map(aliases.map(({ alias, name }) => [String(alias), String(name)]));
    this.#bounded = new Map(rowsAs<Bounded>(bounded).map((row) => [row.caller, { ...row }]));
    this.#budgets = rowsAs<UseRow>(locksAndBudgets.at(-1));
    this.#month = monthOf(now);
  }

  decide(begins: readonly NewRow[]): Decision<BeginResult> {
    const results = begins.map((begin) => this.#resultOf(begin));
    const fresh = this.#fresh;
    return { writes: fresh.length > 0 ? this.#writesOf(fresh) : [], results: () => results };
  }

  #resultOf(begin: NewRow): BeginResult {
    const { name, owner, fingerprints, details, alias, budgets, sealed } = begin;
    const target = alias === undefined ? undefined : this.#aliases.get(alias);
    if (target !== undefined && target !== name) return { kind: 'taken' };
    const row = this.#known.get(name);
    if (row?.state === 'sending' && row.leaseUntil <= this.now) return { kind: 'ended' };
    if (row?.state === 'sending' && row.owner === owner)
      return { kind: 'begun', submittedAt: row.submittedAt };
    const same = row !== undefined && fingerprints.includes(row.fingerprint);
    const isFree = !row || released.includes(row.state) || (row.state === 'rejected' && !same);
    if (!isFree) return { kind: 'there', same, row };
    const { caller } = details;
    const problem = details.order && this.#refusal(caller, budgets, sealed.length);
    if (problem) return { kind: 'not_admitted', problem };
    const bounded = this.#boundedOf(caller);
    if (!details.order && bounded.writes >= MAX_WRITES) return { kind: 'full' };
    if (details.order) bounded.bytes += sealed.length;
    else bounded.writes++;
    const used = this.#usedBy(caller);
    for (const { budget, amount } of budgets ?? []) used[budget] += amount;
    if (alias !== undefined) this.#aliases.set(alias, name);
    this.#fresh.push(begin);
    return { kind: 'begun', submittedAt: this.now };
  }

  #refusal(
    caller: string,
    budgets: readonly BudgetUse[] | undefined,
    bytes: number,
  ): ProblemException | undefined {
    const window = this.#window;
    if (window && window.from <= this.now && this.now < window.until) return stoppedProblem(window, this.now);
    const spent = budgets && exhausted(budgets, this.#usedBy(caller));
    if (spent) return exhaustedProblem(spent, this.now);
    if (this.#boundedOf(caller).bytes + bytes <= MAX_ORDER_BYTES) return undefined;
    return new ProblemException('too-many-requests', {
      detail: `The records of this caller's orders of the last 7 days have more than ${MAX_ORDER_BYTES / 1024 / 1024} MiB.`,
      retryAfter: TOO_MUCH_S,
    });
  }

  #boundedOf(caller: string): Bounded {
    const known = this.#bounded.get(caller) ?? { caller, bytes: 0, writes: 0 };
    this.#bounded.set(caller, known);
    return known;
  }

  #usedBy(caller: string): Record<Budget, number> {
    let used = this.#used.get(caller);
    if (!used) {
      used = { orders: 0, licences: 0, deletions: 0 };
      for (const row of this.#budgets)
        if (row.caller === caller && row.period === this.#month) used[row.kind as Budget] = row.used;
      this.#used.set(caller, used);
    }
    return used;
  }

  #writesOf(fresh: readonly NewRow[]) {
    const counts: OrderCount[] = [];
    const uses: Use[] = [];
    const groups: (readonly string[])[] = [];
    const day = dayOf(this.now);
    for (const { name, details, budgets, sealed } of fresh) {
      const { order, caller } = details;
      const place = newPlace(details);
      const before = this.#known.get(name);
      const placeBefore = before && placeOf(before);
      if (placeBefore) counts.push({ ...placeBefore, state: before.state, amount: -1 });
      if (!place || !order) {
        if (!before) uses.push({ caller, period: '', kind: 'writes', amount: 1 });
        continue;
      }
      groups.push(enterprisesOf(order));
      counts.push({ ...place, state: 'sending', amount: 1 });
      uses.push({ caller, period: day, kind: 'bytes', amount: sealed.length });
      if (budgets) uses.push(...usesOf(caller, { month: this.#month, uses: budgets }, 1));
    }
    const replaced = fresh.map(({ name }) => name).filter((name) => this.#known.has(name));
    return [
      ...(replaced.length > 0 ? [DELETE_NAMED.with(wanted(replaced))] : []),
      INSERT.with({ begun: fresh.map((begin) => this.#columnsOf(begin, day)) }),
      ...useWrites(uses),
      raise('begun', fresh.length),
      ...groupWrites(groups),
      ...countWrites(counts),
    ];
  }

  #columnsOf({ name, owner, fingerprints, leaseMs, details, alias, budgets, sealed }: NewRow, day: string) {
    return {
      ...{ name, owner, fingerprint: fingerprints[0], caller: details.caller, alias, ...newPlace(details) },
      ...{ submittedAt: this.now, leaseUntil: this.now + leaseMs },
      ...(budgets?.length && { taken: JSON.stringify({ month: this.#month, uses: budgets }) }),
      ...{ countedOn: day, size: sealed.length, details: sealed },
    };
  }
}

interface Bounded {
  readonly caller: string;
  bytes: number;
  writes: number;
}

function newPlace({ order }: Details): Place | undefined {
  return order && { channel: order.channelCode, enterpriseGroup: groupOf(enterprisesOf(order)) };
}
