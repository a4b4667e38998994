import { describe, expect, it } from '@jest/globals';
import { isMasked, isWhole, mayBe } from './mobile-number.ts';

describe('a mobile number', () => {
  it.each<[string | null, boolean]>([
    [null, true],
    ['13800000001', true],
    ['+86 138-0000-0001', true],
    ['(030) 12 34/56', true],
    ['138****0001', false],
    ['138xxxx0001', false],
    ['138••••0001', false],
    ['0001', false],
    ['******', false],
    ['138…0001', false],
    ['138....0001', false],
    ['138----0001', false],
    ['138    0001', false],
    ['138 - - 0001', false],
    [' 13800000001 ', true],
  ])('that is shown as %s is whole: %s', (shown, whole) => {
    expect(isWhole(shown)).toBe(whole);
  });

  it.each(['138****0001', '138XXXX0001', '138####0001', '***', '138....0001', '138----0001'])(
    '%s is masked',
    (mobile) => {
      expect(isMasked(mobile)).toBe(true);
    },
  );

  it.each([undefined, null, '', '13800000001', '+86 138 0000 0001', '12 x 3', '138.0000-0001'])(
    '%s is not masked',
    (mobile) => {
      expect(isMasked(mobile)).toBe(false);
    },
  );

  it.each<[string, string, boolean]>([
    ['13800000001', '138****0001', true],
    ['+86 138 0000 0001', '138****0001', true],
    ['13900000001', '138****0001', false],
    ['13800000002', '138****0001', false],
    ['13800000001', '*******0001', true],
    ['13800000001', '138....0001', true],
    ['13800000001', '138    0001', true],
    ['13900000001', '138----0001', false],
    ['13800000001', '0001', true],
    ['13800000001', '******', true],
    ['', '138****0001', false],
  ])('%s may be the one of which %s is shown: %s', (number, shown, may) => {
    expect(mayBe(number, shown)).toBe(may);
  });

  it('of very many digits is compared in milliseconds', () => {
    const started = performance.now();
    expect(mayBe('13800000001', `${'1'.repeat(300_000)}x`)).toBe(false);
    // A search that begins at each digit takes half a minute.
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
