import { describe, expect, it } from '@jest/globals';
import { contains, exactNumber, mergePatch, parseJson, writeJson } from './json.ts';

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

  it('refuses to write as a number what JSON cannot write', () => {
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(() => writeJson(loop)).toThrow(TypeError);
  });
});

describe('merge patch', () => {
  it('replaces, adds and removes members without touching the original', () => {
    const target = { code: 0, data: { a: 1, b: 2 } };
    expect(mergePatch(target, { code: '0', data: { b: null, c: [1] } })).toEqual({
      code: '0',
      data: { a: 1, c: [1] },
    });
    expect(target).toEqual({ code: 0, data: { a: 1, b: 2 } });
    expect(mergePatch(target, [1])).toEqual([1]);
  });

  it('replaces an exact number as a whole', () => {
    expect(mergePatch({ id: exactNumber('12') }, { id: { x: 1 } })).toEqual({ id: { x: 1 } });
  });
});

describe('contains', () => {
  it('ignores members that the part does not have', () => {
    const whole = { orderList: [{ sequence: 1, type: 'a' }, { sequence: 2 }], channelOrderId: 'SO-1' };
    expect(contains(whole, { channelOrderId: 'SO-1' })).toBe(true);
    expect(contains(whole, { orderList: [{ type: 'a' }] })).toBe(true);
    expect(contains(whole, { orderList: [{ type: 'b' }] })).toBe(false);
    expect(contains(null, { a: 1 })).toBe(false);
  });
});
