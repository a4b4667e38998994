import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { codePoint } from '../../test/support/code-point.ts';
import { integerText, isJsonText, JsonFault, numberText, parseJson } from './json.ts';

const parse = (text: string, maxDepth = 64) => parseJson(Buffer.from(text), { maxDepth });

function faultOf(action: () => unknown): JsonFault {
  try {
    action();
  } catch (error) {
    if (error instanceof JsonFault) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('numbers', () => {
  it('are no text where they are kept as they were sent', () => {
    for (const token of ['9007199254740993', '-0', '1.0', '1e999'])
      expect([token, isJsonText(parse(token))]).toEqual([token, false]);
  });

  it('leaves integers that a double holds exactly plain numbers', () => {
    expect(parse('[0,-1,999999999999999,9007199254740991]')).toEqual([
      0,
      -1,
      999_999_999_999_999,
      2 ** 53 - 1,
    ]);
  });

  it('keeps them beside text of any script, after a byte order mark too', () => {
    const text = '{"名":12345678901234567,"é":["😀",1.50,7],"x":-0}';
    const kept = { 名: '\udfff12345678901234567', é: ['😀', '\udfff1.50', 7], x: '\udfff-0' };
    expect(parse(text)).toEqual(kept);
    expect(parse(`\ufeff${text}`)).toEqual(kept);
  });

  it('keeps the text of every number, in each form and beside each neighbour', () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,29})$/);
    const token = fc
      .tuple(
        fc.constantFrom('', '-'),
        digits,
        fc.constantFrom('', '.0', '.25', '.50'),
        fc.constantFrom('', 'e5', 'E-7', 'e999'),
      )
      .map((parts) => parts.join(''));
    const neighbour = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.array(fc.tuple(token, neighbour), { maxLength: 6 }), (pairs) => {
        const items = pairs.map(([number, text]) => `[${JSON.stringify(text)},${number}]`);
        const read = parse(`[${items.join()}]`) as [string, unknown][];
        expect(read.map(([text, number]) => [numberText(number), text])).toEqual(pairs);
      }),
    );
  });

  it.each<[string, string | undefined]>([
    ['5.0', '5'],
    ['-5e0', '-5'],
    ['1200', '1200'],
    ['12.50e1', '125'],
    ['-0', '0'],
    ['1.5', undefined],
    [`1${'0'.repeat(40)}`, undefined],
    [`1${'0'.repeat(300_000)}1`, undefined],
    [`0.${'0'.repeat(300_000)}1`, undefined],
  ])('%.20s is read as the integer %s in milliseconds', (token, integer) => {
    const value = parse(token);
    const started = performance.now();
    expect(integerText(value)).toBe(integer);
    // A search that begins at each zero takes half a minute.
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it('does not touch digits inside strings', () => {
    const text = String.raw`{"a":"12345678901234567","b":"\"1.0\\","c\\":"x"}`;
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each(['01234567890123456', '1.', '+1', '.5', '0x10', '1e', '--1', '12345678901234567-'])(
    'refuses %s, which is no JSON number',
    (token) => {
      expect(faultOf(() => parse(`[${token}]`)).kind).toBe('syntax');
    },
  );
});

describe('faults', () => {
  it.each(['', '{', '[1,]', '{"a" 1}', 'nul', '"open', '{"a":1}}'])('calls %j a fault of syntax', (text) => {
    expect(faultOf(() => parse(text)).kind).toBe('syntax');
  });

  it('refuses bytes that are not UTF-8, and drops one byte order mark', () => {
    expect(faultOf(() => parseJson(Buffer.from([0x22, 0xc3, 0x28, 0x22]), { maxDepth: 4 })).kind).toBe(
      'encoding',
    );
    expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
  });

  it('refuses what is deeper than allowed before it is parsed', () => {
    expect(parse('[[[1]]]', 3)).toEqual([[[1]]]);
    expect(faultOf(() => parse('[[[[1]]]]', 3)).kind).toBe('depth');
    expect(faultOf(() => parse('['.repeat(100_000), 64)).kind).toBe('depth');
    expect(parse(JSON.stringify({ a: '[[[[[[' }), 1)).toEqual({ a: '[[[[[[' });
  });

  it('says where a key is repeated', () => {
    const fault = faultOf(() => parse('{"a":[{"x":1},{"b/c":1,"d":"b/c","b/c":2}]}'));
    expect(fault.kind).toBe('duplicate-key');
    expect(fault.pointer).toBe('/a/1/b~1c');
    expect(faultOf(() => parse('{"code":1,"code":0}')).pointer).toBe('/code');
    expect(faultOf(() => parse(String.raw`{"a":1,"\u0061":2}`)).pointer).toBe('/a');
  });
});

it('agrees with JSON.parse on every document without odd numbers', () => {
  const json = fc
    .jsonValue({ depthSize: 'medium', stringUnit: codePoint })
    .filter((value) => !/\d{16}|\d[.e]|-0/.test(JSON.stringify(value)));
  fc.assert(
    fc.property(json, fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
  );
});
