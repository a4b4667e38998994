import fc from 'fast-check';

/** Further tries to make what was found smaller. */
const SHRINKS = 200;

interface Found<T> {
  readonly what: string;
  /** What `run` failed on, as small as it could be made. */
  readonly example: T;
}

/** Runs it on so many values. The first that it throws for is made smaller for a while. */
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
