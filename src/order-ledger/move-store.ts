import { MAX_READ_BYTES } from '../database/bounded-reads.ts';
import { rowsAs } from '../database/engine.ts';
import { among, either, NOW, rows, sql } from '../database/sql.ts';
import type { Decision, Step } from '../database/step.ts';
import { eventWrites, type NewEvent } from '../events/log/event-store.ts';
import { isOrder, keptFor, released, SOUGHT, transitions, UNDONE } from './ledger-record.ts';
import {
  DELETE_NAMED,
  FIELDS_BUT_DETAILS,
  lockedRows,
  namedRows,
  updatedRows,
  wanted,
  WRITE_FIELDS,
} from './named-row-store.ts';
import { countWrites, type OrderCount } from './order-counts-store.ts';
import type { Move } from './write-steps.ts';
import { SEARCH } from './search-store.ts';
import { addTasks } from '../tasks/task-store.ts';
import { freeNumbers, type FreedOrder, lockNumbers } from '../tenancy/state/reservation-store.ts';
import {
  type CounterOfBytes,
  forgottenUses,
  keyedBytes,
  type Taken,
  type Use,
  usesOf,
  useWrites,
} from '../budgets/state/use-store.ts';
import { type KeptRecord, orderEvent, placeOf, type WriteRow } from './write-rows.ts';

/** The most leases that one sweep ends, and the most records that one transaction deletes. */
export const MAX_ENDED = 64;
export const MAX_FORGOTTEN = 1_000;

export interface MoveOfRow extends Omit<Move, 'details'> {
  /** Sealed details that replace the stored ones; undefined: the stored ones stay. */
  readonly sealed?: string | undefined;
  /** The caller whose reserved numbers the move may free. */
  readonly frees?: string | undefined;
  /** The time by the gateway's clock. A record is deleted when its time is over by this clock and by the database's. */
  readonly gatewayNow: number;
}

export type MovedRow =
  | { readonly kind: 'moved'; readonly record: KeptRecord }
  | { readonly kind: 'refused' }
  | { readonly kind: 'early'; readonly leftMs: number }
  | { readonly kind: 'missing' };

const MOVING = lockedRows(FIELDS_BUT_DETAILS);
const DETAILS = namedRows(sql`name, details`);
const IN_MOVES = rows('moves', {
  ...{ name: 'text', state: 'text', settledAt: 'bigint', endsAt: 'bigint' },
  ...{ taken: 'text', size: 'bigint', details: 'text' },
});
const UPDATE = updatedRows(
  sql`state = moves.state, settled_at = moves.settled_at, ends_at = moves.ends_at, taken = moves.taken,
    size = moves.size, details = coalesce(moves.details, writes.details)`,
  IN_MOVES,
);

function moveStep(isGuarded: boolean): Step<MoveOfRow, MovedRow> {
  return {
    name: 'move writes',
    key: ({ name }) => name,
    bytes: ({ sealed }) => 2 * (sealed?.length ?? 0),
    ...(isGuarded ? { guarded: true } : { pastLoss: true }),
    look: (moves) => {
      const callers = new Set(moves.flatMap(({ frees }) => frees ?? []));
      const unsealed = unsealedIn(moves);
      return [
        MOVING.with(wanted(moves.map(({ name }) => name))),
        ...[...callers].toSorted().map(lockNumbers),
        ...(unsealed.length > 0 ? [DETAILS.with(wanted(unsealed))] : []),
      ];
    },
    decide: (moves, looked, now) => {
      const [found] = looked;
      const details = unsealedIn(moves).length > 0 ? looked.at(-1) : undefined;
      const there = new Map(rowsAs<WriteRow>(found).map((row) => [row.name, row]));
      const stored = new Map(details?.map((row) => [row['name'], String(row['details'])]));
      const made = new Moving(now);
      const results = moves.map((move): MovedRow => {
        const row = there.get(move.name);
        if (!row) return { kind: 'missing' };
        const sealed = move.sealed ?? stored.get(move.name) ?? '';
        return verdictOf(move, row, now) ?? { kind: 'moved', record: made.add(row, move, sealed) };
      });
      return made.decision(results);
    },
  };
}

/** Returns the names of the moves that leave the stored details as they are. */
function unsealedIn(moves: readonly MoveOfRow[]): string[] {
  return moves.filter(({ sealed }) => sealed === undefined).map(({ name }) => name);
}

/** Records the result that the sender of a write knows, even where the database has lost other writes. */
export const moveOwn = moveStep(false);
export const moveWrites = moveStep(true);

/** Returns why the move is not made; undefined where it is. */
function verdictOf(move: MoveOfRow, row: WriteRow, now: number): MovedRow | undefined {
  const { by, to, from, owner, minAgeMs = 0, gatewayNow } = move;
  const isKnown =
    (from ?? row.state) === row.state && (move.submittedAt ?? row.submittedAt) === row.submittedAt;
  const isAllowed = isKnown && transitions[by][row.state]?.includes(to);
  const isItsOwn = owner === undefined || owner === row.owner;
  const isOver = by !== 'lease' || row.leaseUntil <= now;
  if (!isAllowed || !isItsOwn || !isOver) return { kind: 'refused' };
  // Without a minimum age no move is early, because the clock may have stepped back since the write began.
  const leftMs = Math.max(row.submittedAt, row.notBefore ?? 0) + minAgeMs - Math.min(now, gatewayNow);
  return minAgeMs > 0 && leftMs > 0 ? { kind: 'early', leftMs } : undefined;
}

/** Collects the moves of one transaction, with the budgets, counts, tasks and events that they change. */
class Moving {
  readonly #updated: object[] = [];
  readonly #removed: string[] = [];
  readonly #sought: string[] = [];
  readonly #events: NewEvent[] = [];
  readonly #uses: Use[] = [];
  readonly #counts: OrderCount[] = [];
  readonly #freed: FreedOrder[] = [];

  constructor(private readonly now: number) {}

  /** Returns the record after the move. */
  add(
    row: WriteRow,
    { to, sealed, gatewayNow }: Pick<MoveOfRow, 'to' | 'sealed' | 'gatewayNow'>,
    details: string,
  ): KeptRecord {
    const { name, caller, submittedAt } = row;
    const place = placeOf(row);
    const taken = row.taken === null ? undefined : (JSON.parse(row.taken) as Taken);
    const settledAt = to === 'in_doubt' ? null : this.now;
    const record: KeptRecord = { name, state: to, submittedAt, settledAt, details };
    if (!place && released.includes(to)) {
      // A write that is no order and changed nothing leaves no record.
      this.#removed.push(name);
      const amount = -keyedBytes(row.size);
      this.#uses.push({ caller, period: row.countedOn, kind: 'keyed-bytes', amount });
      return record;
    }
    const isBack = taken !== undefined && UNDONE.has(to);
    if (isBack) this.#uses.push(...usesOf(caller, taken, -1));
    const keptMs = keptFor(to, isOrder(name));
    const size = sealed?.length ?? row.size;
    this.#updated.push({
      ...{ name, state: to, settledAt, size, details: sealed, taken: isBack ? null : row.taken },
      ...(keptMs !== undefined && { endsAt: Math.max(this.now, gatewayNow) + keptMs }),
    });
    const kind: CounterOfBytes = place ? 'bytes' : 'keyed-bytes';
    this.#uses.push({ caller, period: row.countedOn, kind, amount: size - row.size });
    if (!place) return record;
    this.#counts.push({ ...place, state: row.state, amount: -1 }, { ...place, state: to, amount: 1 });
    if (SOUGHT.has(to)) this.#sought.push(name);
    if (UNDONE.has(to)) this.#freed.push({ caller, orderName: name });
    const scheduled = Number(to === 'scheduled') - Number(row.state === 'scheduled');
    if (scheduled !== 0) this.#uses.push({ caller, period: '', kind: 'scheduled', amount: scheduled });
    // An order that goes back to wait was told when it was accepted: many that wait for the platform would fill the feed with their attempts.
    if (to === 'scheduled') return record;
    this.#events.push(orderEvent(record, this.now));
    return record;
  }

  decision<T>(results: readonly T[]): Decision<T> {
    return {
      writes: [
        ...freeNumbers(this.#freed),
        ...(this.#updated.length > 0 ? [UPDATE.with({ moves: this.#updated })] : []),
        ...(this.#removed.length > 0 ? [DELETE_NAMED.with(wanted(this.#removed))] : []),
        ...useWrites(this.#uses),
        ...addTasks(SEARCH, this.#sought.toSorted()),
        ...eventWrites(this.#events),
        ...countWrites(this.#counts),
      ],
      results: () => results,
    };
  }
}

/** The writes whose lease has ended, the oldest first, as many as one transaction should carry. */
const OVERDUE = sql`
  SELECT name FROM (
    SELECT name, sum(size) OVER (ORDER BY lease_until, name ROWS UNBOUNDED PRECEDING) - size AS before FROM (
      SELECT name, size, lease_until FROM writes
      WHERE platform = :platform AND state = 'sending' AND lease_until <= (SELECT ${NOW})
      ORDER BY lease_until, name LIMIT :most) AS ended) AS summed
  WHERE before < :bytes`;
const SKIP_LOCKED = either(sql`FOR UPDATE SKIP LOCKED`, sql``);
const ENDED = sql`
  SELECT ${WRITE_FIELDS} FROM writes
  WHERE platform = :platform AND state = 'sending' AND lease_until <= (SELECT ${NOW}) AND ${among(sql`name`, OVERDUE)}
  ORDER BY name ${SKIP_LOCKED}`;

/** Moves writes whose lease has ended to `in_doubt`, and returns their names. */
export const endLeases: Step<{ readonly gatewayNow: number }, readonly string[]> = {
  name: 'end leases',
  guarded: true,
  look: () => [ENDED.with({ most: MAX_ENDED, bytes: MAX_READ_BYTES })],
  decide: ([input], [found], now) => {
    const ended = rowsAs<WriteRow>(found);
    const moving = new Moving(now);
    for (const row of ended) moving.add(row, { ...input, to: 'in_doubt' }, row.details);
    return moving.decision([ended.map(({ name }) => name)]);
  },
};

const OLD = sql`
  SELECT ${FIELDS_BUT_DETAILS} FROM writes
  WHERE platform = :platform AND ends_at IS NOT NULL AND ends_at <= :gatewayNow AND ends_at <= (SELECT ${NOW})
  ORDER BY ends_at LIMIT :most ${SKIP_LOCKED}`;

/** Deletes records and counters that have expired by both clocks. Returns the number of records. */
export const forgetWrites: Step<{ readonly gatewayNow: number }, number> = {
  name: 'forget writes',
  guarded: true,
  look: ([input]) => [OLD.with({ most: MAX_FORGOTTEN, gatewayNow: input.gatewayNow })],
  decide: ([{ gatewayNow }], [found], now) => {
    const over = rowsAs<WriteRow>(found);
    const counts: OrderCount[] = [];
    for (const row of over) {
      const place = placeOf(row);
      if (place) counts.push({ ...place, state: row.state, amount: -1 });
    }
    const deletion = DELETE_NAMED.with(wanted(over.map(({ name }) => name)));
    return {
      writes: [
        forgottenUses(Math.min(gatewayNow, now)),
        ...(over.length > 0 ? [deletion, ...countWrites(counts)] : []),
      ],
      results: () => [over.length],
    };
  },
};
