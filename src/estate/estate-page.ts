import { extname } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ListenConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { shippedFile } from '../shared/shipped-file.ts';

/** A file of a page. */
export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

const FILES = ['estate.css', 'estate.js', 'picture.js', 'api.js'];
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};
/** Allows scripts, styles and requests of this origin only. Text never becomes markup. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cache-control': 'public, max-age=300',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Serves `/estate`, a page that asks for the reader's key and calls the API with it. `shared`: the files that it has of the console's page. */
export function serveEstatePage(app: NestFastifyApplication, shared: ReadonlyMap<string, PageFile>): void {
  const { publicPath } = app.get(ListenConfig);
  const own = (name: string) => shippedFile(new URL(`estate-page/${name}`, import.meta.url));
  const index = own('index.html').toString().replaceAll('="/estate/', `="${publicPath}/estate/`);
  const files = new Map([
    ...shared,
    ...FILES.map((name) => [name, { type: TYPES[extname(name)] ?? '', bytes: own(name) }] as const),
  ]);
  const page = { type: 'text/html; charset=utf-8', bytes: Buffer.from(index) };
  const fastify = app.getHttpAdapter().getInstance();
  for (const path of ['/estate', '/estate/'])
    fastify.get(path, (_request, reply) => reply.headers(HEADERS).type(page.type).send(page.bytes));
  fastify.get<{ Params: { file: string } }>('/estate/:file', (request, reply) => {
    const file = files.get(request.params.file);
    if (!file) throw new ProblemException('not-found');
    return reply.headers(HEADERS).type(file.type).send(file.bytes);
  });
}
