import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { PassingSet } from './passing-set.ts';

it('holds what came, in its order, until it leaves; who leaves twice takes no other out', () => {
  const set = new PassingSet<string>();
  const leave = ['a', 'b', 'a'].map((item) => set.add(item));
  leave[0]?.();
  leave[0]?.();
  expect([...set]).toEqual(['b', 'a']);
  expect(set.size).toBe(2);
  for (const each of set) if (each === 'b') leave[1]?.();
  expect([...set]).toEqual(['a']);
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (how: { type: 'minor' | 'major' }) => void;

const AT_ONCE = 64;
const ALL = 4_000;
const COLLECTED_AFTER = 200;
/** The size of an item in bytes. */
const SIZE = 8_192;

/** Returns the most deleted items that were in V8's space for old objects at a time. A full collection, which V8 may begin at any time, frees them. */
function leftOver(add: (item: object) => () => void): number {
  const old = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
  let most = 0;
  const leave: (() => void)[] = [];
  const pass = (count: number) => {
    for (let number = 1; number <= count; number++) {
      leave.push(add({ content: Array.from({ length: SIZE / 8 }, () => number) }));
      if (leave.length > AT_ONCE) leave.shift()?.();
      if (number % COLLECTED_AFTER !== 0) continue;
      collect({ type: 'minor' });
      most = Math.max(most, old());
    }
  };
  pass(2 * AT_ONCE);
  collect({ type: 'major' });
  const before = old();
  most = before;
  pass(ALL);
  return (most - before) / SIZE;
}

it('collections of young objects free what has passed, unlike with a Set', () => {
  const passing = new PassingSet<object>();
  const plain = new Set<object>();
  const left = leftOver((item) => passing.add(item));
  const leftOfPlain = leftOver((item) => {
    plain.add(item);
    return () => plain.delete(item);
  });
  expect(left).toBeLessThan(ALL / 8);
  // If this fails, V8 frees such items itself, and the class can be deleted.
  expect(leftOfPlain).toBeGreaterThan(ALL / 4);
});
