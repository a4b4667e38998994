import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asksForFresh, etagOf, isNamed } from './etag.ts';

describe('an entity tag', () => {
  it('is strong, of the content, and fit for a header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (one, other) => {
        expect(etagOf(one)).toMatch(/^"[\w-]{22}"$/);
        expect(etagOf(one) === etagOf(other)).toBe(one === other);
      }),
    );
  });

  const etag = etagOf('content');

  it.each([
    ['alone', etag],
    ['weakly', `W/${etag}`],
    ['in a list', `"a", W/"b,c" ,${etag}`],
    ['after one with commas', `"a,b,",${etag}`],
    ['as anything', ' * '],
  ])('is named %s', (_, header) => {
    expect(isNamed(header, etag)).toBe(true);
  });

  it.each([
    ['no header', undefined],
    ['an empty one', ''],
    ['another', etagOf('other')],
    ['the tag without quotes', etag.slice(1, -1)],
    ['the tag as a part', `"${etag.slice(1, -1)}x"`],
    ['a quoted star', '"*"'],
    ['a star in a list', '"a", *'],
    ['an open quote', etag.slice(0, -1)],
  ])('is not named by %s', (_, header) => {
    expect(isNamed(header, etag)).toBe(false);
  });
});

describe('a request asks for a fresh answer', () => {
  it.each(['no-cache', 'No-Cache', 'max-age=0, no-cache', ' no-cache '])('with %j', (header) => {
    expect(asksForFresh(header)).toBe(true);
  });

  it.each([undefined, '', 'no-cache=x', 'no-cachex', 'only-if-cached'])('not with %j', (header) => {
    expect(asksForFresh(header)).toBe(false);
  });
});
