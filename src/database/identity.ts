import type { Engine, Rows } from './engine.ts';
import { highest, type Seen } from './seen-memory.ts';
import { either, FOR_UPDATE, NOW, type Query, rows, sql } from './sql.ts';

/** The identity of a platform's records in a database, and its numbers, which only rise. */
export interface Identity extends Seen {
  /** When a gateway noticed that commits are missing. Null if no gateway noticed a loss. */
  readonly lostAt: number | null;
  /** The highest numbers that the gateways which noticed the loss had seen. */
  readonly lostSeen: Seen['numbers'];
  /** The numbers that the database had when the loss was noticed. */
  readonly lostHad: Seen['numbers'];
}

/** The names of the numbers that {@link raise} raises. */
const NAMES = ['begun', 'feed'];
/** How many numbers the feed skips after a loss. Another gateway may have seen some of them. */
export const SKIPPED = 1_000;

/** The query also reads the clock of the database, which a step needs as well. The rows have no identity if the platform has none. */
export const LOOK = sql`
  SELECT clock.now, identities.identity, identities.confirmed_at, identities.lost_at, identities.lost_seen, numbers.name, numbers.value
  FROM (SELECT ${NOW} AS now) AS clock LEFT JOIN identities ON identities.platform = :platform
    LEFT JOIN numbers ON numbers.platform = identities.platform`;
/** The time in ms at which an operator last confirmed a database that may lack commits; 0: never. A step reads it with the identity. */
export const CONFIRMED = sql`SELECT confirmed_at AS "confirmedAt" FROM identities WHERE platform = :platform`;
const OTHERS = sql`SELECT platform FROM identities WHERE platform <> :platform ORDER BY platform LIMIT 10`;
/** Writes a text that nobody reads. */
export const TRY = sql`UPDATE identities SET trial = :trial WHERE platform = :platform`;

const MAKE = sql`
  INSERT INTO identities (platform, identity, confirmed_at) VALUES (:platform, :identity, 0) ON CONFLICT DO NOTHING`;
const MAKE_NUMBERS = sql`
  INSERT INTO numbers (platform, name, value) SELECT CAST(:platform AS text), numbered.name, 0
  FROM ${rows('numbered', { name: 'text' })} WHERE true ORDER BY numbered.name ON CONFLICT DO NOTHING`;
const LOCK = sql`SELECT 1 AS one FROM identities WHERE platform = :platform ${FOR_UPDATE}`;
const SET_LOST = sql`
  UPDATE identities SET lost_at = coalesce(lost_at, ${NOW}), lost_seen = :seen WHERE platform = :platform`;
/** The time of the database's clock, or 1 ms after the earlier confirmation. That clock may have been ahead at that confirmation. */
const LATER = either(
  sql`GREATEST(${NOW}, confirmed_at + 1, :least)`,
  sql`max(${NOW}, confirmed_at + 1, :least)`,
);
const CONFIRM = sql`
  UPDATE identities SET identity = :identity, confirmed_at = ${LATER}, lost_at = NULL, lost_seen = NULL
  WHERE platform = :platform`;
const SET_NUMBER = sql`UPDATE numbers SET value = :value WHERE platform = :platform AND name = :name AND value < :value`;

/** Returns undefined if the platform has no identity. */
export function identityIn(found: Rows): Identity | undefined {
  const [first] = found;
  if (typeof first?.['identity'] !== 'string') return undefined;
  const named = found.filter(({ name }) => name !== null);
  const numbers = Object.fromEntries(named.map(({ name, value }) => [String(name), Number(value)]));
  const { had, ...lostSeen } = notedIn(first['lost_seen']);
  return {
    identity: first['identity'],
    confirmedAt: Number(first['confirmed_at']),
    lostAt: first['lost_at'] === null ? null : Number(first['lost_at']),
    lostSeen,
    lostHad: had ?? numbers,
    numbers,
  };
}

/** Returns the first other platforms that have records in the database, separated by commas. It is empty if there are none. */
export async function otherPlatforms(engine: Engine): Promise<string> {
  const found = await engine.read(OTHERS.with());
  return found.map(({ platform }) => String(platform)).join(', ');
}

/** Makes the identity of a new database, unless another gateway was faster. */
export async function make(engine: Engine, identity: string): Promise<void> {
  await engine.transact([], () => makes(identity));
}

function makes(identity: string): Query[] {
  return [MAKE.with({ identity }), MAKE_NUMBERS.with({ numbered: NAMES.map((name) => ({ name })) })];
}

/** Returns the loss that the database shows and that is not recorded yet: another identity, or lower numbers, than a gateway has seen. */
export function lossIn(state: Identity, seen: Seen): 'identity' | 'numbers' | undefined {
  if (state.identity !== seen.identity && state.confirmedAt > seen.confirmedAt) return undefined;
  if (state.identity !== seen.identity && state.lostAt === null) return 'identity';
  const known = highest(state.numbers, state.lostSeen);
  const isLower = Object.entries(seen.numbers).some(([name, value]) => (known[name] ?? 0) < value);
  return isLower ? 'numbers' : undefined;
}

/** True if the feed would give out numbers again that a gateway has seen. They are the cursors of its readers. */
export function isBehind(state: Identity, seen: Seen): boolean {
  return (state.numbers['feed'] ?? 0) < (seen.numbers['feed'] ?? 0);
}

/**
 * Returns the writes that record a loss, if `found` shows one. The feed then goes on from numbers that this gateway has not seen, also if an
 * operator has confirmed a database whose feed begins anew.
 */
export function lossWrites(found: Rows, seen: Seen): readonly Query[] {
  const state = identityIn(found);
  if (!state) return [];
  const noted = { ...highest(state.lostSeen, seen.numbers), had: state.lostHad };
  const { feed = 0 } = seen.numbers;
  return [
    ...(lossIn(state, seen) ? [SET_LOST.with({ seen: JSON.stringify(noted) })] : []),
    ...(isBehind(state, seen) ? [SET_NUMBER.with({ name: 'feed', value: feed + SKIPPED })] : []),
  ];
}

/** Records a loss in a transaction of its own. */
export async function recordLoss(engine: Engine, seen: Seen): Promise<void> {
  await engine.transact([LOCK.with(), LOOK.with()], ([, found = []]) => lossWrites(found, seen));
}

/**
 * An operator trusts the database with what it has. The numbers go on from the highest that is known, so that no cursor is given out twice.
 * `confirmedAt` is that of the last confirmation which gateways have seen: they follow a later one only.
 */
export async function confirm(engine: Engine, { identity, confirmedAt, numbers }: Seen): Promise<void> {
  const raised = Object.entries(numbers).map(([name, value]) => SET_NUMBER.with({ name, value }));
  const confirmed = CONFIRM.with({ identity, least: confirmedAt + 1 });
  await engine.transact([], () => [...makes(identity), confirmed, ...raised]);
}

/** Returns the numbers of `lost_seen`: the highest that were seen, by their names, and in `had` those of the database. */
function notedIn(text: unknown): { readonly had?: Seen['numbers'] } {
  return typeof text === 'string' ? (JSON.parse(text) as object) : {};
}
