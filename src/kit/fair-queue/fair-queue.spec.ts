import { expect, it } from '@jest/globals';
import { FairQueue } from './fair-queue.ts';

function taken(queue: FairQueue<string>): string[] {
  const all: string[] = [];
  for (let next = queue.next(); next; next = queue.next()) all.push(next);
  return all;
}

const add = (queue: FairQueue<string>, item: string) => queue.add(item.charAt(0), item);

it('keys take turns, and the items of one key keep their order', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'a4', 'b2', 'c1']) add(queue, item);
  expect(taken(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  expect(queue.next()).toBeUndefined();
});

it('an item that leaves loses its turn, and its key comes back at the end', () => {
  const queue = new FairQueue<string>();
  const leaves = ['a1', 'b1', 'a2'].map((item) => add(queue, item));
  leaves[0]?.();
  leaves[1]?.();
  leaves[1]?.();
  add(queue, 'c1');
  add(queue, 'b2');
  leaves[1]?.();
  expect(taken(queue)).toEqual(['a2', 'c1', 'b2']);
});
