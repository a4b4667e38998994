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
  /** Takes retries until the budget refuses, and returns their number. */
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

  it('forgets retries ten seconds later, and not before', () => {
    call(100);
    expect(taken()).toBe(20);
    now = 9_999;
    expect(budget.take()).toBe(false);
    now = 10_000;
    call(1);
    expect(taken()).toBe(3);
  });

  it('slides: the calls of the seconds before pay for the retries of this one', () => {
    call(100);
    now = 9_500;
    call(1);
    expect(taken()).toBe(20);
    now = 10_500;
    expect(budget.take()).toBe(false);
    call(200);
    expect(taken()).toBe(20);
  });

  it('forgets calls of long ago: a busy hour does not pay for a quiet one', () => {
    call(1_000);
    now = 3_600_000;
    expect(taken()).toBe(3);
  });

  it('never gives more than a fifth of the calls of the last ten seconds, or three', () => {
    const step = fc.record({ calls: fc.nat(40), asks: fc.nat(40), passes: fc.nat(4_000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        now = 0;
        budget = new RetryBudget(() => now);
        const log: { second: number; calls: number; retries: number }[] = [];
        for (const each of steps) {
          now += each.passes;
          const second = Math.floor(now / 1_000);
          call(each.calls);
          const entry = { second, calls: each.calls, retries: 0 };
          log.push(entry);
          for (let ask = 0; ask < each.asks; ask++) {
            if (!budget.take()) break;
            entry.retries++;
            const recent = log.filter((one) => one.second > second - 10);
            const sum = (key: 'calls' | 'retries') => recent.reduce((total, one) => total + one[key], 0);
            expect(sum('retries')).toBeLessThanOrEqual(Math.max(3, sum('calls') * 0.2));
          }
        }
      }),
    );
  });
});
