import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RetryBudget } from './retry-budget.ts';

describe('a retry budget', () => {
  let now = 0;
  let budget: RetryBudget;
  beforeEach(() => {
    now = 0;
    budget = new RetryBudget(() => now);
  });

  const call = (times: number) => {
    for (let each = 0; each < times; each++) budget.called();
  };
  /** How many retries it gives when it is asked until it refuses. */
  const taken = () => {
    let count = 0;
    while (budget.take()) count++;
    return count;
  };

  it('allows three in quiet times', () => {
    call(1);
    expect(taken()).toBe(3);
    expect(budget.take()).toBe(false);
  });

  it('allows a fifth of the calls in busy times', () => {
    call(100);
    expect(taken()).toBe(20);
    call(50);
    expect(taken()).toBe(10);
  });

  it('begins anew after ten seconds', () => {
    call(100);
    expect(taken()).toBe(20);
    now = 9_999;
    expect(budget.take()).toBe(false);
    now = 10_000;
    call(1);
    expect(taken()).toBe(3);
  });

  it('forgets calls of long ago: a busy hour does not pay for a quiet one', () => {
    call(1_000);
    now = 3_600_000;
    expect(taken()).toBe(3);
  });

  it('never gives more than a fifth of the calls of a window, or three', () => {
    const step = fc.record({ calls: fc.nat(40), asks: fc.nat(40), passes: fc.nat(4_000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        now = 0;
        budget = new RetryBudget(() => now);
        let [start, calls, retries] = [0, 0, 0];
        for (const each of steps) {
          now += each.passes;
          if (each.calls + each.asks > 0 && now - start >= 10_000) [start, calls, retries] = [now, 0, 0];
          call(each.calls);
          calls += each.calls;
          for (let ask = 0; ask < each.asks; ask++) if (budget.take()) retries++;
          expect(retries).toBeLessThanOrEqual(Math.max(3, calls * 0.2));
        }
      }),
    );
  });
});
