import { beforeEach, describe, expect, it } from '@jest/globals';
import { Breaker, type BreakerState, type Pass } from './breaker.ts';

let now: number;
let states: BreakerState[];
let breaker: Breaker;

beforeEach(() => {
  now = 5_000;
  states = [];
  breaker = new Breaker(
    (state) => states.push(state),
    () => now,
  );
});

const enter = (): Pass => {
  const pass = breaker.enter();
  if (pass === undefined) throw new Error('was not let in');
  return pass;
};
const calls = (count: number, failed: boolean) => {
  for (let each = 0; each < count; each++) breaker.leave(enter(), failed);
};
const open = () => calls(20, true);

describe('a closed breaker', () => {
  it('opens at the 20th attempt of which half failed, and not before', () => {
    calls(10, false);
    calls(9, true);
    expect(breaker.state).toBe('closed');
    calls(1, true);
    expect(breaker.state).toBe('open');
    expect(states).toEqual(['open']);
  });

  it('stays closed while less than half fail', () => {
    calls(100, false);
    calls(99, true);
    expect(breaker.state).toBe('closed');
  });

  it('does not count what is older than 10 s', () => {
    calls(19, true);
    now += 10_000;
    calls(19, true);
    expect(breaker.state).toBe('closed');
  });

  it('does not count attempts that showed nothing', () => {
    for (let each = 0; each < 50; each++) breaker.leave(enter(), undefined);
    expect(breaker.state).toBe('closed');
    expect(breaker.isServing).toBe(false);
  });
});

describe('an open breaker', () => {
  beforeEach(open);

  it('lets nothing in for a second, and says how long that is', () => {
    expect(breaker.enter()).toBeUndefined();
    expect(breaker.waitMs).toBe(1_000);
    now += 999;
    expect(breaker.enter()).toBeUndefined();
    now += 1;
    expect(breaker.enter()).toBeDefined();
  });

  it('has one probe at a time, and no call waits for it', () => {
    now += 1_000;
    const probe = enter();
    expect(breaker.state).toBe('half-open');
    expect(breaker.enter()).toBeUndefined();
    breaker.leave(probe, false);
    expect(breaker.state).toBe('closed');
    expect(states).toEqual(['open', 'half-open', 'closed']);
  });

  it('probes every 2 s where probes fail', () => {
    const probes = [];
    for (let second = 0; second < 10_000; second += 100) {
      now += 100;
      const pass = breaker.enter();
      if (pass === undefined) continue;
      probes.push(now - 5_000);
      breaker.leave(pass, true);
    }
    expect(probes).toEqual([1_000, 2_000, 4_000, 6_000, 8_000, 10_000]);
  });

  it('does not wait for a probe that hangs', () => {
    now += 1_000;
    const hanging = enter();
    now += 1_000;
    breaker.leave(enter(), false);
    expect(breaker.state).toBe('closed');
    breaker.leave(hanging, true);
    calls(19, true);
    expect(breaker.state).toBe('closed');
  });

  it('gives the turn of a probe that never reached upstream to the next', () => {
    now += 1_000;
    breaker.leave(enter(), undefined);
    expect(breaker.state).toBe('open');
    expect(breaker.enter()).toBeDefined();
  });

  it('learns nothing from what was let in before it opened', () => {
    now += 1_000;
    breaker.leave(enter(), false);
    const old = enter();
    open();
    breaker.leave(old, false);
    expect(breaker.state).toBe('open');
  });

  it('starts to count anew once it is closed', () => {
    now += 1_000;
    breaker.leave(enter(), false);
    calls(19, true);
    expect(breaker.state).toBe('closed');
    calls(1, true);
    expect(breaker.state).toBe('open');
  });
});
