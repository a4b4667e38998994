import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import type { Database } from '../database/database.ts';
import { readableParts } from '../database/bounded-reads.ts';
import { among, amongTexts, either, sql, type Sql } from '../database/sql.ts';
import { type LedgerRecord, states } from './ledger-record.ts';
import { namedRows, wanted, WRITE_FIELDS } from './named-row-store.ts';
import type { OrderQuery } from './write-steps.ts';
import type { WriteRow } from './write-rows.ts';

/** A number that is larger than every time in ms. */
const END_OF_TIME = 2 ** 52;
/** The most records that one read opens, which takes about half a millisecond. Then other requests get their turn. */
const MAX_READ = 50;

/** `WITHIN` finds the groups whose members are all among `enterprises`; `NAMING` finds those that contain `enterprise`. */
const WITHIN = sql`
  SELECT enterprise_group FROM order_groups
  WHERE platform = :platform AND ${amongTexts(sql`enterprise`, sql`:enterprises`)}
  GROUP BY enterprise_group, members HAVING count(*) = members`;
const NAMING = sql`
  SELECT enterprise_group FROM order_groups WHERE platform = :platform AND enterprise = :enterprise`;

/**
 * The statements of one kind of list. Its orders come in streams: those of a state in all channels, in one channel, or of one group in a channel.
 * A page reads only the newest orders of each stream, so its duration does not depend on the number of orders.
 */
interface Statements {
  readonly total: Sql;
  readonly totalBetween: Sql;
  readonly page: Sql;
  /** A page of scheduled orders, sorted by their time. They are few compared with all orders. */
  readonly pageByTime: Sql;
}

function statementsFor(streams: Sql, isIn: Sql): Statements {
  const listed = sql`
    SELECT enterprise_group, channel, state, orders FROM order_counts
    WHERE platform = :platform AND ${amongTexts(sql`state`, sql`:states`)} AND orders > 0 AND ${streams}`;
  const within = sql`
    writes.platform = :platform AND writes.channel IS NOT NULL AND writes.state = streams.state AND ${isIn}
    AND writes.submitted_at >= :from AND writes.submitted_at < :until`;
  // Both forms read only an index, and only the part of each stream that the page may need.
  const newest = sql`
    SELECT name, submitted_at FROM writes WHERE ${within} ORDER BY submitted_at DESC, name DESC LIMIT :most`;
  const found = either(
    sql`SELECT newest.name, newest.submitted_at FROM streams CROSS JOIN LATERAL (${newest}) AS newest`,
    sql`SELECT value ->> 0 AS name, value ->> 1 AS submitted_at FROM streams CROSS JOIN json_each((
      SELECT json_group_array(json_array(name, submitted_at)) FROM (${newest})))`,
  );
  return {
    total: sql`WITH streams AS (${listed}) SELECT CAST(coalesce(sum(orders), 0) AS bigint) AS total FROM streams`,
    totalBetween: sql`WITH streams AS (${listed})
      SELECT CAST(coalesce(sum((SELECT count(*) FROM writes WHERE ${within})), 0) AS bigint) AS total FROM streams`,
    page: sql`WITH streams AS (${listed}), page AS (
        SELECT name, submitted_at FROM (${found}) AS found ORDER BY submitted_at DESC, name DESC LIMIT :count OFFSET :offset)
      SELECT page.name AS name, page.submitted_at AS "submittedAt", (SELECT size FROM writes WHERE writes.platform = :platform AND writes.name = page.name) AS size
      FROM page ORDER BY page.submitted_at DESC, page.name DESC`,
    pageByTime: sql`WITH streams AS (${listed})
      SELECT name, submitted_at AS "submittedAt", size FROM writes
      WHERE writes.platform = :platform AND writes.state = 'scheduled' AND writes.submitted_at >= :from AND writes.submitted_at < :until
        AND EXISTS (SELECT 1 FROM streams WHERE ${isIn})
      ORDER BY not_before, name LIMIT :count OFFSET :offset`,
  };
}

const IN_CHANNELS = amongTexts(sql`channel`, sql`:channels`);
const IN_ALL = sql`1 = 1`;
const OF_CHANNEL = sql`writes.channel = streams.channel`;
const OF_GROUP = sql`writes.enterprise_group = streams.enterprise_group AND writes.channel = streams.channel`;
const IS_WITHIN = among(sql`enterprise_group`, WITHIN);
const IS_NAMING = among(sql`enterprise_group`, NAMING);

function ofGroups(groups: Sql) {
  return {
    allChannels: statementsFor(groups, OF_GROUP),
    someChannels: statementsFor(sql`${groups} AND ${IN_CHANNELS}`, OF_GROUP),
  };
}
/** The statements by the condition for enterprises, and then by that for channels. */
const STATEMENTS = {
  any: {
    allChannels: statementsFor(sql`enterprise_group = '' AND channel = ''`, IN_ALL),
    someChannels: statementsFor(sql`enterprise_group = '' AND ${IN_CHANNELS}`, OF_CHANNEL),
  },
  within: ofGroups(IS_WITHIN),
  naming: ofGroups(IS_NAMING),
  both: ofGroups(sql`${IS_NAMING} AND ${IS_WITHIN}`),
};

const RECORDS = namedRows(WRITE_FIELDS);

interface Found {
  readonly name: string;
  readonly submittedAt: number;
  readonly size: number;
}

/** Reads one page of orders: first their names, and then their records, in reads of a bounded size, each in a turn of its own. */
export class OrderListStore {
  constructor(private readonly database: Database) {}

  async page(
    query: OrderQuery,
    offset: number,
    count: number,
    opened: (row: WriteRow) => LedgerRecord | undefined,
    found: (record: LedgerRecord) => void,
    abandon?: AbortSignal,
  ): Promise<number> {
    const { total: all, totalBetween, page, pageByTime } = statementsOf(query);
    const parameters = parametersOf(query);
    const isBetween = query.from !== undefined || query.until !== undefined;
    const read = <R>(statement: Sql, more: object = {}) => {
      if (abandon?.aborted) throw new DatabaseUnavailable('abandoned');
      return this.database.read<R>(statement.with({ ...parameters, ...more }));
    };
    const [counted] = await read<{ total: number }>(isBetween ? totalBetween : all);
    const total = counted?.total ?? 0;
    const part = query.byTime ? { offset, count } : { most: offset + count, offset, count };
    const listed = offset < total ? await read<Found>(query.byTime ? pageByTime : page, part) : [];
    const { states: inStates = states } = query;
    // An order that changes between the two reads may no longer belong to the list. Another order may have its number, for other enterprises.
    let left = 0;
    for (const readable of readableParts(listed, MAX_READ)) {
      const names = readable.map(({ name }) => name);
      const rows = await read<WriteRow>(RECORDS, wanted(names));
      const byName = new Map(rows.map((row) => [row.name, row]));
      for (const { name, submittedAt } of readable) {
        const row = byName.get(name);
        const isSame = row?.submittedAt === submittedAt;
        const record = isSame ? opened(row) : undefined;
        if (!isSame || (record && !inStates.includes(record.state))) left += 1;
        else if (record) found(record);
      }
      await nextTurn();
    }
    return total - left;
  }
}

function statementsOf({ channels, within, enterprise }: OrderQuery): Statements {
  const isNaming = enterprise !== undefined;
  const by = within ? (isNaming ? 'both' : 'within') : isNaming ? 'naming' : 'any';
  return STATEMENTS[by][channels ? 'someChannels' : 'allChannels'];
}

function parametersOf(query: OrderQuery) {
  const { channels, within, enterprise, from = 0, until = END_OF_TIME } = query;
  return {
    states: query.states ?? states,
    channels: [...(channels ?? [])],
    enterprises: enterprisesIn(within),
    enterprise: enterprise ?? '',
    from,
    until,
  };
}

/** Leaves out '', which stands for an item without an enterprise: nobody is granted the orders with such an item. */
export function enterprisesIn(granted: ReadonlySet<string> = new Set()): string[] {
  return [...granted].filter((each) => each !== '');
}
