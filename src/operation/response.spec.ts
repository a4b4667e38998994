import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { etagOf, isNamed, JsonPage, pageLinks, responseOf } from './response.ts';

function linksOf(page: number, totalPages: number, url = '/v1/members?page=2&pageSize=5&keyword=a'): unknown {
  const header = pageLinks({ items: [], page, pageSize: 5, total: 0, totalPages }, url) ?? '';
  const links = header.matchAll(/<([^>]+)>; rel="(\w+)"/g);
  return Object.fromEntries([...links].map(([, target, relation]) => [relation, target]));
}

const at = (page: number) => `/v1/members?page=${page}&pageSize=5&keyword=a`;

it.each([[[]], [[{ name: 'é' }]], [[{ a: [1, null] }, 'two', { b: {} }]]])(
  'a page that becomes JSON item by item is the same as one that becomes JSON at once: %j',
  (items) => {
    const rest = { page: 2, pageSize: 3, total: 9, totalPages: 3 };
    const page = new JsonPage();
    for (const item of items) page.add(item);
    const { body, ...made } = responseOf(page.end(rest), at(2));
    const { body: expected, ...whole } = responseOf({ items, ...rest }, at(2));
    expect([body.toString(), made]).toEqual([expected, whole]);
    expect(page.bytes).toBe(Buffer.byteLength(expected));
  },
);

describe('links of a page', () => {
  it('lead to its neighbours and the ends, with the rest of the query', () => {
    expect(linksOf(2, 4)).toEqual({ first: at(1), prev: at(1), next: at(3), last: at(4) });
  });

  it('lead to nowhere that is not there', () => {
    expect(linksOf(1, 1)).toEqual({ first: at(1), last: at(1) });
    expect(linksOf(1, 2)).toEqual({ first: at(1), next: at(2), last: at(2) });
    expect(linksOf(2, 2)).toEqual({ first: at(1), prev: at(1), last: at(2) });
    expect(linksOf(1, 0)).toEqual({ first: at(1), last: at(1) });
  });

  it('lead back from beyond the last', () => {
    expect(linksOf(9, 3)).toEqual({ first: at(1), prev: at(3), last: at(3) });
  });

  it('are those that a URL makes of the request, whatever it contains', () => {
    const text = fc.string({ unit: fc.constantFrom(...'aZ09-_.~*%+ ,;/:@é\'"!'), maxLength: 4 });
    const encoded = fc.oneof(text.map(encodeURIComponent), fc.stringMatching(/^[\w.~*-]{0,5}$/));
    const path = fc.array(encoded, { minLength: 1, maxLength: 3 });
    const name = fc.oneof(fc.constantFrom('page', 'pageSize', 'keyword'), encoded);
    const query = fc.array(fc.tuple(name, fc.constantFrom('=', '==', ''), encoded), { maxLength: 4 });
    const isKnown = fc.property(path, query, (segments, pairs) => {
      const url = `/v1/${segments.join('/')}${pairs.length > 0 ? '?' : ''}${pairs.map((pair) => pair.join('')).join('&')}`;
      const target = new URL(url, 'http://gateway.invalid');
      target.searchParams.set('page', '7');
      expect(linksOf(7, 7, url)).toMatchObject({ last: target.pathname + target.search });
    });
    fc.assert(isKnown, { numRuns: 500 });
  });

  it('are fewer where a long query would make a header that clients refuse', () => {
    const relations = (page: number, text: string) =>
      Object.keys(linksOf(page, 4, `/v1/members?page=${page}&keyword=${text}`) as object);
    expect(relations(2, 'a'.repeat(2_000))).toEqual(['first', 'prev', 'next', 'last']);
    expect(relations(2, 'a'.repeat(8_000))).toEqual(['next']);
    expect(relations(4, 'a'.repeat(8_000))).toEqual([]);
    // A comma is encoded by three characters.
    expect(relations(2, ','.repeat(8_000))).toEqual([]);
  });

  it('are for pages only', () => {
    for (const other of [undefined, null, [], 'page', { items: [] }, { page: 1, pageSize: 20 }]) {
      expect(pageLinks(other, '/v1/x')).toBeUndefined();
    }
  });
});

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
    ['as Apache names it compressed', etag.replace(/"$/, '-gzip"')],
    ['as Jetty names it compressed', `W/${etag.replace(/"$/, '--gzip"')}`],
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
    ['the tag with what is no coding', etag.replace(/"$/, '-zip"')],
    ['the tag with two codings', etag.replace(/"$/, '-br-gzip"')],
    ['a star in a list', '"a", *'],
    ['an open quote', etag.slice(0, -1)],
  ])('is not named by %s', (_, header) => {
    expect(isNamed(header, etag)).toBe(false);
  });
});
