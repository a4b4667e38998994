import { expect, it } from '@jest/globals';
import { playYear } from '../support/scheduled-year.ts';
import { useSandbox } from '../support/stack.ts';

const sandbox = useSandbox();

it('A year of 200 scheduled orders by steps of two days: the end agrees with the journal of the platform', async () => {
  const { faults, held, ...counts } = await playYear(sandbox, 200, 2);
  expect(faults).toEqual([]);
  expect(counts).toEqual({ placed: 133, cancelled: 65, overBudget: 2 });
  expect(held).toBeGreaterThan(0);
});
