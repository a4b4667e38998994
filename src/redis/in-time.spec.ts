import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { inTime } from './in-time.ts';

/** As a thousand callers at once do to a process. */
function beBusy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('hands on what the command answers, or fails with', async () => {
  expect(await inTime(Promise.resolve(5))).toBe(5);
  await expect(inTime(Promise.reject(new Error('WRONGTYPE')))).rejects.toThrow('WRONGTYPE');
});

it('ends after a quarter of a second without an answer', async () => {
  const started = performance.now();
  await expect(inTime(new Promise(() => undefined))).rejects.toThrow('Command timed out');
  expect(performance.now() - started).toBeGreaterThanOrEqual(240);
});

it('does not count the time in which the process could not have read the answer', async () => {
  const answer = inTime(sleep(10, 'here'));
  beBusy(1_000);
  expect(await answer).toBe('here');
});
