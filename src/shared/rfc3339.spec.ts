import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { rfc3339 } from './rfc3339.ts';

const FIRST = Date.UTC(-1, 12);
const LAST = Date.UTC(10_000, 0) - 1;

it('writes every time with a year of four digits as Date does', () => {
  const times = fc.oneof(fc.integer({ min: FIRST, max: LAST }), fc.constantFrom(FIRST, LAST, 0, -0, -1, 1));
  fc.assert(
    fc.property(times, (ms) => expect(rfc3339(ms)).toBe(new Date(ms).toISOString())),
    { numRuns: 2_000 },
  );
});

it('has no words for others', () => {
  expect([FIRST - 1, LAST + 1, Infinity, -Infinity].map(rfc3339)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
