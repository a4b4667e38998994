import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ListenConfig } from '../config/app-config.ts';
import { FixedContent, linked, sendFixed } from '../operation/fixed-content.ts';
import { contentTypeOf } from '../operation/static-content.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { shippedFile } from '../shared/shipped-file.ts';

const FILES = ['estate.css', 'estate.js', 'picture.js', 'api.js'];
/** Allows scripts, styles and requests of this origin only. Text never becomes markup. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Serves `/estate`, a page that asks for the reader's key and calls the API with it. `shared` are the files that it takes from the console's page. */
export function serveEstatePage(app: NestFastifyApplication, shared: ReadonlyMap<string, Buffer>): void {
  const { publicPath } = app.get(ListenConfig);
  const own = (name: string) => shippedFile(new URL(`estate-page/${name}`, import.meta.url));
  const fixed = (name: string, content: string | Buffer) =>
    new FixedContent(contentTypeOf(name), content, POLICY);
  const index = fixed('index.html', linked(own('index.html').toString(), publicPath));
  const files = new Map([
    ...[...shared].map(([name, bytes]) => [name, fixed(name, bytes)] as const),
    ...FILES.map((name) => [name, fixed(name, own(name))] as const),
  ]);
  const fastify = app.getHttpAdapter().getInstance();
  for (const path of ['/estate', '/estate/'])
    fastify.get(path, (request, reply) => sendFixed(index, request, reply));
  fastify.get<{ Params: { file: string } }>('/estate/:file', (request, reply) => {
    const file = files.get(request.params.file);
    if (!file) throw new ProblemException('not-found');
    return sendFixed(file, request, reply);
  });
}
