import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { retryAfterSeconds } from './retry-after.ts';

describe('Retry-After', () => {
  const now = Date.UTC(2026, 10, 21, 8, 0, 0);

  it.each<[string, string | string[] | undefined, number | undefined]>([
    ['seconds', '3', 3],
    ['no time', '0', 0],
    ['seconds between blanks', ' 30\t ', 30],
    ['an HTTP date and a blank', 'Sat, 21 Nov 2026 08:00:07 GMT ', 7],
    ['more than a minute', '61', 60],
    ['more digits than a number has', '9'.repeat(5_000), 60],
    ['an HTTP date', 'Sat, 21 Nov 2026 08:00:07 GMT', 7],
    ['an HTTP date in the past', 'Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['an obsolete HTTP date', 'Saturday, 21-Nov-26 08:00:07 GMT', 7],
    ['nothing', undefined, undefined],
    ['an empty header', '', undefined],
    ['a negative number', '-1', undefined],
    ['a fraction', '1.5', undefined],
    ['a hexadecimal number', '0x10', undefined],
    ['a date in another form', '2026-11-21T08:00:07Z', undefined],
    ['a word', 'soon', undefined],
    ['a day that is none', 'Sat, 99 Nov 2026 08:00:07 GMT', undefined],
    ['two headers', ['1', '2'], undefined],
    ['no header', [], undefined],
  ])('as %s', (_, header, seconds) => {
    expect(retryAfterSeconds(header, now)).toBe(seconds);
  });

  it('as the oldest form of a date is in GMT, wherever the gateway runs', () => {
    const path = new URL('retry-after.ts', import.meta.url).href;
    const program = `import { retryAfterSeconds } from '${path}';
      console.log(retryAfterSeconds('Sat Nov 21 08:00:07 2026', ${now}), retryAfterSeconds('Sun Nov  1 08:00:07 2026', ${now}));`;
    const run = (TZ: string) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        env: { TZ },
        encoding: 'utf8',
      });
    expect(['Asia/Shanghai', 'America/New_York', 'UTC'].map(run)).toEqual(['7 0\n', '7 0\n', '7 0\n']);
  });

  it('is a whole number from 0 to 60 or absent, for any text of the platform', () => {
    const header = fc.oneof(
      fc.string(),
      fc.bigInt().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(header, (text) => {
        const seconds = retryAfterSeconds(text, now) ?? 0;
        expect(Number.isInteger(seconds) && seconds >= 0 && seconds <= 60).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});
