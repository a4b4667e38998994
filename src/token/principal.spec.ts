import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { accessToken, principalName } from './principal.ts';

const value = randomBytes(24).toString('base64url');
const lifeOf = (expiresIn: unknown) => accessToken(value, expiresIn);

describe('the life of a token', () => {
  // A token is used until expires_in minus the larger of 60 s and 10 %, or for half of its life if that is under 120 s.
  it.each<[string, unknown, seconds: number]>([
    ['an hour', 3600, 3240],
    ['two minutes: 60 s early', 120, 60],
    ['just under two minutes: half of it', 119, 59.5],
    ['a second: half of it', 1, 0.5],
    ['no life: for this call only', 0, 0],
    ['a negative life: for this call only', -5, 0],
    ['text', '3600', 3240],
    ['a fraction', 3600.5, 3240.45],
    ['more than a day: one day', 86_401, 77_760],
    ['for ever: one day', Infinity, 77_760],
    ['nothing: five minutes', undefined, 240],
    ['empty text: five minutes', '', 240],
    ['a word: five minutes', 'soon', 240],
    ['an object: five minutes', {}, 240],
    ['not a number: five minutes', NaN, 240],
  ])('of %s', (_, expiresIn, seconds) => {
    expect(lifeOf(expiresIn)?.usableMs).toBe(Math.floor(seconds * 1000));
  });

  it('is renewed in the background from 72 % to 88 % of its use on, never after it', () => {
    const renewal = (random: number) => accessToken(value, 3600, () => random)?.renewAfterMs;
    expect(renewal(0)).toBe(Math.floor(3_240_000 * 0.72));
    expect(renewal(0.5)).toBe(Math.floor(3_240_000 * 0.8));
    fc.assert(
      fc.property(
        fc.anything(),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (expiresIn, random) => {
          const { usableMs = -1, renewAfterMs = -1 } = accessToken(value, expiresIn, () => random) ?? {};
          expect(usableMs).toBeGreaterThanOrEqual(0);
          expect(usableMs).toBeLessThanOrEqual(24 * 3_600_000);
          expect(renewAfterMs).toBeGreaterThanOrEqual(0);
          expect(renewAfterMs).toBeLessThanOrEqual(usableMs * 0.88);
        },
      ),
    );
  });
});

describe('a usable token', () => {
  it('is visible ASCII, since it becomes a header', () => {
    for (const usable of ['a', '~!"#', 'a.b-c_d/e+f=', 'x'.repeat(8_192)])
      expect(accessToken(usable, 60)?.value).toBe(usable);
  });

  it.each([
    ['empty', ''],
    ['20 kB long', 'x'.repeat(20_000)],
    ['of two lines', `${value}\r\nx-evil: 1`],
    ['ended by a line break', `${value}\n`],
    ['with a space', `${value} ${value}`],
    ['not ASCII', `${value}é`],
    ['a number', 5],
    ['nothing', undefined],
  ])('T9 is not %s', (_, unusable) => {
    expect(accessToken(unusable, 3600)).toBeUndefined();
  });

  it('has a version that does not reveal it', () => {
    const [one, same, other] = [value, value, `${value}x`].map((each) => accessToken(each, 60)?.version);
    expect(one).toBe(same);
    expect(one).not.toBe(other);
    expect(value).not.toContain(one);
  });
});

it('a principal has a name for keys and metrics', () => {
  expect(principalName({ kind: 'application', scope: 'auth_order' })).toBe('app:auth_order');
  expect(principalName({ kind: 'application', scope: undefined })).toBe('app');
});
