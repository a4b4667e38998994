import { createHash, hash } from 'node:crypto';

/**
 * A result in the form that is sent. Node sends a text together with the headers in one write, and bytes in a second one. A long response
 * from the cache is bytes.
 */
export interface Response {
  readonly body: string | Buffer;
  readonly etag: string;
  readonly link: string | undefined;
}

/** `url` is that of the request. */
export function responseOf(result: unknown, url: string): Response {
  if (result instanceof JsonPage) return result.response(url);
  const body = JSON.stringify(result);
  return { body, etag: tagOf(result, body), link: pageLinks(result, url) };
}

/** The field with the content that is not sent, and on which the tag of a result depends too. */
const TAGGED = Symbol('tagged');

/** Returns the result with a tag that changes with `content` too. */
export function taggedWith<T extends object>(result: T, content: unknown): T {
  return { ...result, [TAGGED]: content };
}

export function tagOf(result: unknown, body = JSON.stringify(result)): string {
  const content = (result as { readonly [TAGGED]?: unknown } | null | undefined)?.[TAGGED];
  return etagOf(content === undefined ? body : body + JSON.stringify(content));
}

/** The length of a tag. 22 characters of base64url are 132 bits, so collisions by chance do not occur. */
const LENGTH = 22;

/** Returns a strong entity tag (RFC 9110 8.8.3) of the content only, so that tokens, replicas and restarts do not change it. */
export function etagOf(body: string | Buffer): string {
  return tagWith(hash('sha256', body, 'base64url'));
}

function tagWith(digest: string): string {
  return `"${digest.slice(0, LENGTH)}"`;
}

/** The coding that a compressing proxy appends to the tag of a response: Apache `-gzip` and `-br`, Jetty `--gzip`. */
const CODING = /--?(?:gzip|br|zstd|deflate)"$/;

/**
 * True if `If-None-Match` or `If-Match` (RFC 9110 13.1) names this content: a list, `*`, compared weakly, and also with a tag that a
 * compressing proxy has changed.
 */
export function isNamed(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  // Tags may contain commas, so a list is not split at them.
  return header.matchAll(/"[^"]*"/g).some(([named]) => named === etag || named.replace(CODING, '"') === etag);
}

interface Page {
  readonly items: readonly unknown[];
  readonly page: number;
  readonly pageSize: number;
  /** Null where the end of the list is not known. */
  readonly totalPages: number | null;
}

/**
 * A page whose items become JSON one by one, in the bytes that are sent. A thousand long items, as objects and as one text, would take more
 * than the heap, and the event loop for a second.
 */
export class JsonPage {
  readonly #parts: Buffer[] = [];
  readonly #hash = createHash('sha256');
  #page: Omit<Page, 'items'> | undefined;
  /** The length so far. */
  bytes = 0;

  add(item: unknown): void {
    this.#push(`${this.bytes === 0 ? '{"items":[' : ','}${JSON.stringify(item)}`);
  }

  /** `page` has the other fields. */
  end(page: Omit<Page, 'items'>): this {
    this.#page = page;
    this.#push(`${this.bytes === 0 ? '{"items":[' : ''}],${JSON.stringify(page).slice(1)}`);
    return this;
  }

  /** Returns the same response as that of a page with these items. */
  response(url: string): Response {
    const etag = tagWith(this.#hash.digest('base64url'));
    return { body: Buffer.concat(this.#parts), etag, link: pageLinks({ ...this.#page, items: [] }, url) };
  }

  #push(text: string): void {
    const part = Buffer.from(text);
    this.#parts.push(part);
    this.#hash.update(part);
    this.bytes += part.length;
  }
}

/** The form of a path and query that a `URL` would leave unchanged. */
const PLAIN = /^(?:\/[\w~-]+)+(?:\?[\w*-]+=[\w*.-]*(?:&[\w*-]+=[\w*.-]*)*)?$/;
const PAGE = /[?&]page=/;

function isPlain(url: string): boolean {
  return PLAIN.test(url) && url.indexOf('page=') === url.lastIndexOf('page=');
}

/** The most characters of a `Link` header. Many clients refuse a response whose headers have more than 16 KiB. */
const MAX_LINKS = 10 * 1024;

/**
 * Returns the `Link` header (RFC 8288) of a page. Undefined for every other result. `url` is that of the request. Each link repeats its query,
 * so a very long one gets only the link to the next page, or none.
 */
export function pageLinks(result: unknown, url: string): string | undefined {
  if (!isPage(result)) return undefined;
  const { page, totalPages } = result;
  const isFull = result.items.length === result.pageSize;
  const end = totalPages === null ? page + (isFull ? 1 : 0) : Math.max(1, totalPages);
  const [before, after] = aroundPage(url);
  const link = (relation: string, target: number): string =>
    target >= 1 && target <= end ? `, <${before}${target}${after}>; rel="${relation}"` : '';
  const next = link('next', page + 1);
  const links =
    link('first', 1) +
    link('prev', Math.min(page - 1, end)) +
    next +
    link('last', totalPages === null ? 0 : end);
  const short = [links, next].find(({ length }) => length <= MAX_LINKS) ?? '';
  return short.slice(', '.length) || undefined;
}

/** Returns path and query of the URL, encoded for the header: the part before the page number, and the part after it. */
function aroundPage(url: string): readonly [before: string, after: string] {
  // Nearly all URLs are plain, and two `URL`s for each page took a tenth of the time of a small page.
  const encoded = isPlain(url) ? url : withPage(url);
  const at = encoded.search(PAGE);
  if (at < 0) return [`${encoded}${encoded.includes('?') ? '&' : '?'}page=`, ''];
  const from = at + '?page='.length;
  const end = encoded.indexOf('&', from);
  return [encoded.slice(0, from), end < 0 ? '' : encoded.slice(end)];
}

function withPage(url: string): string {
  const target = new URL(url, 'http://gateway.invalid');
  target.searchParams.set('page', '1');
  return target.pathname + target.search;
}

function isPage(result: unknown): result is Page {
  const { items, page, pageSize, totalPages } = (result ?? {}) as Record<string, unknown>;
  return Array.isArray(items) && [page, pageSize, totalPages ?? 1].every(Number.isInteger);
}
