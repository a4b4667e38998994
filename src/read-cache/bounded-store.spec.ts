import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { BoundedStore } from './bounded-store.ts';

const sizeOf = (value: unknown) => value as number;

describe('a bounded store', () => {
  it('drops what was not used for longest', () => {
    const store = new BoundedStore({ entries: 2, bytes: 1_000, sizeOf });
    store.set('a', 1);
    store.set('b', 2);
    store.get('a');
    store.set('c', 3);
    expect(['a', 'b', 'c'].map((key) => store.get(key))).toEqual([1, undefined, 3]);
  });

  it('never holds more than its bounds, and always what fits and came last', () => {
    const step = fc.record({ key: fc.constantFrom(...'abcdefgh'), size: fc.nat(60), remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const store = new BoundedStore({ entries: 4, bytes: 100, sizeOf });
        for (const { key, size, remove } of steps) {
          if (remove) {
            store.delete(key);
            expect(store.get(key)).toBeUndefined();
            continue;
          }
          expect(store.set(key, size)).toBe(true);
          expect(store.get(key)).toBe(size);
          const held = [...'abcdefgh'].map((each) => store.get(each)).filter((each) => each !== undefined);
          expect(held.length).toBeLessThanOrEqual(4);
          expect(held.reduce<number>((sum, each) => sum + (each as number) + 2, 0)).toBeLessThanOrEqual(100);
        }
      }),
    );
  });

  it('refuses what alone is too much, and forgets what stood there', () => {
    const store = new BoundedStore({ entries: 4, bytes: 100, sizeOf });
    store.set('a', 10);
    store.set('b', 10);
    expect(store.set('a', 99)).toBe(false);
    expect(store.get('a')).toBeUndefined();
    expect(store.get('b')).toBe(10);
  });

  it('holds nothing beyond its time', () => {
    let now = 1_000;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const store = new BoundedStore({ entries: 4, bytes: 100, sizeOf });
    store.set('short', 1, 20);
    store.set('long', 2, 60_000);
    now += 19;
    expect(store.get('short')).toBe(1);
    now += 1;
    expect(store.get('short')).toBeUndefined();
    expect(store.get('long')).toBe(2);
    clock.mockRestore();
  });
});
