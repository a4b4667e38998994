import { describe, expect, it } from '@jest/globals';
import { asksForFresh } from './make-call.ts';

describe('a request asks for a fresh response', () => {
  it.each(['no-cache', 'No-Cache', 'max-age=0, no-cache', ' no-cache '])('with %j', (header) => {
    expect(asksForFresh(header)).toBe(true);
  });

  it.each([undefined, '', 'no-cache=x', 'no-cachex', 'only-if-cached'])('not with %j', (header) => {
    expect(asksForFresh(header)).toBe(false);
  });
});
