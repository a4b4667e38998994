import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { JwtCallers } from '../caller/jwt-callers.ts';
import { ListenConfig } from '../config/app-config.ts';
import { FixedContent, linked, servePage } from '../operation/fixed-content.ts';
import { pagePart } from '../operation/page-parts.ts';
import { contentTypeOf, SCRIPT_POLICY } from '../operation/static-content.ts';
import { shippedFile } from '../shared/shipped-file.ts';

const OWN = ['estate.css', 'estate.js', 'picture.js'];
const PARTS = ['base.css', 'dom.js', 'format.js', 'icon.svg', 'credential.js'];

/** Serves `/estate`, a page that asks for the reader's key and calls the API with it. */
export function serveEstatePage(app: NestFastifyApplication): void {
  const { publicPath } = app.get(ListenConfig);
  const own = (name: string) => shippedFile(new URL(`estate-page/${name}`, import.meta.url));
  const fixed = (name: string, content: string | Buffer) =>
    new FixedContent(contentTypeOf(name), content, SCRIPT_POLICY);
  const html = linked(own('index.html').toString(), publicPath);
  const accepts = app.get(JwtCallers).accepted ? ' data-tokens' : '';
  const index = fixed('index.html', html.replace('<html lang="en"', `$&${accepts}`));
  const files = new Map([
    ...OWN.map((name) => [name, fixed(name, own(name))] as const),
    ...PARTS.map((name) => [name, fixed(name, shippedFile(pagePart(name)))] as const),
  ]);
  servePage(app, '/estate', index, (name) => files.get(name));
}
