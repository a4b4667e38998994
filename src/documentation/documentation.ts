import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { JwtCallers } from '../caller/jwt-callers.ts';
import { ListenConfig } from '../config/app-config.ts';
import { contentTypeOf } from '../operation/static-content.ts';
import { pagePart } from '../operation/page-parts.ts';
import { openApiDocument, type ResponseExamples } from '../operation/openapi/document.ts';
import { BEARER } from '../operation/openapi/operation-description.ts';
import { markdownHtml } from '../shared/markdown.ts';
import { lazily } from '../shared/lazily.ts';
import { shippedFile } from '../shared/shipped-file.ts';
import { FixedContent, linked, sendFixed, servePage } from '../operation/fixed-content.ts';
import { page, PAGE_POLICY } from './problem-pages.ts';

const require = createRequire(import.meta.url);
/** Documents of the repository that are also pages, by their file names. */
const PAGES = {
  changelog: { title: 'Changes', file: new URL('../../CHANGELOG.md', import.meta.url) },
  recipes: { title: 'Recipes', file: new URL('../../docs/recipes.md', import.meta.url) },
};
const EXAMPLES = new URL('../../config/response-examples.json', import.meta.url);
const OPENAPI_30 = new URL('../../config/openapi-3.0.json', import.meta.url);
const POSTMAN = new URL('../../config/postman-collection.json', import.meta.url);

const SWAGGER_UI = ['swagger-ui.css', 'swagger-ui-bundle.js'];
const OWN = [
  'page.css',
  'page.js',
  'prepare.js',
  'plugin.js',
  'complete.js',
  'samples.js',
  'fields.js',
  'search.js',
  'entries.js',
  'tasks.json',
  'list.js',
];
const PARTS = ['icon.svg', 'credential.js', 'copy.js'];

/** Allows scripts, styles and requests of this origin only, and data URLs for the icons of Swagger UI. */
const UI_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves the OpenAPI document, its copy in OpenAPI 3.0, a collection for Postman, and the page that shows the document. Files are read at
 * the start. Everything that is made of them is made at the first request.
 */
export function serveDocumentation(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  const { publicPath } = app.get(ListenConfig);
  const own = (name: string) => new URL(`api-page/${name}`, import.meta.url);
  const packaged = pathToFileURL(require.resolve('swagger-ui-dist/package.json'));
  const index = new FixedContent(
    contentTypeOf('index.html'),
    linked(shippedFile(own('index.html')).toString(), publicPath),
    UI_POLICY,
  );
  const pages = new Map(
    Object.entries(PAGES).map(([name, { title, file }]) => {
      const markdown = shippedFile(file).toString();
      const content = () =>
        new FixedContent(
          contentTypeOf(`${name}.html`),
          linked(documentHtml(title, markdown), publicPath),
          PAGE_POLICY,
        );
      return [name, lazily(content)];
    }),
  );
  const files = new Map([
    ...SWAGGER_UI.map((name) => [name, fileContent(new URL(name, packaged))] as const),
    ...OWN.map((name) => [name, fileContent(own(name))] as const),
    ...PARTS.map((name) => [name, fileContent(pagePart(name))] as const),
  ]);
  const examples = shippedFile(EXAMPLES).toString();
  const copy = shippedFile(OPENAPI_30);
  const collection = fileContent(POSTMAN);
  const json = (make: () => OpenAPIObject) =>
    lazily(() => {
      const api = withAccepted(app, make());
      if (publicPath !== '') api.servers = [{ url: publicPath }];
      return new FixedContent(contentTypeOf('openapi.json'), linked(JSON.stringify(api), publicPath));
    });
  const document = json(() => openApiDocument(app, JSON.parse(examples) as ResponseExamples));
  const document30 = json(() => JSON.parse(copy.toString()) as OpenAPIObject);
  fastify.get('/', (_request, reply) => reply.redirect('/docs', 302));
  fastify.get('/openapi.json', (request, reply) => sendFixed(document(), request, reply));
  fastify.get('/openapi-3.0.json', (request, reply) => sendFixed(document30(), request, reply));
  fastify.get('/postman-collection.json', (request, reply) => sendFixed(collection, request, reply));
  servePage(app, '/docs', index, (name) => pages.get(name)?.() ?? files.get(name));
}

/** Returns a document that begins with links to its sections. */
function documentHtml(title: string, markdown: string): string {
  const html = markdownHtml(markdown.replaceAll(/\((?:\.\.\/)?config\/openapi\.json\)/g, '(/openapi.json)'));
  const sections = [...html.matchAll(/<h2 id="([^"]*)">(.*)<\/h2>/g)];
  const links = sections.map(([, id, heading]) => `<a href="#${id}">${heading}</a>`).join(' · ');
  return page(title, `${html.replace('</h1>', `</h1>\n<p>${links}</p>`)}<p><a href="/docs">The API</a></p>`);
}

/** Leaves out bearer tokens if no issuer is configured. */
function withAccepted(app: NestFastifyApplication, document: OpenAPIObject): OpenAPIObject {
  if (app.get(JwtCallers).accepted) return document;
  delete document.components?.securitySchemes?.[BEARER];
  for (const path of Object.values(document.paths))
    for (const operation of Object.values(path as object) as { security?: object[] }[])
      operation.security = operation.security?.filter((scheme) => !(BEARER in scheme));
  return document;
}

function fileContent(file: URL): FixedContent {
  return new FixedContent(contentTypeOf(file.pathname), shippedFile(file));
}
