import { Script } from '../kit/redis-script/redis-script.ts';
import { type State, states } from './ledger-record.ts';
import type { OrderQuery } from './order-ledger-store.ts';

/*
 * Sorted sets index the orders by the microsecond of their submission. There are three kinds, each with one set for each state: all
 * orders (`orders:STATE`), the orders of a channel (`orders/CHANNEL:STATE`), and the orders of a channel and a group of enterprises
 * (`orders/CHANNEL/GROUP:STATE`). A group has the enterprises that the items of an order name. Most orders name one enterprise, and then
 * the group has its name. The hash `orders:groups` has the members of larger groups, and the set `orders:groups:MEMBER` the groups of each
 * member. An order is in one set of each kind. So the orders that a caller may see are a union of sets without overlap: their number is
 * a sum, and a search over time finds a page of them.
 */

/** The largest number of commands that a script runs, so that other orders wait for it only one or two milliseconds. */
const MAX_COMMANDS = 1_000;
/** Beyond every time in microseconds, and exact as a double. */
const END_OF_TIME = 2 ** 52;
/** The number of times that one script compares: each round leaves a sixteenth of the range. */
const MAX_PIVOTS = 15;

/** The first line of each script: a store that lost the epoch has lost the orders too. */
const SAME_EPOCH = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'stopped'} end`;

/** KEYS: epoch, sets. ARGV: epoch, now, end, times. Returns for each time and set the number of orders submitted from that time on and before the end. */
const COUNT = new Script(`${SAME_EPOCH}
local counts = {}
for time = 4, #ARGV do
  for set = 2, #KEYS do table.insert(counts, redis.call('ZCOUNT', KEYS[set], ARGV[time], '(' .. ARGV[3])) end
end
return {'there', counts}
`);

/** KEYS: epoch, sets. ARGV: epoch, now, from, end, how many of each set at most. Returns keys of orders, each followed by its time. */
const BETWEEN = new Script(`${SAME_EPOCH}
local found = {}
for set = 2, #KEYS do
  for _, part in ipairs(redis.call('ZREVRANGEBYSCORE', KEYS[set], '(' .. ARGV[4], ARGV[3], 'WITHSCORES', 'LIMIT', 0, ARGV[5])) do
    table.insert(found, part)
  end
end
return {'there', found}
`);

/** KEYS: epoch, sets. ARGV: epoch, now. Returns all their members. */
const MEMBERS = new Script(`${SAME_EPOCH}
if #KEYS == 1 then return {'there', {}} end
return {'there', redis.call('SUNION', unpack(KEYS, 2))}
`);

/** KEYS: epoch, hash. ARGV: epoch, now, fields. Returns their values. */
const VALUES = new Script(`${SAME_EPOCH}
return {'there', redis.call('HMGET', KEYS[2], unpack(ARGV, 3))}
`);

/** Runs a script with the store epoch in front of the keys, and epoch and time in front of the values. Rejects once the caller has hung up. */
export type RunStep = (
  script: Script,
  keys: readonly string[],
  values: readonly (string | number)[],
) => Promise<unknown[]>;

/** Finds the orders of a query. Each step is a small script: between two steps Redis serves others, and the caller may hang up. */
export class OrderIndex {
  constructor(
    /** The beginning of the keys of all indexes. */
    private readonly base: string,
    private readonly run: RunStep,
  ) {}

  /** The keys of the records of one page, newest first, and how many orders there are on all pages. */
  async page(
    query: OrderQuery,
    offset: number,
    count: number,
  ): Promise<{ keys: readonly string[]; total: number }> {
    const from = (query.from ?? 0) * 1_000;
    const until = query.until === undefined ? END_OF_TIME : query.until * 1_000;
    const wanted: readonly State[] = query.states ?? states;
    const bases = await this.#bases(query);
    const all = bases.flatMap((base) => wanted.map((state) => `${this.base}${base}:${state}`));
    const sizes = await this.#count(all, [from], until);
    const sets = all.filter((_, index) => sizes.bySet[index]);
    const total = sizes.byTime[0] ?? 0;
    if (offset >= total) return { keys: [], total };
    // Few enough to read them all: a search would cost more.
    if (sets.length * (offset + count) <= MAX_COMMANDS) {
      const newest = await this.#between(sets, from, until, offset + count);
      return { keys: newest.slice(offset, offset + count), total };
    }
    // `before` is the time of the last order of the previous page, `oldest` that of this page. Other orders may have the same times.
    const before = offset > 0 ? await this.#timeOf(offset, sets, from, until) : undefined;
    const isLast = offset + count >= total;
    const oldest = isLast ? from : (await this.#timeOf(offset + count, sets, from, until)).time;
    const end = before ? before.time + 1 : until;
    const skipped = offset - (before?.newer ?? 0);
    const found = await this.#between(sets, oldest, end, skipped + count);
    return { keys: found.slice(skipped, skipped + count), total };
  }

  /** The keys of the records in this time, newest first; of each set at most `limit`. */
  async #between(sets: readonly string[], from: number, end: number, limit: number): Promise<string[]> {
    const found: { key: string; time: number }[] = [];
    for (const part of chunks(sets, MAX_COMMANDS)) {
      const [, flat] = await this.run(BETWEEN, part, [from, end, limit]);
      const texts = flat as string[];
      for (let index = 0; index < texts.length; index += 2)
        found.push({ key: texts[index] as string, time: Number(texts[index + 1]) });
    }
    found.sort((one, other) => other.time - one.time || (one.key < other.key ? 1 : -1));
    return found.map(({ key }) => key);
  }

  /** The submission time of the order with this rank, counted from the newest, and the number of newer orders: a search over time. */
  async #timeOf(
    rank: number,
    sets: readonly string[],
    from: number,
    until: number,
  ): Promise<{ time: number; newer: number }> {
    // At least `rank` orders are from `low` on, and fewer (`newer`) from `high` on.
    let [low, high, newer] = [from, until, 0];
    const pivots = Math.max(1, Math.min(MAX_PIVOTS, Math.floor(MAX_COMMANDS / sets.length)));
    while (high - low > 1) {
      const step = (high - low) / (pivots + 1);
      const times = Array.from({ length: pivots }, (_, index) => Math.floor(low + step * (index + 1)));
      const { byTime } = await this.#count(sets, times, until);
      const next = times.findIndex((time, index) => time > low && (byTime[index] ?? 0) < rank);
      if (next >= 0) [high, newer] = [times[next] as number, byTime[next] ?? 0];
      low = Math.max(low, ...times.filter((time, index) => time < high && (byTime[index] ?? 0) >= rank));
    }
    return { time: low, newer };
  }

  async #count(
    sets: readonly string[],
    times: readonly number[],
    until: number,
  ): Promise<{ byTime: number[]; bySet: number[] }> {
    const byTime = times.map(() => 0);
    const bySet: number[] = [];
    for (const part of chunks(sets, Math.floor(MAX_COMMANDS / times.length))) {
      const [, counts] = await this.run(COUNT, part, [until, ...times]);
      for (const [index, count] of (counts as number[]).entries()) {
        const time = Math.floor(index / part.length);
        byTime[time] = (byTime[time] ?? 0) + count;
        if (time === 0) bySet.push(count);
      }
    }
    return { byTime, bySet };
  }

  /** What the keys of the sets of a query have between {@link base} and the state. */
  async #bases(query: OrderQuery): Promise<string[]> {
    const { channels, within, enterprise } = query;
    const named = channels && [...channels].map(encodeURIComponent);
    if (!within && enterprise === undefined) return named ? named.map((channel) => `/${channel}`) : [''];
    if (enterprise !== undefined && within && !within.has(enterprise)) return [];
    const groups = await this.#groups(query);
    const known = named ?? (await this.#members([`${this.base}:channels`]));
    return known.flatMap((channel) => groups.map((group) => `/${channel}/${group}`));
  }

  async #groups({ within, enterprise }: OrderQuery): Promise<string[]> {
    const alone = (enterprise === undefined ? [...(within ?? [])] : [enterprise]).map(encodeURIComponent);
    const several = await this.#members(alone.map((each) => `${this.base}:groups:${each}`));
    if (!within) return [...alone, ...several];
    const granted = new Set([...within].map(encodeURIComponent));
    for (const part of chunks(several, MAX_COMMANDS)) {
      const [, members] = await this.run(VALUES, [`${this.base}:groups`], part);
      for (const [index, names] of (members as (string | null)[]).entries())
        if (names?.split('\n').every((name) => granted.has(name))) alone.push(part[index] as string);
    }
    return alone;
  }

  async #members(sets: readonly string[]): Promise<string[]> {
    const found = new Set<string>();
    for (const part of chunks(sets, MAX_COMMANDS)) {
      const [, members] = await this.run(MEMBERS, part, []);
      for (const member of members as string[]) found.add(member);
    }
    return [...found];
  }
}

function* chunks<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let first = 0; first < all.length; first += size) yield all.slice(first, first + size);
}
