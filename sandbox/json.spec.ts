import { describe, expect, it } from '@jest/globals';
import { exactNumber, mergePatch, parseJson, writeJson } from './json.ts';

describe('exact JSON', () => {
  it('keeps every digit of an integer beyond 2^53, at the top, in an object and in an array', () => {
    const text = '{"id":9007199254740993,"list":[-12345678901234567890,1],"text":"9007199254740993"}';
    expect(parseJson(text)).toEqual({
      id: 9007199254740993n,
      list: [-12345678901234567890n, 1],
      text: '9007199254740993',
    });
    expect(writeJson(parseJson(text))).toBe(text);
    expect(parseJson(' 9007199254740993')).toBe(9007199254740993n);
  });

  it('leaves fractions and safe integers as numbers', () => {
    expect(parseJson('[0.12345678901234567,9007199254740991]')).toEqual([
      0.12345678901234567, 9007199254740991,
    ]);
  });
});

describe('merge patch', () => {
  it('replaces an exact number as a whole', () => {
    expect(mergePatch({ id: exactNumber('12') }, { id: { x: 1 } })).toEqual({ id: { x: 1 } });
  });
});
