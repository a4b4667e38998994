import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hasSameParts } from './read.interceptor.ts';

/** Cached objects, as results share them, some of which print the same JSON. */
const items = [{ id: '1' }, { id: '2' }, { id: '2' }, { id: '3', inner: [1] }];
const field = fc.oneof(fc.constantFrom(1, 2, 'a', null, true, ...items), fc.subarray(items));
const result = fc.oneof(
  fc.dictionary(fc.constantFrom('items', 'page', 'total'), field),
  fc.subarray(items),
  field,
);

describe('two results have the same parts', () => {
  it('only if their JSON is the same', () => {
    fc.assert(
      fc.property(result, result, (one, other) => {
        if (hasSameParts(one, other)) expect(JSON.stringify(one)).toBe(JSON.stringify(other));
      }),
      { numRuns: 500 },
    );
  });

  it('if they are made of the same objects in the same way', () => {
    expect(hasSameParts({ items: [...items], page: 1 }, { items: [...items], page: 1 })).toBe(true);
    expect(hasSameParts([...items], [...items])).toBe(true);
    expect(hasSameParts(items[0], items[0])).toBe(true);
  });

  it.each([
    ['another object with the same content', { items: [items[1]] }, { items: [items[2]] }],
    ['a list inside of a list', { items: [[items[0]]] }, { items: [[items[0]]] }],
    ['another order', { items: [items[0], items[1]] }, { items: [items[1], items[0]] }],
    ['one item more', { items: [items[0]] }, { items: [items[0], items[1]] }],
    ['one field more', { page: 1 }, { page: 1, total: 1 }],
    ['another order of fields', { page: 1, total: 1 }, { total: 1, page: 1 }],
    ['a list and an object', [], {}],
    ['nothing and an object', undefined, {}],
    ['null and an object', { page: null }, null],
  ])('not with %s', (_, one, other) => {
    expect(hasSameParts(one, other)).toBe(false);
    expect(hasSameParts(other, one)).toBe(false);
  });
});
