import { type Columns, columnNames, type Query, rows, sql } from '../database/sql.ts';
import { sha256 } from '../redis/key-names.ts';
import { summed } from '../shared/summed.ts';

/**
 * Where an order is counted and listed: in its channel, and in its group there. A group is the set of enterprises that the items of an order name.
 * Each order is in one group, and a caller may see all orders of a group or none.
 */
export interface Place {
  readonly channel: string;
  readonly enterpriseGroup: string;
}

/** Returns `=` and the one enterprise, or `+` and a hash of several, so that the id of an enterprise is never the name of another group. */
export function groupOf(enterprises: readonly string[]): string {
  return enterprises.length === 1
    ? `=${enterprises[0]}`
    : `+${sha256(JSON.stringify(enterprises)).slice(0, 32)}`;
}

/** A change of the number of orders in a state. */
export interface OrderCount extends Place {
  readonly state: string;
  readonly amount: number;
}

const COUNTED: Columns = { enterpriseGroup: 'text', channel: 'text', state: 'text', amount: 'bigint' };
/** The rows are sorted in the same way in every transaction, so that no two transactions wait for each other. */
const COUNT = sql`
  INSERT INTO order_counts (platform, enterprise_group, channel, state, orders)
  SELECT CAST(:platform AS text), ${columnNames(COUNTED)} FROM ${rows('counts', COUNTED)} WHERE true
  ORDER BY enterprise_group, channel, state
  ON CONFLICT (platform, enterprise_group, channel, state) DO UPDATE SET orders = order_counts.orders + excluded.orders`;

/** Changes three counts for each change: of all orders, of the channel's orders, and of the group's orders in the channel. */
export function countWrites(changes: readonly OrderCount[]): Query[] {
  const all = changes.flatMap((change) => [
    { ...change, channel: '', enterpriseGroup: '' },
    { ...change, enterpriseGroup: '' },
    change,
  ]);
  const counts = summed(all, ({ channel, enterpriseGroup, state }) => [channel, enterpriseGroup, state]);
  return counts.length === 0 ? [] : [COUNT.with({ counts })];
}

const MEMBER: Columns = { enterprise: 'text', enterpriseGroup: 'text', members: 'bigint' };
const GROUPS = sql`
  INSERT INTO order_groups (platform, ${columnNames(MEMBER)})
  SELECT CAST(:platform AS text), ${columnNames(MEMBER)} FROM ${rows('members', MEMBER)} WHERE true
  ORDER BY enterprise, enterprise_group
  ON CONFLICT DO NOTHING`;

/** Records which enterprises each group contains, so that the groups of an enterprise can be found. */
export function groupWrites(groups: readonly (readonly string[])[]): Query[] {
  const known = new Map(groups.map((enterprises) => [groupOf(enterprises), enterprises]));
  const members = [...known].flatMap(([enterpriseGroup, enterprises]) =>
    enterprises.map((enterprise) => ({ enterprise, enterpriseGroup, members: enterprises.length })),
  );
  return members.length === 0 ? [] : [GROUPS.with({ members })];
}
