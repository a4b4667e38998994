import { describe, expect, it } from '@jest/globals';
import { newSecret } from '../../test/support/canary.ts';
import { leakShapes } from '../../test/support/leak-shapes.ts';
import { errorSummary } from './error-summary.ts';

describe('the kind and place of a failure', () => {
  it('tell where it came from', () => {
    const { error, stack } = errorSummary(new RangeError('too\n    at much'));
    expect(error).toBe('RangeError');
    expect(stack).toMatch(/^ {4}at .*error-summary\.spec\.ts:\d+:\d+/);
    expect(stack).not.toContain('much');
  });

  it.each([
    [
      new TypeError("Cannot read properties of undefined (reading 'items')"),
      "Cannot read properties of undefined (reading 'items')",
    ],
    [new Error('connect ECONNREFUSED 127.0.0.1:6379'), 'connect ECONNREFUSED 127.0.0.1:6379'],
    [
      new SyntaxError('Unexpected token, "Summer2024" is not valid JSON'),
      'Unexpected token, "[secret]" is not valid JSON',
    ],
    [new Error('one\n{"event":"forged"}'), 'one {"[secret]":"[secret]"}'],
    [new Error('at redis://me:hidden@host:1'), 'at redis://[secret]@host:1'],
    [new Error('x'.repeat(9_000)), 'x'.repeat(300)],
    [new Error(`login with lgw_${'key'.repeat(14)} failed`), 'login with [secret] failed'],
    [new Error(`login with ${'aBCd'.repeat(8)} failed`), 'login with [secret] failed'],
    [
      new Error('MemberImportsDispatcher: ERR_HTTP_HEADERS_SENT'),
      'MemberImportsDispatcher: ERR_HTTP_HEADERS_SENT',
    ],
  ])('have its message, without what it quotes: %p', (thing, message) => {
    expect(errorSummary(thing).message).toBe(message);
  });

  const secret = `${newSecret('t')}1`;
  it.each(Object.entries(leakShapes(secret)))('have no secret in them, leaked by %s', (_, thing) => {
    const told = errorSummary(thing);
    expect(JSON.stringify(told)).not.toContain(secret);
    expect(JSON.stringify(told)).not.toContain(Buffer.from(secret).toString('base64').slice(4, -6));
    if (thing instanceof Error) expect(told.stack).toContain('    at ');
  });

  it.each([undefined, null, 5, Symbol('x')])('of %p are its type', (thing) => {
    expect(errorSummary(thing)).toEqual({ error: typeof thing, message: '', stack: '' });
  });
});
