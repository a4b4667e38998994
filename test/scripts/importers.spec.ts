import { expect, it } from '@jest/globals';
import { importersOf } from '../../scripts/importers.ts';

it('G26 the quick check looks at what imports a changed file too, also one that was removed', () => {
  const files = ['scripts/check-fast.ts', 'scripts/importers.ts', 'scripts/steps.ts', 'scripts/removed.ts'];
  expect(importersOf(['scripts/importers.ts'], files)).toEqual(['scripts/check-fast.ts']);
  expect(importersOf(['scripts/steps.ts', 'scripts/importers.ts'], files)).toEqual(['scripts/check-fast.ts']);
  expect(importersOf(['src/config/readings.ts'], ['sandbox/profile.ts', 'sandbox/clock.ts'])).toEqual([
    'sandbox/profile.ts',
  ]);
  expect(importersOf(['README.md'], files)).toEqual([]);
});
