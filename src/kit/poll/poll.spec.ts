import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { reportFaults } from '../../shared/edge.ts';
import { poll } from './poll.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('runs again and again, one run at a time, until it is ended', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const stop = poll('test', 100, () => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  await jest.advanceTimersByTimeAsync(99);
  expect(runs).toHaveLength(0);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await jest.advanceTimersByTimeAsync(100);
  expect(runs).toHaveLength(2);
  stop();
  runs[1]?.resolve();
  await jest.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(2);
});

it('goes on after a run that failed, whose fault is told', async () => {
  const told: unknown[] = [];
  reportFaults((at, fault) => told.push([at, fault]));
  const fault = new Error('broken');
  let runs = 0;
  const stop = poll('test', 100, () => (++runs === 1 ? Promise.reject(fault) : Promise.resolve()));
  await jest.advanceTimersByTimeAsync(200);
  stop();
  expect([runs, told]).toEqual([2, [['test', fault]]]);
});
