import { SeededRandom } from '../../sandbox/random.ts';
import { type ReadingName, readingNames, readings, type Readings } from '../../src/config/readings.ts';

/** A platform: a value for each reading, and whether the gateway is told them. */
export type Played = Readings & { readonly isTold: 'no' | 'yes' };

/** Smaller numbers than any that the story needs. */
const NUMBERS: Partial<Readonly<Record<ReadingName, readonly number[]>>> = {
  maxPageSize: [1_000, 20, 7],
  firstPage: [1, 0],
  maxAssetNums: [1_000, 3],
  maxLocksPerCall: [1_000, 2],
  maxOrdersPerBatch: [1_000, 1],
};
/** What no gateway can find out by itself, so that every gateway is told: the form of what it sends. */
export const ALWAYS_TOLD: readonly ReadingName[] = ['nonceForm', 'clientToken', 'userToken', 'tokenScope'];
const VALUES: readonly (readonly [string, readonly (string | number)[]])[] = [
  ...readingNames.map((name) => {
    const { values } = readings[name];
    return [name, 'usual' in values ? (NUMBERS[name] ?? [values.usual]) : values] as const;
  }),
  ['isTold', ['no', 'yes']],
];

/** Profiles that together have every pair of two values of two readings: as many as that takes, and at least `count`. */
export function drawProfiles(seed: number, count = 0): Played[] {
  const random = new SeededRandom(seed);
  const missing = allPairs();
  const profiles: Played[] = [];
  while (missing.size > 0 || profiles.length < count) {
    const profile = drawn(random, missing);
    for (const pair of pairsOf(profile)) missing.delete(pair);
    profiles.push(Object.fromEntries(profile) as unknown as Played);
  }
  return profiles;
}

type Profile = readonly Value[];

/** Has one missing pair, and for each further reading a value that makes the most missing pairs with those chosen before. */
function drawn(random: SeededRandom, missing: ReadonlySet<string>): Profile {
  const chosen = new Map<string, string | number>();
  const order = VALUES.map((row) => ({ row, at: random.next() })).sort((one, other) => one.at - other.at);
  const [start] = [...missing].slice(Math.floor(random.next() * missing.size));
  for (const part of start?.split(' ') ?? []) {
    const [name = '', text = ''] = part.split('=');
    const [, values = []] = VALUES.find(([each]) => each === name) ?? [];
    chosen.set(name, values.find((value) => String(value) === text) ?? '');
  }
  for (const { row } of order) {
    const [name, values] = row;
    if (chosen.has(name)) continue;
    const weighed = values.map((value) => ({
      value,
      isNew: [...chosen].filter(([other, second]) => missing.has(pairOf([name, value], [other, second])))
        .length,
      luck: random.next(),
    }));
    const [best] = weighed.sort((one, other) => other.isNew - one.isNew || other.luck - one.luck);
    chosen.set(name, best?.value ?? '');
  }
  return VALUES.map(([name]) => [name, chosen.get(name) ?? ''] as const);
}

/** Readings in the order of their table. */
const PLACES = new Map(VALUES.map(([name], at) => [name, at]));

type Value = readonly [name: string, value: string | number];

function pairOf(...pair: readonly [Value, Value]): string {
  const [[one, first], [other, second]] = pair.toSorted(
    ([a], [b]) => (PLACES.get(a) ?? 0) - (PLACES.get(b) ?? 0),
  ) as [Value, Value];
  return `${one}=${first} ${other}=${second}`;
}

function pairsOf(profile: Profile): string[] {
  return profile.flatMap((one, at) => profile.slice(at + 1).map((other) => pairOf(one, other)));
}

function allPairs(): Set<string> {
  const pairs = new Set<string>();
  for (const [at, [one, values]] of VALUES.entries())
    for (const [other, others] of VALUES.slice(at + 1))
      for (const value of values)
        for (const second of others) pairs.add(`${one}=${value} ${other}=${second}`);
  return pairs;
}
