import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { FairLimit } from './fair-limit.ts';

it('runs so many tasks at a time, and those that wait in turns of their keys, also after tasks that failed', async () => {
  const limit = new FairLimit(2);
  const begun: string[] = [];
  let running = 0;
  let most = 0;
  const run = (name: string) =>
    limit.run(name.charAt(0), async () => {
      begun.push(name);
      most = Math.max(most, ++running);
      await setImmediate();
      running--;
      if (name === 'a2') throw new Error('failed');
    });
  await Promise.allSettled(['a1', 'a2', 'a3', 'a4', 'b1', 'a5', 'c1'].map(run));
  expect([begun, most]).toEqual([['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'a5'], 2]);
  await Promise.all(['d1', 'd2'].map(run));
  expect([begun.slice(-2), most, running]).toEqual([['d1', 'd2'], 2, 0]);
});
