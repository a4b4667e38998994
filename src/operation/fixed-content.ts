import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProblemException } from '../problem/problem.exception.ts';
import { conditional, ETAG, header } from './openapi/headers.ts';
import { StaticContent } from './static-content.ts';

/** The time for which clients may keep the content. A client without a key may send these requests, so they must cost almost nothing. */
const MAX_AGE_S = 300;
/** The beginning of a link to another path of the gateway: in HTML, in JSON and in Markdown. */
const LINKS = /((?:href|src)="|"type": ?"|\]\()\/(?=[a-z])/g;

/** Returns a page or JSON whose links contain the path under which a proxy shows the gateway. */
export function linked(content: string, publicPath: string): string {
  return publicPath === '' ? content : content.replaceAll(LINKS, `$1${publicPath}/`);
}

/** Static content on the public listener. */
export class FixedContent extends StaticContent {
  /** `policy` is the Content-Security-Policy. The default allows nothing. */
  constructor(type: string, content: string | Buffer, policy = "default-src 'none'; frame-ancestors 'none'") {
    super(type, content, {
      'cache-control': `public, max-age=${MAX_AGE_S}`,
      'content-security-policy': policy,
    });
  }

  /** Sets the headers of the response and returns its bytes. Undefined if the client already has them. */
  async respond(request: FastifyRequest, reply: FastifyReply): Promise<Buffer | undefined> {
    const { status, headers, body } = await this.response(request.headers);
    const { vary = headers['vary'] } = reply.getHeaders();
    void reply.status(status).headers({ ...headers, vary });
    return body;
  }
}

/** Answers with the content, or with 304 if the client already has it. */
export async function sendFixed(
  content: FixedContent,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  await reply.send(await content.respond(request, reply));
}

/** Serves a page at the path, with and without a slash at its end, and its files below. `fileOf` returns undefined for any other name. */
export function servePage(
  app: NestFastifyApplication,
  path: string,
  index: FixedContent,
  fileOf: (name: string) => FixedContent | undefined,
): void {
  const fastify = app.getHttpAdapter().getInstance();
  for (const each of [path, `${path}/`])
    fastify.get(each, (request, reply) => sendFixed(index, request, reply));
  fastify.get<{ Params: { file: string } }>(`${path}/:file`, (request, reply) => {
    const file = fileOf(request.params.file);
    if (!file) throw new ProblemException('not-found');
    return sendFixed(file, request, reply);
  });
}

const DOCUMENTED = {
  ...ETAG,
  'Content-Security-Policy': header('What a browser may load for the page'),
  'X-Content-Type-Options': header('`nosniff`'),
  'X-Frame-Options': header('`DENY`'),
  'Referrer-Policy': header('`no-referrer`'),
  'Cross-Origin-Resource-Policy': header('`same-origin`'),
};

/** Describes fixed content in the OpenAPI document: as JSON, and as a page for a client that accepts `text/html`. */
export function ApiFixedContent(description: string, type: Type): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(type),
    ...conditional(DOCUMENTED),
    ApiResponse({
      status: 200,
      description,
      headers: { ...DOCUMENTED, 'Content-Encoding': header('`br` or `gzip`, where the client accepts it') },
      content: {
        'application/json': { schema: { $ref: getSchemaPath(type) } },
        'text/html': { schema: { type: 'string' } },
      },
    }),
  );
}
