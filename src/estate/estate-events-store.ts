import { Injectable } from '@nestjs/common';
import { firstBytes } from '../database/bounded-reads.ts';
import { Database } from '../database/database.ts';
import { rowsAs } from '../database/engine.ts';
import { SealedTexts } from '../database/sealed-texts.ts';
import {
  amongTexts,
  type Columns,
  columnNames,
  either,
  fields,
  NOW,
  type Query,
  rows,
  type Sql,
  sql,
} from '../database/sql.ts';
import type { Step } from '../database/step.ts';
import { eventWrites, type NewEvent } from '../events/log/event-store.ts';
import type { LoggedMove } from '../events/log/move-log.ts';
import type { EstateRowDto } from './estate.dto.ts';
import { toRow } from './estate.mapper.ts';
import { type EstateChange, NOTES_KEPT_MS } from './estate-changes.ts';
import { type EstateRow, estateRows } from './estate-row.ts';
import { keysOf, openAsset } from './sealed-assets.ts';

const DAY_MS = 86_400_000;
/** A row makes an event at each of these numbers of days before its end. */
const DISTANCES = [60, 30, 7, 1];
/** The longest delay of an event. An event is later only if no gateway searched for endings in that time. */
const LATE_MS = DAY_MS;
const MAX_TOLD = 100;

const LATER = either(
  sql`GREATEST(estate_written.until_at, excluded.until_at)`,
  sql`max(estate_written.until_at, excluded.until_at)`,
);
const NOTE = sql`
  INSERT INTO estate_written (platform, key, until_at)
  SELECT CAST(:platform AS text), key, ${NOW} + for_ms FROM ${rows('noted', { key: 'text', forMs: 'bigint' })} WHERE true ORDER BY key
  ON CONFLICT (platform, key) DO UPDATE SET until_at = ${LATER}`;
const WRITTEN = sql`
  SELECT key, until_at AS "until" FROM estate_written
  WHERE platform = :platform AND ${amongTexts(sql`key`, sql`:keys`)}`;
/** Both the clock of the database and that of this process count: one that is ahead for a while must not delete what is still needed. */
const FORGET_WRITTEN = sql`DELETE FROM estate_written WHERE platform = :platform AND until_at < (SELECT ${NOW}) - :keptMs AND until_at < :now - :keptMs`;
const FORGET_TOLD = sql`DELETE FROM estate_told WHERE platform = :platform AND ends_at < (SELECT ${NOW}) AND ends_at < :now`;

/** Notes the hashed ids that writes through the gateway named, each with the ms in which its write may act: such changes make no events. */
export const noteWrites: Step<ReadonlyMap<string, number>, undefined> = {
  name: 'note writes for the estate',
  repeatable: true,
  decide: ([named]) => ({
    writes: [NOTE.with({ noted: [...named].map(([key, forMs]) => ({ key, forMs })) })],
  }),
};

interface NotedWrite {
  readonly key: string;
  /** The time until which the write may be carried out, in ms since the epoch. */
  readonly until: number;
}

/** Reads the noted writes that named one of these ids. */
export function writtenOf(texts: SealedTexts, ids: readonly string[]): Query {
  const keys = new Set(ids.flatMap((id) => keysOf(texts, id)));
  return WRITTEN.with({ keys: [...keys] });
}

/**
 * Returns a function that tells until when the last of these writes that named an id may be carried out. Its process may have hashed the id under
 * a former first key.
 */
export function untilIn(texts: SealedTexts, found: readonly object[] | undefined): (id: string) => number {
  const written = new Map(rowsAs<NotedWrite>(found).map(({ key, until }) => [key, until]));
  return (id) => Math.max(...keysOf(texts, id).map((key) => written.get(key) ?? -Infinity));
}

/** Returns the events of these changes, without the changes that a write through the gateway made. `found` has the noted writes. */
export function eventsOf(
  texts: SealedTexts,
  changes: readonly EstateChange[],
  found: readonly object[] | undefined,
  now: number,
): NewEvent[] {
  const untilOf = untilIn(texts, found);
  return changes
    .filter(({ ids, since }) => ids.every((id) => untilOf(id) <= since))
    .map(({ what, row }) => eventOf(texts, what, row, now));
}

function eventOf(texts: SealedTexts, state: string, row: EstateRow, at: number): NewEvent {
  // Both ids are percent-encoded, so that a `/` in one of them does not name another asset.
  const name = [row.enterpriseGlobalId, row.asset.assetId]
    .map((id) => encodeURIComponent(id.toWellFormed()))
    .join('/');
  const record = texts.seal(JSON.stringify(toRow(row)), `estate event ${name}`);
  return { kind: 'estate', name, state, at, record };
}

const DISTANCE = rows('distances', { days: 'bigint', fromMs: 'bigint', untilMs: 'bigint' });
const distancesBy = (lateMs: number) =>
  DISTANCES.map((days) => ({
    days,
    fromMs: days * DAY_MS - Math.min(lateMs, days * DAY_MS),
    untilMs: days * DAY_MS,
  }));
const TOLD: Columns = {
  enterprise: 'text',
  assetId: 'text',
  rowKey: 'text',
  endsAt: 'bigint',
  days: 'bigint',
};
const IS_ENDING = sql`
  own.ends_at > (SELECT ${NOW}) + distances.from_ms AND own.ends_at <= (SELECT ${NOW}) + distances.until_ms`;
/**
 * Finds the rows that meet the condition and are at one of the distances from their end. The clock is read once, in a SELECT of its own, and
 * PostgreSQL looks each distance up alone (`OFFSET 0`). So the index of the ends is used, and the other rows are not read.
 */
function endings(condition: Sql): Sql {
  return either(
    sql`FROM ${DISTANCE} CROSS JOIN LATERAL (
      SELECT * FROM estate_rows AS own WHERE own.platform = :platform AND ${condition} AND ${IS_ENDING} OFFSET 0) AS own WHERE true`,
    sql`FROM ${DISTANCE} CROSS JOIN estate_rows AS own WHERE own.platform = :platform AND ${condition} AND ${IS_ENDING}`,
  );
}
/** The columns of an ending, in the order in which endings are looked at. */
const ENDING = sql`own.enterprise, own.asset_id, own.row_key, own.ends_at, distances.days`;
const LAST = sql`CAST(:enterprise AS text), CAST(:assetId AS text), CAST(:rowKey AS text), CAST(:endsAt AS bigint), CAST(:days AS bigint)`;
/**
 * Finds the first endings after the last one that have no event yet. The event of an asset without products also counts for the products that
 * replace its row.
 */
const DUE = sql`
  SELECT ${ENDING} ${endings(sql`own.in_use = 1`)}
    AND (${ENDING}) > (${LAST})
    AND NOT EXISTS (SELECT 1 FROM estate_told AS told WHERE told.platform = :platform AND told.enterprise = own.enterprise
      AND told.asset_id = own.asset_id AND told.row_key IN (own.row_key, '') AND told.ends_at = own.ends_at AND told.days = distances.days)
    AND EXISTS (SELECT 1 FROM estate_enterprises AS one
      WHERE one.platform = :platform AND one.enterprise = own.enterprise AND one.seen_at IS NOT NULL)
  ORDER BY ${ENDING} LIMIT :most`;
const OF_DUE = sql`
  FROM estate_assets AS asset WHERE asset.platform = :platform AND asset.enterprise = due.enterprise AND asset.asset_id = due.asset_id`;
/** The first due rows with the details of their assets, as many as one read may return. */
const FIRST_DUE = sql`
  SELECT ${fields(TOLD)}, (SELECT details ${OF_DUE}) AS details
  FROM ${firstBytes(
    sql`SELECT due.*, (SELECT octet_length(details) ${OF_DUE}) AS size FROM (${DUE}) AS due`,
    columnNames(TOLD),
  )} AS due ORDER BY ${columnNames(TOLD)}`;
// If another process has told one of these rows, the step runs again.
const TELL = sql`
  INSERT INTO estate_told (platform, ${columnNames(TOLD)})
  SELECT CAST(:platform AS text), ${columnNames(TOLD)} FROM ${rows('told', TOLD)} ORDER BY ${columnNames(TOLD)}`;
const TELL_NOBODY = sql`
  INSERT INTO estate_told (platform, ${columnNames(TOLD)})
  SELECT own.platform, own.enterprise, own.asset_id, own.row_key, own.ends_at, distances.days ${endings(sql`own.enterprise = :enterprise`)}
  ORDER BY own.asset_id, own.row_key, own.ends_at, distances.days
  ON CONFLICT DO NOTHING`;

/** Marks the endings of an enterprise as told, however late their events are. Runs at the end of its first reading, which makes no events. */
export function tellNobody(enterprise: string): Query {
  return TELL_NOBODY.with({ enterprise, distances: distancesBy(Infinity) });
}

type Ending = { enterprise: string; assetId: string; rowKey: string; endsAt: number; days: number };
/** The telling starts here: no ending comes before it. */
const BEFORE_ALL: Ending = { enterprise: '', assetId: '', rowKey: '', endsAt: 0, days: 0 };

interface Telling {
  /** The longest delay that an event may have. */
  readonly lateMs: number;
  /** The last ending that was looked at. */
  readonly after: Ending;
}

/** Makes the events of the next endings. Resolves to the last ending that it looked at; undefined: there is none after `after`. */
const tellEndings = (texts: SealedTexts): Step<Telling, Ending | undefined> => ({
  name: 'tell endings of the estate',
  pastLoss: true,
  look: ([{ lateMs, after }]) => [
    FIRST_DUE.with({ ...after, distances: distancesBy(lateMs), most: MAX_TOLD }),
  ],
  decide: (_, [found], now) => {
    const due = rowsAs<Ending & { details: string }>(found);
    // The end of an asset that cannot be opened is told when the asset was read again.
    const opened = due.flatMap(({ details, ...each }) => {
      const held = openAsset(texts, each.enterprise, details);
      return held ? [{ each, held }] : [];
    });
    // An end that has come near at several distances is told once.
    const ends = new Map(
      opened.map((one) => [JSON.stringify([one.each.enterprise, one.each.assetId, one.each.rowKey]), one]),
    );
    const events = [...ends.values()].flatMap(({ each: { enterprise, rowKey }, held }) => {
      const row = estateRows(enterprise, held).find((one) => one.rowKey === rowKey);
      return row ? [eventOf(texts, 'ending', row, now)] : [];
    });
    const told = opened.map(({ each }) => each);
    return {
      writes: [...(told.length > 0 ? [TELL.with({ told })] : []), ...eventWrites(events)],
      results: () => [due.at(-1)],
    };
  },
});
const TOLD_AT = sql`SELECT told_at AS "toldAt" FROM estate_turns WHERE platform = :platform`;
const OLDER = sql`
  SELECT enterprise FROM estate_enterprises
  WHERE platform = :platform AND state IN ('whole', 'assets-only') AND seen_at < :toldAt LIMIT 1`;
const NOTE_TOLD = sql`
  INSERT INTO estate_turns (platform, next_at, version, told_at) VALUES (:platform, 0, 0, ${NOW})
  ON CONFLICT (platform) DO UPDATE SET told_at = ${NOW}`;
/** Ends a telling. The input is the time of this process: nothing is deleted that one of the two clocks still needs. */
const END_TELLING: Step<number, undefined> = {
  name: 'end the telling of the estate',
  repeatable: true,
  decide: (times) => {
    const now = Math.min(...times);
    return {
      writes: [
        NOTE_TOLD.with(),
        FORGET_WRITTEN.with({ keptMs: NOTES_KEPT_MS, now }),
        FORGET_TOLD.with({ now }),
      ],
    };
  },
};

/** Makes the events of endings, and opens the events of the estate. */
@Injectable()
export class EstateEvents {
  readonly #tellEndings: Step<Telling, Ending | undefined>;

  constructor(
    private readonly database: Database,
    private readonly texts: SealedTexts,
  ) {
    this.#tellEndings = tellEndings(texts);
  }

  /**
   * Makes the events of rows that end 60, 30, 7 and 1 days from now, and those that became due since the last call. If no gateway ran for more
   * than a day, it waits until the enterprises were read again, a day at most, because ends may have changed.
   */
  async tellEndings(): Promise<void> {
    const [last] = await this.database.read<{ toldAt: number | null }>(TOLD_AT.with());
    const toldAt = last?.toldAt ?? Infinity;
    const lateMs = Math.max(LATE_MS, Date.now() - toldAt);
    const mayWait = lateMs > LATE_MS && performance.now() < DAY_MS;
    if (mayWait && (await this.database.read(OLDER.with({ toldAt }))).length > 0) return;
    let after: Ending | undefined = BEFORE_ALL;
    // An ending whose asset cannot be opened stays without an event, and must not keep back the endings after it.
    while (after) after = await this.database.step(this.#tellEndings, { lateMs, after });
    await this.database.step(END_TELLING, Date.now());
  }

  /** Returns the row of an event; undefined where no key of the gateway opens it. */
  rowIn({ name, record }: LoggedMove): EstateRowDto | undefined {
    const text = this.texts.open(String(record), `estate event ${name}`);
    return text === undefined ? undefined : (JSON.parse(text) as EstateRowDto);
  }
}
