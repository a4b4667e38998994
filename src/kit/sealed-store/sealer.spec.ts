import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Sealer } from './sealed-store.ts';

const newKey = (kid: string) => ({ kid, key: createSecretKey(randomBytes(32)) });
const first = newKey('2026-11');
const second = newKey('2026-05');
const sealer = new Sealer([first, second]);

const PLACE = 'env:tok:app:auth_order:1';

describe('a sealed text', () => {
  it('opens under its own key name, with any content', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (text, place) => {
        expect(sealer.open(sealer.seal(text, place), place)).toBe(text);
      }),
    );
  });

  it('does not show the text, and differs each time', () => {
    const text = randomBytes(32).toString('base64url');
    const values = Array.from({ length: 100 }, () => sealer.seal(text, PLACE));
    expect(new Set(values).size).toBe(100);
    for (const value of values) {
      expect(value).not.toContain(text);
      expect(Buffer.from(value.split('.')[2] ?? '', 'base64url').includes(text)).toBe(false);
    }
  });

  it('is sealed under the first key and opens under every key of the list', () => {
    expect(sealer.seal('text', PLACE)).toMatch(/^v1\.2026-11\.[\w-]+$/);
    const older = new Sealer([second]).seal('text', PLACE);
    expect(sealer.open(older, PLACE)).toBe('text');
    expect(new Sealer([second, first]).open(sealer.seal('text', PLACE), PLACE)).toBe('text');
  });

  it('does not open under another key name', () => {
    expect(sealer.open(sealer.seal('text', PLACE), `${PLACE}2`)).toBeUndefined();
    expect(sealer.open(sealer.seal('text', PLACE), '')).toBeUndefined();
  });

  it('does not open without its key, under another key of the same name, or under another key of the list', () => {
    const value = sealer.seal('text', PLACE);
    expect(new Sealer([second]).open(value, PLACE)).toBeUndefined();
    expect(new Sealer([newKey(first.kid)]).open(value, PLACE)).toBeUndefined();
    expect(sealer.open(value.replace(first.kid, second.kid), PLACE)).toBeUndefined();
  });

  it('does not open after any single bit was flipped, where it was cut short, or in another form', () => {
    const [format, kid, encoded = ''] = sealer.seal('text', PLACE).split('.');
    const bytes = Buffer.from(encoded, 'base64url');
    const opened = (damaged: Buffer) =>
      sealer.open(`${format}.${kid}.${damaged.toString('base64url')}`, PLACE);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect([bit, opened(flipped)]).toEqual([bit, undefined]);
    }
    for (let length = 0; length < bytes.length; length++)
      expect([length, opened(bytes.subarray(0, length))]).toEqual([length, undefined]);
    for (const other of ['', '..', 'v1..', `v2.${kid}.${encoded}`, `v1.__proto__.${encoded}`])
      expect([other, sealer.open(other, PLACE)]).toEqual([other, undefined]);
  });
});

it('a sealer needs a key', () => {
  expect(() => new Sealer([])).toThrow('at least one key');
});
