/** Median and spread of repeated measurements. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Returns the value at this quantile. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  const half = (sorted.length - 1) / 2;
  const middle = [sorted[Math.floor(half)], sorted[Math.ceil(half)]] as [number, number];
  return {
    median: (middle[0] + middle[1]) / 2,
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  };
}

/** Compares round by round, because the figures of one round are from the same time. */
export function ratio(own: readonly number[], other: readonly number[]): Spread {
  return spread(own.map((value, round) => value / (other[round] ?? Number.NaN)));
}
