import { Injectable } from '@nestjs/common';
import { MAX_READ_BYTES } from '../../database/bounded-reads.ts';
import { Database } from '../../database/database.ts';
import { rowsAs } from '../../database/engine.ts';
import { amongTexts, type Columns, columnNames, either, type Query, rows, sql } from '../../database/sql.ts';
import { NUMBER, raise, type Step } from '../../database/step.ts';
import {
  type LoggedMove,
  MAX_MOVES,
  type Moves,
  MOVES_KEPT_MS,
  MovesDropped,
  type WantedMove,
} from './move-log.ts';

/** The most events that one transaction deletes. */
const MAX_DROPPED = 1_000;
/** An event that the step which moves a record adds. */
export interface NewEvent {
  readonly kind: LoggedMove['of'];
  readonly name: string;
  readonly state: string;
  /** The time in ms, by the clock of the database. */
  readonly at: number;
  /** The record after the move, as its own store keeps it: sealed. */
  readonly record: string;
}

const EVENT: Columns = {
  ...{ kind: 'text', name: 'text', state: 'text', at: 'bigint', size: 'bigint', record: 'text' },
};
const INSERT = sql`
  INSERT INTO events (platform, number, ${columnNames(EVENT)})
  SELECT CAST(:platform AS text), ${NUMBER} - place, ${columnNames(EVENT)} FROM ${rows('events', { ...EVENT, place: 'bigint' })}`;

/**
 * The writes that a step adds for the records that it moves. Each event takes the next number of the feed in the transaction of its move. The
 * row of that number stays locked until the commit, so numbers have the order of the commits.
 */
export function eventWrites(events: readonly NewEvent[]): Query[] {
  if (events.length === 0) return [];
  const placed = events.map((event, at) => ({
    ...event,
    size: Buffer.byteLength(event.record),
    place: events.length - 1 - at,
  }));
  return [raise('feed', events.length), INSERT.with({ events: placed, number: 'feed' })];
}

const NEWEST = sql`SELECT value AS newest FROM numbers WHERE platform = :platform AND name = 'feed'`;
/** Finds the newest number, the number before the oldest event, and the number before the first event after a cursor. */
const ENDS = sql`
  SELECT value AS newest,
    coalesce((SELECT number FROM events WHERE platform = :platform ORDER BY number LIMIT 1) - 1, value) AS dropped,
    coalesce((SELECT number FROM events WHERE platform = :platform AND number > :after ORDER BY number LIMIT 1) - 1, value) AS passed
  FROM numbers WHERE platform = :platform AND name = 'feed'`;
const WANTED = sql`(CAST(:all AS bigint) = 1 OR ${amongTexts(sql`kind || ':' || state`, sql`:wanted`)})`;
/** The event of each number of `summed`. PostgreSQL looks each up alone: a plan that it made for a small table may read all events otherwise. */
const JOIN_EVENTS = either(
  sql`CROSS JOIN LATERAL (SELECT * FROM events WHERE events.platform = :platform AND events.number = summed.number LIMIT 1) AS events`,
  sql`JOIN events ON events.platform = :platform AND events.number = summed.number`,
);
/** Adds up the sizes before it reads records, so a record that does not fit is not read from the disk. */
const AFTER = sql`
  WITH looked AS (
    SELECT number, CASE WHEN ${WANTED} THEN size END AS wanted_size FROM events
    WHERE platform = :platform AND number > :after ORDER BY number LIMIT :count),
  summed AS (
    SELECT number, wanted_size, coalesce(sum(wanted_size) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
    FROM looked)
  SELECT summed.number AS number, CASE WHEN wanted_size IS NULL THEN 0 WHEN before < :bytes THEN 1 ELSE 2 END AS found,
    kind, name, state, at, CASE WHEN wanted_size IS NOT NULL AND before < :bytes THEN record END AS record
  FROM summed ${JOIN_EVENTS} ORDER BY summed.number`;
const ONE = sql`
  SELECT number, kind, name, state, at, record FROM events WHERE platform = :platform AND number = :number`;
/** Looks each event up by its number, and adds up the sizes before it reads records, as {@link AFTER} does. */
const SEVERAL = sql`
  WITH looked AS (
    SELECT number, (SELECT size FROM events WHERE events.platform = :platform AND events.number = asked.number) AS size
    FROM ${rows('asked', { number: 'bigint' })}),
  summed AS (
    SELECT number, coalesce(sum(size) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
    FROM looked)
  SELECT summed.number AS number, kind, name, state, at, record
  FROM summed ${JOIN_EVENTS} WHERE before < :bytes ORDER BY summed.number`;

const OLDEST = sql`
  SELECT number, at, (SELECT value FROM numbers WHERE platform = :platform AND name = 'feed') AS newest
  FROM events WHERE platform = :platform ORDER BY number LIMIT :most`;
const DROP = sql`DELETE FROM events WHERE platform = :platform AND number <= :last`;

interface EventRow {
  readonly number: number;
  readonly kind: LoggedMove['of'];
  readonly name: string;
  readonly state: string;
  readonly at: number;
  readonly record: string;
}
/** `found`: 0 if the reader does not want the event, 1 if its record was read, 2 if the record does not fit into this read. */
interface FoundRow extends EventRow {
  readonly found: 0 | 1 | 2;
}

/** Deletes events that are too old by both clocks, or too many, and returns their number. */
const trim: Step<{ readonly gatewayNow: number }, number> = {
  name: 'drop events',
  look: () => [OLDEST.with({ most: MAX_DROPPED })],
  decide: ([{ gatewayNow }], [found], now) => {
    type Row = { readonly number: number; readonly at: number; readonly newest: number };
    const oldest = rowsAs<Row>(found);
    const since = Math.min(gatewayNow, now) - MOVES_KEPT_MS;
    const isKept = ({ number, at, newest }: Row) => at >= since && number > newest - MAX_MOVES;
    // An event with a time to come says nothing about the events after it: the clock was ahead when it was recorded.
    const latest = Math.max(gatewayNow, now);
    const kept = oldest.findIndex((row) => isKept(row) && row.at <= latest);
    const before = oldest.slice(0, kept < 0 ? undefined : kept);
    const dropped = before.slice(0, before.findLastIndex((row) => !isKept(row)) + 1);
    const last = dropped.at(-1)?.number;
    return {
      writes: last === undefined ? [] : [DROP.with({ last })],
      results: () => [dropped.length],
    };
  },
};

/**
 * The events of all moves of orders, ends of jobs and changes of the estate, in the order in which they were made. The step that makes a move
 * writes its event, so neither exists without the other. Events that are older than {@link MOVES_KEPT_MS}, or more than {@link MAX_MOVES}, are
 * dropped, the oldest first.
 */
@Injectable()
export class EventStore {
  constructor(private readonly database: Database) {}

  /**
   * Reads through `count` moves after the cursor `after`; without a cursor it begins with the oldest move that is kept. `wanted` selects moves;
   * without it the result has all. Rejects with {@link MovesDropped} if moves after the cursor were deleted.
   */
  async read(after: string | undefined, count: number, wanted: readonly WantedMove[] = []): Promise<Moves> {
    const from = after === undefined ? -1 : numberOf(after);
    const parameters = {
      after: from,
      count,
      all: wanted.length === 0 ? 1 : 0,
      wanted,
      bytes: MAX_READ_BYTES,
    };
    const looked = await this.database.read<FoundRow>(AFTER.with(parameters));
    if (after !== undefined) await this.#assertKept(from, looked[0]?.number);
    const cut = looked.findIndex(({ found }) => found === 2);
    const read = cut < 0 ? looked : looked.slice(0, cut);
    const last = read.at(-1);
    return {
      found: read.filter(({ found }) => found === 1).map(moveIn),
      last: last && cursorOf(last.number),
      isEnd: cut < 0 && looked.length < count,
    };
  }

  /** Returns one move; undefined if it is not kept any more. */
  async one(id: string): Promise<LoggedMove | undefined> {
    const query = ONE.with({ number: numberOf(id) });
    const [row] = await this.database.read<EventRow>(query);
    return row && moveIn(row);
  }

  /** Reads these moves in parts, the oldest first, without those that are not kept any more. */
  async *several(ids: readonly string[]): AsyncGenerator<LoggedMove> {
    let left = ids.map(numberOf);
    while (left.length > 0) {
      const asked = left.map((number) => ({ number }));
      const found = await this.database.read<EventRow>(SEVERAL.with({ asked, bytes: MAX_READ_BYTES }));
      yield* found.map(moveIn);
      const last = found.at(-1)?.number ?? Infinity;
      left = left.filter((number) => number > last);
    }
  }

  /** Returns the cursor of the newest move; if there was none, the cursor before the first. */
  async newest(): Promise<string> {
    const [found] = await this.database.read<{ readonly newest: number }>(NEWEST.with());
    return cursorOf(found?.newest ?? 0);
  }

  async trim(gatewayNow = Date.now()): Promise<void> {
    while ((await this.database.step(trim, { gatewayNow })) === MAX_DROPPED);
  }

  /**
   * The event after a cursor has the next number, unless events were deleted, or the database has lost them. A cursor beyond the newest number
   * comes from another database.
   */
  async #assertKept(after: number, next: number | undefined): Promise<void> {
    if (next === after + 1) return;
    if (next !== undefined) throw new MovesDropped(cursorOf(next - 1));
    type Ends = { readonly newest: number; readonly dropped: number; readonly passed: number };
    const [ends] = await this.database.read<Ends>(ENDS.with({ after }));
    const { newest, dropped, passed } = ends ?? { newest: 0, dropped: 0, passed: 0 };
    if (after > newest) throw new MovesDropped(cursorOf(dropped));
    if (after < passed) throw new MovesDropped(cursorOf(passed));
  }
}

/** The cursor of an event: its number, so that later ones are greater as text. */
function cursorOf(number: number): string {
  return String(number).padStart(15, '0');
}

function numberOf(cursor: string): number {
  return Number(cursor);
}

function moveIn({ number, kind, name, state, at, record }: EventRow): LoggedMove {
  return { id: cursorOf(number), at, of: kind, name, state, record };
}
