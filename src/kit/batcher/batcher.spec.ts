import { setImmediate as endOfTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { reportFaults } from '../../shared/edge.ts';
import { Batcher } from './batcher.ts';

const sent: (readonly number[])[] = [];

async function double(items: readonly number[]): Promise<number[]> {
  sent.push(items);
  await endOfTurn();
  if (items.includes(13)) throw new Error('no reply');
  return items.map((item) => item * 2);
}

it('the next command serves all that come while one runs, never the one that was sent before', async () => {
  const batcher = new Batcher('test', double);
  expect(await Promise.all([1, 2, 3].map((item) => batcher.add(item)))).toEqual([2, 4, 6]);
  expect(sent).toEqual([[1], [2, 3]]);
});

it('a command that fails rejects its own items, or they get the fallback', async () => {
  const [plain, padded] = [new Batcher('test', double), new Batcher('test', double, undefined, () => -1)];
  expect(await Promise.all([1, 13, 3].map((item) => padded.add(item)))).toEqual([2, -1, -1]);
  const settled = await Promise.allSettled([13, 2].map((item) => plain.add(item)));
  expect(settled).toMatchObject([{ reason: { message: 'no reply' } }, { value: 4 }]);
});

it('an item whose command was not sent is rejected, and the next item is served', async () => {
  const faults: string[] = [];
  reportFaults((at) => faults.push(at));
  const isFaulty = [true, false, true];
  const batcher = new Batcher('test', double, (send) => {
    if (isFaulty.shift()) throw new Error('fault');
    send();
  });
  expect(() => batcher.add(0)).toThrow('fault');
  const settled = await Promise.allSettled([1, 2].map((item) => batcher.add(item)));
  expect(settled).toMatchObject([{ value: 2 }, { reason: { message: 'test: nothing was sent' } }]);
  expect([await batcher.add(3), faults]).toEqual([6, ['test']]);
});
