import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { openApiDocument } from '../operation/document.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { FixedContent } from './fixed-content.ts';

const require = createRequire(import.meta.url);
const STYLE_FILE = require.resolve('swagger-ui-dist/swagger-ui.css');
const SCRIPT_FILE = require.resolve('swagger-ui-dist/swagger-ui-bundle.js');
const SCRIPT_TYPE = 'text/javascript; charset=utf-8';

const HTML = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Licensing gateway</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css"></head>
<body><div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script></body></html>
`;

const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
});
`;

/** Allows scripts and requests of this origin only. Swagger UI sets styles in its elements and has its icons as data URLs. */
const UI_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The OpenAPI document and Swagger UI. Everything is made once, at the first request. */
export function serveDocumentation(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  const files: Readonly<Record<string, () => FixedContent>> = {
    'swagger-ui.css': once(() => new FixedContent('text/css; charset=utf-8', readFileSync(STYLE_FILE))),
    'swagger-ui-bundle.js': once(() => new FixedContent(SCRIPT_TYPE, readFileSync(SCRIPT_FILE))),
    'start.js': once(() => new FixedContent(SCRIPT_TYPE, START)),
  };
  const page = new FixedContent('text/html; charset=utf-8', HTML, UI_POLICY);
  const document = once(
    () => new FixedContent('application/json; charset=utf-8', JSON.stringify(openApiDocument(app))),
  );
  fastify.get('/openapi.json', (request, reply) => send(document(), request, reply));
  for (const path of ['/docs', '/docs/']) fastify.get(path, (request, reply) => send(page, request, reply));
  fastify.get<{ Params: { file: string } }>('/docs/:file', (request, reply) => {
    const { file: name } = request.params;
    const content = Object.hasOwn(files, name) ? files[name] : undefined;
    if (!content) throw new ProblemException('not-found');
    return send(content(), request, reply);
  });
}

async function send(content: FixedContent, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  await reply.send(await content.respond(request, reply));
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
