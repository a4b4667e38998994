import { expect, it } from '@jest/globals';
import { playYear } from '../support/scheduled-year.ts';
import { useSandbox } from '../support/stack.ts';

const sandbox = useSandbox();

it('A year of scheduled orders in a dozen steps: each is sent once, at its time or after a maintenance, unless it was cancelled or beyond a budget', async () => {
  const { faults, placed, cancelled, overBudget } = await playYear(sandbox, 24, 31);
  expect(faults).toEqual([]);
  expect({ placed, cancelled, overBudget }).toEqual({ placed: 15, cancelled: 7, overBudget: 2 });
});
