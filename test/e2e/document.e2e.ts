import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { document, type OpenApiOperation } from '../support/contract.ts';
import { useStack } from '../support/stack.ts';

const { gateway } = useStack();

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly securitySchemes: object; readonly schemas: object };
}

/** What a caller can send and get, without the schemas, which the versions of OpenAPI write in different ways. */
function surface({ paths }: Document): unknown[] {
  const types = (content: object = {}) => Object.keys(content);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses, ...operation }]) => ({
      ...operation,
      ...{ path, method },
      parameters: parameters.map((each) => [each.name, each.in, each.required]),
      body: types(requestBody?.content),
      responses: Object.entries(responses).map(([status, response]) => [
        ...[status, response.description, types(response.content), Object.keys(response.headers ?? {})],
      ]),
    })),
  );
}

describe('documentation', () => {
  it.each([
    ['/openapi.json', 'accept-encoding'],
    ['/openapi-3.0.json', 'accept-encoding'],
    ['/postman-collection.json', 'accept-encoding'],
    ['/problems', 'accept, accept-encoding'],
  ])(
    'S11 %s is made once: a client with a current copy gets 304, and others may get gzip or brotli',
    async (path, vary) => {
      const url = gateway.url + path;
      const plain = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
      const text = await plain.text();
      expect(plain.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/);
      expect(plain.headers.get('vary')).toBe(vary);
      for (const coding of ['gzip', 'br']) {
        const coded = await request(url, { headers: { 'accept-encoding': coding } });
        expect([coded.statusCode, coded.headers['content-encoding']]).toEqual([200, coding]);
        const bytes = Buffer.from(await coded.body.arrayBuffer());
        expect((coding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString()).toBe(text);
        expect(bytes.length).toBeLessThan(text.length / 2);
        const etag = coded.headers['etag'] as string;
        expect(etag).not.toBe(plain.headers.get('etag'));
        const again = await request(url, { headers: { 'accept-encoding': coding, 'if-none-match': etag } });
        expect([again.statusCode, await again.body.text()]).toEqual([304, '']);
      }
      const none = await request(url, { headers: { 'accept-encoding': 'br;q=0, deflate' } });
      expect(none.headers['content-encoding']).toBeUndefined();
      await none.body.dump();
    },
  );

  it.each([
    '/docs',
    '/docs/',
    '/docs/page.js',
    '/docs/changelog',
    '/docs/recipes',
    '/problems',
    '/problems/forbidden',
    '/openapi.json',
    '/openapi-3.0.json',
    '/postman-collection.json',
  ])('S16 %s does not work inside another page, nor with a script of another origin', async (path) => {
    const { status, headers } = await fetch(gateway.url + path, { headers: { accept: 'text/html' } });
    expect(status).toBe(200);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/script-src[^;]*unsafe|https?:|\*/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('is where the root leads to', async () => {
    const { status, headers } = await fetch(`${gateway.url}/`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([302, '/docs']);
  });

  it.each(['/openapi.json', '/openapi-3.0.json'])(
    'offers the ways to authenticate that are configured (%s)',
    async (path) => {
      const served = (await (await fetch(gateway.url + path)).json()) as Document;
      expect(Object.keys(served.paths)).toEqual(Object.keys(document.paths));
      // This gateway has no issuer of tokens.
      expect(Object.keys(served.components.securitySchemes)).toEqual(['apiKey']);
      expect(JSON.stringify(served)).not.toContain('"bearer"');
    },
  );

  it('has a valid copy in OpenAPI 3.0, with the same operations, parameters and responses', async () => {
    const text = async (path: string) => (await fetch(gateway.url + path)).text();
    const copied = await text('/openapi-3.0.json');
    const file = join(mkdtempSync(join(tmpdir(), 'openapi-')), 'openapi-3.0.json');
    writeFileSync(file, copied);
    // These options are those of `npm run check:api`: it has the schema of each version of OpenAPI, and checks the examples against their
    // schemas.
    const lint = ['lint', '--skip-rule=no-unused-components', '--format=json', file];
    const { stdout } = await promisify(execFile)('node_modules/.bin/redocly', lint).finally(() =>
      rmSync(dirname(file), { recursive: true }),
    );
    expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0 } });
    const copy = JSON.parse(copied) as Document;
    const served = JSON.parse(await text('/openapi.json')) as Document;
    expect([served.openapi, copy.openapi]).toEqual(['3.1.0', '3.0.3']);
    expect(surface(served).length).toBeGreaterThan(50);
    expect(surface(copy)).toEqual(surface(served));
    expect(Object.keys(copy.components.schemas)).toEqual(Object.keys(served.components.schemas));
  });

  it('has the changelog as a page, with links to what the gateway serves', async () => {
    const page = await (await fetch(`${gateway.url}/docs/changelog`)).text();
    expect(page).toMatch(/<h1 id="changes">Changes<\/h1>.*<h2 id="010">0\.1\.0<\/h2>/s);
    expect(page).toContain('<a href="#010">0.1.0</a>');
    expect(page).toContain('<a href="/openapi.json">');
    expect(page).not.toMatch(/\]\(|^- /m);
  });

  it('has the recipes as a page, whose sections have the anchors of the file', async () => {
    const page = await (await fetch(`${gateway.url}/docs/recipes`)).text();
    expect(page).toMatch(/<a href="#2-renew">2\. Renew<\/a>.*<h2 id="2-renew">2\. Renew<\/h2>/s);
    expect(page).toContain('<a href="/openapi.json">');
    expect(page).not.toMatch(/\]\([a-z./]+\)|^(?:- |```)/m);
  });
});
