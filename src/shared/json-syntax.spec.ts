import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pointerToken, syntaxFault } from './json-syntax.ts';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

it('a long name in a pointer is not cut within a character', () => {
  expect(pointerToken(`${'x'.repeat(127)}😀`)).toBe(`/${'x'.repeat(127)}\ufffd`);
});

describe('the place where a text stops being JSON', () => {
  it.each([
    ['{"a": 1 "b": 2}', 'at line 1, column 9 there must be `,` or `}`'],
    ['{"a" 1}', 'at line 1, column 6 there must be `:`'],
    ["{'a': 1}", 'at line 1, column 2 there must be the name of a field, in `"`'],
    ['{"a": 1,}', 'at line 1, column 9 there must be the name of a field, in `"`'],
    ['[1 2]', 'at line 1, column 4 there must be `,` or `]`'],
    ['{"a": undefined}', 'at line 1, column 7 there must be a value'],
    ['{"a": 01}', 'at line 1, column 8 there must be `,` or `}`'],
    ['{"a": "b', 'where it ends (line 1, column 9) there must be the `"` that ends the string'],
    ['{"a": "\\x"}', 'at line 1, column 8 there must be an escape such as `\\n` or `\\u00e4`'],
    [
      '{\n  "a": "b\n"}',
      'at line 2, column 10 there must be the end of the string, or an escape such as `\\n` for a control character',
    ],
    ['{\r\n  "a": 1,\r\n  // b\r\n}', 'at line 3, column 3 there must be the name of a field, in `"`'],
  ])('%j', (text, expected) => {
    expect(syntaxFault(text)).toBe(expected);
  });

  it('is in every text that JSON.parse refuses, and in no other', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'{}[]":,.-+eE0123456789truefalsn\\ \n\tu"') });
    const mutated = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', ',', '}', ']', ':', '\\', '\n', '0', ' '))
      .map(([text, at, put]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + put + text.slice(place + (at % 2));
      });
    fc.assert(
      fc.property(fc.oneof(letters, mutated), (text) => {
        expect(syntaxFault(text) === undefined).toBe(isJson(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('of a text of a mebibyte is found in little time', () => {
    const before = process.threadCpuUsage();
    for (const text of [
      '"a'.repeat(2 ** 19),
      '[['.repeat(8) + `"${'\\n'.repeat(2 ** 19)}`,
      ' '.repeat(2 ** 20),
      `[${'9'.repeat(2 ** 20)}`,
    ])
      expect(syntaxFault(text)).toBeDefined();
    expect(process.threadCpuUsage(before).user).toBeLessThan(4_000_000);
  });
});
