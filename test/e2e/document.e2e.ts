import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { document } from '../support/contract.ts';
import { useStack } from '../support/stack.ts';

const { gateway } = useStack();

describe('documentation', () => {
  it.each([
    ['/openapi.json', 'accept-encoding'],
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
    '/problems',
    '/problems/forbidden',
    '/openapi.json',
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

  it('offers the ways to authenticate that are configured', async () => {
    const served = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
      paths: object;
      components: { securitySchemes: object };
    };
    expect(Object.keys(served.paths)).toEqual(Object.keys(document.paths));
    // This gateway has no issuer of tokens.
    expect(Object.keys(served.components.securitySchemes)).toEqual(['apiKey']);
    expect(JSON.stringify(served)).not.toContain('"bearer"');
  });

  it('has the changelog as a page, with links to what the gateway serves', async () => {
    const page = await (await fetch(`${gateway.url}/docs/changelog`)).text();
    expect(page).toMatch(/<h1>Changes<\/h1>.*<h2>0\.1\.0<\/h2>/s);
    expect(page).toContain('<a href="/openapi.json">');
    expect(page).not.toMatch(/\]\(|^- /m);
  });
});
