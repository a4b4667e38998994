import fc from 'fast-check';

/** Further tries to shrink a finding. */
const SHRINKS = 200;

interface Found<T> {
  readonly what: string;
  /** The value that `run` failed on, shrunk as far as possible. */
  readonly example: T;
}

/** Runs it on this many values, and shrinks the first one that it throws for, for a while. */
export async function search<T>(
  values: fc.Arbitrary<T>,
  run: (value: T) => Promise<void>,
  { seed, numRuns }: { readonly seed: number; readonly numRuns: number },
): Promise<Found<T> | undefined> {
  let left = Infinity;
  const property = fc.asyncProperty(values, async (value) => {
    if (left-- <= 0) return;
    try {
      await run(value);
    } catch (error) {
      left = Math.min(left, SHRINKS);
      throw error;
    }
  });
  const { failed, counterexample, errorInstance: error } = await fc.check(property, { numRuns, seed });
  if (!failed || !counterexample) return undefined;
  return { what: error instanceof Error ? error.message : String(error), example: counterexample[0] };
}
