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
/** How many drawn profiles compete for the most pairs that no earlier one has. */
const CANDIDATES = 30;

const VALUES: readonly (readonly [string, readonly (string | number)[]])[] = [
  ...readingNames.map((name) => {
    const { values } = readings[name];
    return [name, 'usual' in values ? (NUMBERS[name] ?? [values.usual]) : values] as const;
  }),
  ['isTold', ['no', 'yes']],
];

/** Profiles that together have every pair of two values of two readings, as long as there are enough of them. */
export function drawProfiles(seed: number, count: number): Played[] {
  const random = new SeededRandom(seed);
  const missing = allPairs();
  return Array.from({ length: count }, () => {
    let best = { profile: drawn(random), isNew: -1 };
    for (let candidate = 0; candidate < CANDIDATES && missing.size > 0; candidate++) {
      const profile = drawn(random);
      const isNew = pairsOf(profile).filter((pair) => missing.has(pair)).length;
      if (isNew > best.isNew) best = { profile, isNew };
    }
    for (const pair of pairsOf(best.profile)) missing.delete(pair);
    return Object.fromEntries(best.profile) as unknown as Played;
  });
}

/** The pairs that these profiles do not have. */
export function missingPairs(profiles: readonly Played[]): string[] {
  const missing = allPairs();
  for (const profile of profiles) for (const pair of pairsOf(Object.entries(profile))) missing.delete(pair);
  return [...missing];
}

type Profile = readonly (readonly [string, string | number])[];

function drawn(random: SeededRandom): Profile {
  return VALUES.map(
    ([name, values]) => [name, values[Math.floor(random.next() * values.length)] ?? ''] as const,
  );
}

function pairsOf(profile: Profile): string[] {
  return profile.flatMap(([one, first], at) =>
    profile.slice(at + 1).map(([other, second]) => `${one}=${first} ${other}=${second}`),
  );
}

function allPairs(): Set<string> {
  const pairs = new Set<string>();
  for (const [at, [one, values]] of VALUES.entries())
    for (const [other, others] of VALUES.slice(at + 1))
      for (const value of values)
        for (const second of others) pairs.add(`${one}=${value} ${other}=${second}`);
  return pairs;
}
