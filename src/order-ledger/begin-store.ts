import { monthOf } from '../budgets/state/budgets.ts';
import { type Rows, rowsAs } from '../database/engine.ts';
import { CONFIRMED } from '../database/identity.ts';
import { type Columns, columnNames, fields, rows, sql } from '../database/sql.ts';
import { locked, type Decision, raise, type Step } from '../database/step.ts';
import { addTasks, type NewTask } from '../tasks/task-store.ts';
import { BeginLimits, bytesOf, countedBytes, type NewRow } from './begin-limits.ts';
import { eventWrites, type NewEvent } from '../events/log/event-store.ts';
import { type Details, enterprisesOf, released, type State } from './ledger-record.ts';
import {
  WRITE_COLUMNS,
  DELETE_NAMED,
  lockedRows,
  ROWS_OF_ALIASES,
  updatedRows,
  wanted,
} from './named-row-store.ts';
import { countWrites, groupOf, groupWrites, type OrderCount, type Place } from './order-counts-store.ts';
import { SCHEDULE } from './search-store.ts';
import { countersOf, dayOf, type Use, usesOf, useWrites } from '../budgets/state/use-store.ts';
import { MAINTENANCE, WINDOW } from '../maintenance/state/window-store.ts';
import { orderEvent, placeOf, type WriteRow } from './write-rows.ts';
import type { Begin, Begun } from './write-steps.ts';

/** The time after which a caller is told that the database is away, and nothing is sent. */
const WITHIN_MS = 250;

type BeginResult =
  | Exclude<Begun, { readonly kind: 'there' }>
  | { readonly kind: 'there'; readonly same: boolean; readonly row: WriteRow }
  /** The write was being sent, and its lease has ended: it has to be moved to `in_doubt` first. */
  | { readonly kind: 'ended' };

type KnownRow = WriteRow & { readonly alias: string | null };

const BEGUN: Columns = { ...WRITE_COLUMNS, alias: 'text', details: 'text' };
const KNOWN = lockedRows(fields(BEGUN));
const ALIASED: Columns = { name: 'text', alias: 'text' };
const SET_ALIAS = updatedRows(sql`alias = moves.alias`, rows('moves', ALIASED));
const INSERT = sql`
  INSERT INTO writes (platform, ${columnNames(BEGUN)})
  SELECT CAST(:platform AS text), ${columnNames(BEGUN)} FROM ${rows('begun', BEGUN)}`;

/** Begins writes: checks the maintenance, takes from the budgets and records the write, or does none of it. The owner may repeat the step. */
export const beginWrites: Step<NewRow, BeginResult> = {
  name: 'begin writes',
  key: ({ name }) => name,
  of: ({ details: { caller } }) => caller,
  bytes: bytesOf,
  guarded: true,
  repeatable: true,
  withinMs: WITHIN_MS,
  look: (begins) => {
    const aliases = aliasesIn(begins);
    const callersOf = (some: readonly NewRow[]) => new Set(some.map(({ details: { caller } }) => caller));
    return [
      locked(MAINTENANCE, 'shared'),
      WINDOW.with(),
      KNOWN.with(wanted(begins.map(({ name }) => name))),
      ...(hasDue(begins) ? [CONFIRMED.with()] : []),
      ...(aliases.length > 0 ? [ROWS_OF_ALIASES.with(wanted(aliases))] : []),
      ...countersOf(callersOf(begins), callersOf(begins.filter(({ budgets }) => budgets?.length))),
    ];
  },
  decide: (begins, found, now) => new Beginning(begins, found, now).decide(),
};

function hasDue(begins: readonly NewRow[]): boolean {
  return begins.some(({ scheduledAt }) => scheduledAt !== undefined);
}

function aliasesIn(begins: readonly NewRow[]): string[] {
  return begins.flatMap(({ alias }) => alias ?? []);
}

/** The decision of one transaction. What one write takes is not there for the next. */
class Beginning {
  readonly #known: ReadonlyMap<string, KnownRow>;
  readonly #aliases: Map<string, string>;
  readonly #limits: BeginLimits;
  readonly #month: string;
  /** When an operator last confirmed the database; see {@link CONFIRMED}. */
  readonly #confirmedAt: number;
  /** The writes that begin now. */
  readonly #fresh: NewRow[] = [];
  /** The writes that were there without an alias, and get that of their repeat. */
  readonly #aliased: { readonly name: string; readonly alias: string }[] = [];

  constructor(
    private readonly begins: readonly NewRow[],
    [, window, known, ...others]: readonly Rows[],
    private readonly now: number,
  ) {
    this.#known = new Map(rowsAs<KnownRow>(known).map((row) => [row.name, row]));
    const [identity] = hasDue(begins) ? rowsAs<{ readonly confirmedAt: number }>(others.shift()) : [];
    this.#confirmedAt = identity?.confirmedAt ?? 0;
    const aliases = aliasesIn(begins).length > 0 ? others.shift() : [];
    this.#aliases = new Map(aliases?.map(({ alias, name }) => [String(alias), String(name)]));
    this.#month = monthOf(now);
    this.#limits = new BeginLimits({ window, counters: others.at(-1) }, now);
  }

  decide(): Decision<BeginResult> {
    const results = this.begins.map((begin) => this.#resultOf(begin));
    const fresh = this.#fresh;
    const writes = [
      ...(fresh.length > 0 ? this.#writesOf(fresh) : []),
      ...(this.#aliased.length > 0 ? [SET_ALIAS.with({ moves: this.#aliased })] : []),
    ];
    return { writes, results: () => results };
  }

  #resultOf(begin: NewRow): BeginResult {
    const { name, owner, fingerprints, alias } = begin;
    const target = alias === undefined ? undefined : this.#aliases.get(alias);
    if (target !== undefined && target !== name) return { kind: 'taken' };
    const row = this.#known.get(name);
    if (row?.state === 'sending' && row.leaseUntil <= this.now) return { kind: 'ended' };
    if (row?.state === 'sending' && row.owner === owner)
      return { kind: 'begun', submittedAt: row.submittedAt };
    if (row?.state === 'scheduled' && row.owner === owner)
      return { kind: 'scheduled', submittedAt: row.submittedAt };
    const isDue = begin.scheduledAt !== undefined;
    const notDue = isDue && this.#notDue(row, begin.scheduledAt);
    if (notDue) return notDue;
    const same = row !== undefined && fingerprints.includes(row.fingerprint);
    const isReplaced = row && row.submittedAt === begin.replaces && givesWay(row.state, false);
    if (row && !isDue && !isReplaced && !mayReplace(row, begin)) {
      if (same && alias !== undefined && row.alias === null) this.#alias(name, alias);
      return { kind: 'there', same, row };
    }
    if (begin.refusal) return { kind: 'not_admitted', problem: begin.refusal };
    const leftMs = (begin.details.order?.notBefore ?? 0) - this.now;
    if (begin.notBefore === undefined && leftMs > 0) return { kind: 'early', leftMs };
    const problem = this.#limits.refusal(begin);
    if (problem) return { kind: 'not_admitted', problem };
    this.#limits.take(begin);
    if (alias !== undefined) this.#aliases.set(alias, name);
    this.#fresh.push(begin);
    return { kind: begin.notBefore === undefined ? 'begun' : 'scheduled', submittedAt: this.now };
  }

  #alias(name: string, alias: string): void {
    this.#aliases.set(alias, name);
    this.#aliased.push({ name, alias });
  }

  /** Returns why a scheduled order may not begin; undefined where its time has come. */
  #notDue(row: WriteRow | undefined, scheduledAt: number): BeginResult | undefined {
    if (!row) return { kind: 'taken' };
    if (row.state !== 'scheduled') return { kind: 'there', same: true, row };
    const notBefore = row.notBefore ?? 0;
    const leftMs = Math.max(0, notBefore - this.now);
    if (leftMs > 0 || row.submittedAt !== scheduledAt) return { kind: 'early', leftMs };
    return Math.max(notBefore, row.submittedAt) < this.#confirmedAt ? { kind: 'doubtful' } : undefined;
  }

  #writesOf(fresh: readonly NewRow[]) {
    const counts: OrderCount[] = [];
    const uses: Use[] = [];
    const groups: (readonly string[])[] = [];
    const events: NewEvent[] = [];
    const day = dayOf(this.now);
    for (const begin of fresh) {
      const { name, details, budgets, told } = begin;
      const { order, caller } = details;
      const place = newPlace(details);
      const before = this.#known.get(name);
      const placeBefore = before && placeOf(before);
      if (placeBefore) counts.push({ ...placeBefore, state: before.state, amount: -1 });
      if (before?.state === 'scheduled')
        uses.push(
          { caller: before.caller, period: '', kind: 'scheduled', amount: -1 },
          { caller: before.caller, period: before.countedOn, kind: 'bytes', amount: -before.size },
        );
      uses.push({ caller, period: day, ...countedBytes(begin) });
      if (!place || !order) continue;
      groups.push(enterprisesOf(order));
      counts.push({ ...place, state: stateOf(begin), amount: 1 });
      if (told !== undefined) {
        uses.push({ caller, period: '', kind: 'scheduled', amount: 1 });
        const record = { name, state: 'scheduled', submittedAt: this.now, settledAt: null, details: told };
        events.push(orderEvent(record, this.now));
      }
      if (budgets) uses.push(...usesOf(caller, { month: this.#month, uses: budgets }, 1));
    }
    const replaced = fresh.map(({ name }) => name).filter((name) => this.#known.has(name));
    return [
      ...(replaced.length > 0 ? [DELETE_NAMED.with(wanted(replaced))] : []),
      INSERT.with({ begun: fresh.map((begin) => this.#columnsOf(begin, day)) }),
      ...useWrites(uses),
      ...addTasks(SCHEDULE, tasksOf(fresh)),
      raise('begun', fresh.length),
      ...eventWrites(events),
      ...groupWrites(groups),
      ...countWrites(counts),
    ];
  }

  #columnsOf(begin: NewRow, day: string) {
    const { name, owner, fingerprints, leaseMs, details, alias, budgets, sealed, scheduledAt } = begin;
    return {
      name,
      owner,
      fingerprint: fingerprints[0],
      caller: details.caller,
      // A scheduled order may have got its key from a repeat.
      alias: alias ?? (scheduledAt === undefined ? undefined : this.#known.get(name)?.alias),
      ...newPlace(details),
      state: stateOf(begin),
      notBefore: details.order?.notBefore,
      submittedAt: this.now,
      leaseUntil: this.now + leaseMs,
      ...(budgets?.length && { taken: JSON.stringify({ month: this.#month, uses: budgets }) }),
      countedOn: day,
      size: sealed.length,
      details: sealed,
    };
  }
}

/** Returns whether a record in that state gives way to another write of its name. `same` means that both have the same payload. */
export function givesWay(state: State, same: boolean): boolean {
  return released.includes(state) || (state === 'rejected' && !same);
}

/** Returns whether a write replaces that record of its own caller. Whether it replaces another's, only the opened record says. */
export function mayReplace(
  { state, fingerprint, caller }: WriteRow,
  { fingerprints, details }: Pick<Begin, 'fingerprints' | 'details'>,
): boolean {
  return caller === details.caller && givesWay(state, fingerprints.includes(fingerprint));
}

function stateOf({ notBefore }: Begin): State {
  return notBefore === undefined ? 'sending' : 'scheduled';
}

/** Sorts the tasks by name, as every transaction does, so that no two transactions wait for each other. */
function tasksOf(begins: readonly Begin[]): NewTask[] {
  return begins
    .flatMap(({ name, notBefore: dueAt }) => (dueAt === undefined ? [] : [{ name, dueAt }]))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function newPlace({ order }: Details): Place | undefined {
  return order && { channel: order.channelCode, enterpriseGroup: groupOf(enterprisesOf(order)) };
}
