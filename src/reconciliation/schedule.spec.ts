import { expect, it } from '@jest/globals';
import { ReconciliationSchedule } from './schedule.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const times = new ReconciliationSchedule();

it('after a day the next attempt comes in an hour, then ever more rarely, and never not at all', () => {
  const next = [DAY];
  while ((next.at(-1) as number) < 400 * DAY) next.push(times.next(0, next.at(-1) as number));
  const pauses = next.slice(1).map((at, index) => at - (next[index] as number));
  expect(Math.abs((pauses[0] as number) - HOUR)).toBeLessThan(10);
  for (const [index, pause] of pauses.entries())
    expect([index, pause > (pauses[index - 1] ?? 0)]).toEqual([index, true]);
  expect(pauses.length).toBeLessThan(160);
});

it('the next attempt stays the same until its time has come', () => {
  for (const age of [0, 30_000, 40 * 60_000, 23.5 * HOUR, DAY, 26 * HOUR, 9 * DAY, 399 * DAY]) {
    const next = times.next(0, age);
    expect(next).toBeGreaterThan(age);
    expect(times.next(0, next - 1)).toBe(next);
    expect(times.next(0, next)).toBeGreaterThan(next);
  }
});
