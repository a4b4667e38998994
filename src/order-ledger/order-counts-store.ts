import { type Columns, columnNames, type Query, rows, sql } from '../database/sql.ts';
import { sha256 } from '../redis/key-names.ts';
import { summed } from '../shared/summed.ts';

/**
 * Where an order is counted and listed: in its channel, and in its group there. A group has the enterprises that the items name, so the
 * orders that a caller may see are those of some groups, without overlap.
 */
export interface Place {
  readonly channel: string;
  readonly enterpriseGroup: string;
}

/** `=` and the enterprise, or `+` and a hash of several: no enterprise has the name of a group of others. */
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
/** The order of the rows is that of every transaction, so that no two of them wait for each other. */
const COUNT = sql`
  INSERT INTO order_counts (platform, enterprise_group, channel, state, orders)
  SELECT CAST(:platform AS text), ${columnNames(COUNTED)} FROM ${rows('counts', COUNTED)} WHERE true
  ORDER BY enterprise_group, channel, state
  ON CONFLICT (platform, enterprise_group, channel, state) DO UPDATE SET orders = order_counts.orders + excluded.orders`;

/** Counts of all orders, of those of the channel, and of those of the group in it. */
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

/** Notes the members of groups, for those who look for an enterprise. */
export function groupWrites(groups: readonly (readonly string[])[]): Query[] {
  const known = new Map(groups.map((enterprises) => [groupOf(enterprises), enterprises]));
  const members = [...known].flatMap(([enterpriseGroup, enterprises]) =>
    enterprises.map((enterprise) => ({ enterprise, enterpriseGroup, members: enterprises.length })),
  );
  return members.length === 0 ? [] : [GROUPS.with({ members })];
}
