/** Adds up the amounts of the changes of each key, and leaves out sums of zero. */
export function summed<Change extends { readonly amount: number }>(
  changes: readonly Change[],
  keyOf: (change: Change) => readonly string[],
): Change[] {
  const sums = new Map<string, Change>();
  for (const change of changes) {
    const key = JSON.stringify(keyOf(change));
    sums.set(key, { ...change, amount: change.amount + (sums.get(key)?.amount ?? 0) });
  }
  return [...sums.values()].filter(({ amount }) => amount !== 0);
}
