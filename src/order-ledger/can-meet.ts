/** A number of units that is wanted, and the supplies that fit, by their index. */
export interface Demand {
  readonly count: number;
  readonly fits: readonly number[];
}

/**
 * Returns whether each demand can have its units, where no supply gives more units than it has. It is a maximum flow by augmenting paths (Ford and
 * Fulkerson): a demand without a free supply takes the units of another demand that can have others.
 */
export function canMeet(demands: readonly Demand[], supplies: readonly number[]): boolean {
  const free = [...supplies];
  /** The units of each supply, by the demand that has them. */
  const given = supplies.map(() => new Map<Demand, number>());
  const give = (supply: number, demand: Demand, count: number) =>
    given[supply]?.set(demand, (given[supply].get(demand) ?? 0) + count);
  /** Returns how many units the demand got, up to `most`. */
  const serve = (demand: Demand, most: number, tried: Set<number>): number => {
    for (const supply of demand.fits) {
      const count = Math.min(most, free[supply] ?? 0);
      if (count === 0) continue;
      free[supply] = (free[supply] ?? 0) - count;
      give(supply, demand, count);
      return count;
    }
    for (const supply of demand.fits) {
      if (tried.has(supply)) continue;
      tried.add(supply);
      for (const [other, has] of given[supply] ?? []) {
        const count = has > 0 && other !== demand ? serve(other, Math.min(most, has), tried) : 0;
        if (count === 0) continue;
        give(supply, other, -count);
        give(supply, demand, count);
        return count;
      }
    }
    return 0;
  };
  // Demands with few supplies choose first, so that they seldom have to take units of others.
  return demands
    .toSorted((one, other) => one.fits.length - other.fits.length)
    .every((demand) => {
      let open = demand.count;
      while (open > 0) {
        const count = serve(demand, open, new Set());
        if (count === 0) return false;
        open -= count;
      }
      return true;
    });
}
