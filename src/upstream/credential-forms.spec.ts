import { describe, expect, it } from '@jest/globals';
import { readings } from '../config/readings.ts';
import { freshNonce, tokenHeader } from './credential-forms.ts';

const FORMS = {
  any: /^[\da-f]{32}$/,
  uuid: /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  digits: /^\d{18}$/,
  short: /^[\dA-Za-z]{16}$/,
};

describe('a nonce', () => {
  it.each(readings.nonceForm.values)('of the form %s has it every time, and is never the same', (form) => {
    const nonces = Array.from({ length: 10_000 }, () => freshNonce(form));
    expect(nonces.filter((nonce) => !FORMS[form].test(nonce))).toEqual([]);
    expect(new Set(nonces).size).toBe(nonces.length);
  });

  it('is 32 hex digits while its form is not known', () => {
    expect(freshNonce(undefined)).toMatch(FORMS.any);
  });
});

it('a token stands alone in its header unless the platform is known to want `Bearer`', () => {
  expect([undefined, 'bare', 'bearer'].map((form) => tokenHeader(form as 'bare', 't'))).toEqual([
    ...['t', 't', 'Bearer t'],
  ]);
});
