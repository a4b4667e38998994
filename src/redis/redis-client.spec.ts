import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { inTime } from './redis-client.ts';

/** Blocks the process, as a thousand callers at once would. */
function beBusy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('fails with the error of the command, and after a quarter of a second without a reply', async () => {
  const started = performance.now();
  await expect(inTime(Promise.reject(new Error('WRONGTYPE')))).rejects.toThrow('WRONGTYPE');
  await expect(inTime(new Promise(() => undefined))).rejects.toThrow('Command timed out');
  expect(performance.now() - started).toBeGreaterThanOrEqual(240);
});

it('does not count the time in which the process could not have read the answer', async () => {
  const answer = inTime(sleep(10, 'here'));
  beBusy(1_000);
  expect(await answer).toBe('here');
});
