import type { IncomingHttpHeaders } from 'node:http';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { etagOf, isNamed } from './response.ts';
import { lazily } from '../shared/lazily.ts';

/** The smallest content that is compressed. Smaller content fits into one packet without compression. */
const MIN_COMPRESSED_BYTES = 1_024;

/** The headers of every page. They stop a browser from guessing another content type, framing the content or sending a referrer. */
export const PAGE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** The Content-Security-Policy of a page with scripts: it allows scripts, styles and requests of this origin only. Text never becomes markup. */
export const SCRIPT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};

export function contentTypeOf(name: string): string {
  const type = TYPES[extname(name)];
  if (type === undefined) throw new Error(`no content type is known for ${name}`);
  return type;
}

/** The headers that say which caches may store the content, and what a browser may do with it. */
export type OwnHeaders = Readonly<
  Record<'cache-control' | 'content-security-policy', string> & Record<string, string>
>;

interface StaticResponse {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** The content. Undefined if the client already has it. */
  readonly body: Buffer | undefined;
}

/**
 * Content that is the same for every client and does not change while the process runs. Its bytes, its ETag and each coding are made once.
 */
export class StaticContent {
  readonly #bytes: Buffer;
  readonly #etag: string;
  readonly #codings = {
    br: lazily(() =>
      promisify(brotliCompress)(this.#bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
    ),
    gzip: lazily(() => promisify(gzip)(this.#bytes)),
  };

  constructor(
    private readonly type: string,
    content: string | Buffer,
    private readonly headers: OwnHeaders,
  ) {
    this.#bytes = Buffer.from(content);
    this.#etag = etagOf(this.#bytes);
  }

  async response(request: IncomingHttpHeaders): Promise<StaticResponse> {
    const isSmall = this.#bytes.length < MIN_COMPRESSED_BYTES;
    const coding = isSmall ? undefined : codingFor(request['accept-encoding']);
    const etag = coding ? this.#etag.replace(/"$/, `-${coding}"`) : this.#etag;
    const headers = { ...PAGE_HEADERS, ...this.headers, etag, vary: 'accept-encoding' };
    if (isNamed(request['if-none-match'], etag)) return { status: 304, headers, body: undefined };
    const body = coding ? await this.#codings[coding]() : this.#bytes;
    const own = { 'content-type': this.type, ...(coding && { 'content-encoding': coding }) };
    return { status: 200, headers: { ...headers, ...own }, body };
  }
}

/**
 * Returns the first coding of the gateway that the client accepts. A client does not accept a coding with a weight of 0 (RFC 9110 12.5.3).
 */
function codingFor(accepted: IncomingHttpHeaders['accept-encoding'] = ''): 'br' | 'gzip' | undefined {
  const names = [accepted]
    .flat()
    .join()
    .toLowerCase()
    .split(',', 20)
    .filter((each) => !/;\s*q=0(\.0*)?\s*$/.test(each))
    .map((each) => each.split(';')[0]?.trim());
  return (['br', 'gzip'] as const).find((coding) => names.includes(coding));
}
