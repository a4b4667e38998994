import { type Query, rows, sql } from '../database/sql.ts';
import { sha256 } from '../redis/key-names.ts';
import type { State } from './ledger-record.ts';

/**
 * Where an order is counted and listed: in its channel, and in its group there. A group has the enterprises that the items name, so the
 * orders that a caller may see are those of some groups, without overlap.
 */
export interface Place {
  readonly channel: string;
  readonly group: string;
}

/** `=` and the enterprise, or `+` and a hash of several: no enterprise has the name of a group of others. */
export function groupOf(enterprises: readonly string[]): string {
  return enterprises.length === 1
    ? `=${enterprises[0]}`
    : `+${sha256(JSON.stringify(enterprises)).slice(0, 32)}`;
}

/** Changes of the numbers of orders by state, added up for one transaction. */
export class OrderCounts {
  readonly #changes = new Map<string, { place: Place; state: State; orders: number }>();

  add(place: Place, state: State, orders: 1 | -1): void {
    const { channel } = place;
    for (const each of [{ channel: '', group: '' }, { channel, group: '' }, place]) {
      const key = JSON.stringify([each.group, each.channel, state]);
      const known = this.#changes.get(key)?.orders ?? 0;
      this.#changes.set(key, { place: each, state, orders: known + orders });
    }
  }

  /** Rows are locked in their order, so that no two transactions wait for each other. */
  get writes(): Query[] {
    const counts = [...this.#changes.values()]
      .filter(({ orders }) => orders !== 0)
      .map(({ place: { channel, group: enterprise_group }, state, orders }) => ({
        ...{ channel, enterprise_group, state, orders },
      }));
    return counts.length === 0 ? [] : [COUNT.with({ counts })];
  }
}

const COUNT = sql`
  INSERT INTO order_counts (platform, enterprise_group, channel, state, orders)
  SELECT CAST(:platform AS text), enterprise_group, channel, state, orders
  FROM ${rows('counts', { enterprise_group: 'text', channel: 'text', state: 'text', orders: 'bigint' })} WHERE true
  ORDER BY enterprise_group, channel, state
  ON CONFLICT (platform, enterprise_group, channel, state) DO UPDATE SET orders = order_counts.orders + excluded.orders`;

const GROUPS = sql`
  INSERT INTO order_groups (platform, enterprise, enterprise_group, members)
  SELECT CAST(:platform AS text), enterprise, enterprise_group, members
  FROM ${rows('members', { enterprise: 'text', enterprise_group: 'text', members: 'bigint' })} WHERE true
  ORDER BY enterprise, enterprise_group
  ON CONFLICT DO NOTHING`;

/** Notes the members of groups, for those who look for an enterprise. */
export function groupWrites(groups: readonly (readonly string[])[]): Query[] {
  const known = new Map(groups.map((enterprises) => [groupOf(enterprises), enterprises]));
  const members = [...known].flatMap(([enterprise_group, enterprises]) =>
    enterprises.map((enterprise) => ({ enterprise, enterprise_group, members: enterprises.length })),
  );
  return members.length === 0 ? [] : [GROUPS.with({ members })];
}
