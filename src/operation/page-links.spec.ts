import { describe, expect, it } from '@jest/globals';
import { pageLinks } from './page-links.ts';

function linksOf(page: number, totalPages: number, url = '/v1/members?page=2&pageSize=5&keyword=a'): unknown {
  const header = pageLinks({ items: [], page, pageSize: 5, total: 0, totalPages }, url) ?? '';
  const links = header.matchAll(/<([^>]+)>; rel="(\w+)"/g);
  return Object.fromEntries([...links].map(([, target, relation]) => [relation, target]));
}

const at = (page: number) => `/v1/members?page=${page}&pageSize=5&keyword=a`;

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

  it('name the page where the request did not, and stay encoded', () => {
    expect(linksOf(1, 2, '/v1/members?keyword=%3E%2C%22%C3%A9')).toMatchObject({
      next: '/v1/members?keyword=%3E%2C%22%C3%A9&page=2',
    });
  });

  it('are for pages only', () => {
    for (const result of [undefined, null, [], 'page', { items: [] }, { page: 1, pageSize: 20 }]) {
      expect(pageLinks(result, '/v1/x')).toBeUndefined();
    }
  });
});
