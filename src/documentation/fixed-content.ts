import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { etagOf, isNamed } from '../operation/response.ts';
import { lazily } from '../shared/shipped-file.ts';

/** A client without a key may send these requests, so they must cost nearly nothing. */
const MAX_AGE_S = 300;
/** Smaller content fits into one packet without compression. */
const MIN_COMPRESSED_BYTES = 1_024;

/** They stop a browser from guessing another content type, framing the content or sending a referrer. */
const HEADERS = {
  'cache-control': `public, max-age=${MAX_AGE_S}`,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** What begins a link to another path of the gateway: in HTML, in JSON and in Markdown. */
const LINKS = /((?:href|src)="|"type": ?"|\]\()\/(?=[a-z])/g;

/** A page or JSON whose links name the path under which a proxy shows the gateway. */
export function linked(content: string, publicPath: string): string {
  return publicPath === '' ? content : content.replaceAll(LINKS, `$1${publicPath}/`);
}

/** Content that is the same for every client and does not change while the process runs. Its bytes, its ETag and each coding are made once. */
export class FixedContent {
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
    /** The Content-Security-Policy. The default allows nothing. */
    private readonly policy = "default-src 'none'; frame-ancestors 'none'",
  ) {
    this.#bytes = Buffer.from(content);
    this.#etag = etagOf(this.#bytes);
  }

  /** Sets the headers of the response and returns its bytes; undefined where the client already has them. */
  async respond({ headers }: FastifyRequest, reply: FastifyReply): Promise<Buffer | undefined> {
    const coding =
      this.#bytes.length < MIN_COMPRESSED_BYTES ? undefined : codingFor(headers['accept-encoding']);
    const etag = coding ? this.#etag.replace(/"$/, `-${coding}"`) : this.#etag;
    void reply.headers(HEADERS).header('content-security-policy', this.policy).header('etag', etag);
    if (!reply.hasHeader('vary')) void reply.header('vary', 'accept-encoding');
    if (isNamed(headers['if-none-match'], etag)) {
      void reply.status(304);
      return undefined;
    }
    void reply.type(this.type);
    if (!coding) return this.#bytes;
    void reply.header('content-encoding', coding);
    return this.#codings[coding]();
  }
}

/** The first coding of the gateway that the client accepts; it does not accept one with a weight of 0 (RFC 9110 12.5.3). */
function codingFor(accepted = ''): 'br' | 'gzip' | undefined {
  const names = accepted
    .toLowerCase()
    .split(',', 20)
    .filter((each) => !/;\s*q=0(\.0*)?\s*$/.test(each))
    .map((each) => each.split(';')[0]?.trim());
  return (['br', 'gzip'] as const).find((coding) => names.includes(coding));
}

const text = (description: string) => ({ description, schema: { type: 'string' as const } });

const DOCUMENTED = {
  ETag: text('Entity tag of the content'),
  'Content-Security-Policy': text('What a browser may load for the page'),
  'X-Content-Type-Options': text('`nosniff`'),
  'X-Frame-Options': text('`DENY`'),
  'Referrer-Policy': text('`no-referrer`'),
  'Cross-Origin-Resource-Policy': text('`same-origin`'),
};

/** Describes fixed content in the OpenAPI document: as JSON, and as a page for a client that accepts `text/html`. */
export function ApiFixedContent(description: string, type: Type): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(type),
    ApiHeader({ name: 'If-None-Match', required: false, description: 'An `ETag`: 304 while it is the same' }),
    ApiResponse({
      status: 200,
      description,
      headers: { ...DOCUMENTED, 'Content-Encoding': text('`br` or `gzip`, where the client accepts it') },
      content: {
        'application/json': { schema: { $ref: getSchemaPath(type) } },
        'text/html': { schema: { type: 'string' } },
      },
    }),
    ApiResponse({
      status: 304,
      description: 'The content still has the `ETag` in `If-None-Match`',
      headers: DOCUMENTED,
    }),
  );
}
