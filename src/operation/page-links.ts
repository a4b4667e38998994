interface Page {
  readonly page: number;
  readonly totalPages: number;
}

/** The `Link` header (RFC 8288) of a page; undefined for every other result. `url` is that of the request. */
export function pageLinks(result: unknown, url: string): string | undefined {
  if (!isPage(result)) return undefined;
  const { page } = result;
  const last = Math.max(1, result.totalPages);
  const links = { first: 1, prev: Math.min(page - 1, last), next: page + 1, last };
  return Object.entries(links)
    .filter(([, target]) => target >= 1 && target <= last)
    .map(([relation, target]) => `<${withPage(url, target)}>; rel="${relation}"`)
    .join(', ');
}

/** Path and query of the URL with another page number, encoded for the header. */
function withPage(url: string, page: number): string {
  const target = new URL(url, 'http://gateway.invalid');
  target.searchParams.set('page', String(page));
  return target.pathname + target.search;
}

function isPage(result: unknown): result is Page {
  const { page, pageSize, totalPages } = (result ?? {}) as Record<string, unknown>;
  return [page, pageSize, totalPages].every(Number.isInteger);
}
