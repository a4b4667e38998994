import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { codePoint } from '../../test/support/code-point.ts';
import { canonical, fingerprinter } from './fingerprint.ts';

it('reads as JSON with the same content, in any order of the members', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: codePoint, maxDepth: 4 }), (value) => {
      const json = JSON.stringify(value);
      const text = canonical(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(json));
      expect(canonical(reversed(JSON.parse(json)))).toBe(text);
    }),
  );
});

it('leaves out what JSON leaves out', () => {
  expect(canonical({ b: undefined, a: [undefined, 1], 'c"': -0 })).toBe('{"a":[null,1],"c\\"":0}');
});

it('tells different payloads apart', () => {
  const fingerprintsOf = fingerprinter([]);
  const fingerprintOf = (value: unknown) => fingerprintsOf(canonical(value))[0];
  const distinct = [
    { a: '1' },
    { a: 1 },
    { a: [1] },
    { a: null },
    {},
    { a: { a: 1 } },
    { b: 1 },
    { a: '1', b: '' },
  ];
  expect(new Set(distinct.map(fingerprintOf)).size).toBe(distinct.length);
});

/** The same content with the members of every object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  );
}
