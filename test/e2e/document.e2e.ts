import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import ts from 'typescript';
import { OPERATION_POLICY, type OperationPolicy } from '../../src/caller/operation-policy.ts';
import { isScope, scopes } from '../../src/caller/scopes.ts';
import { problemSlugs } from '../../src/problem/catalogue.ts';
import { document, type DocumentedRoute, type Response, routes } from '../support/contract.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
let gateway: GatewayInProcess;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  gateway = await startInProcess(sandbox, {}, [{ name: 'stranger', scopes: [...scopes] }]);
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await gateway.stop();
  await sandbox.close();
});

/** Frozen: a developer who wants a new public route must add it here. */
const PUBLIC = ['getProblem', 'listProblems', 'live', 'ready'];

/** They lead nowhere on the platform. */
const OF_GATEWAY = [
  ...['getOrder', 'listOrders', 'settleOrder', 'listGaps', 'getCaller'],
  ...['listJobs', 'getJob', 'watchJob', 'getJobRows', 'cancelJob'],
];

const areas = routes.filter(({ template }) => template.startsWith('/v1/'));

interface Handler {
  readonly controller: string;
  readonly method: string;
  readonly policy: OperationPolicy | undefined;
}

function handlers(): Handler[] {
  const controllers = [...gateway.app.get(ModulesContainer).values()].flatMap((module) => [
    ...module.controllers.values(),
  ]);
  return controllers.flatMap(({ metatype }) => {
    const { name: controller, prototype } = metatype as { name: string; prototype: Record<string, object> };
    return Object.getOwnPropertyNames(prototype)
      .filter((method) => Reflect.hasMetadata(METHOD_METADATA, prototype[method] as object))
      .map((method) => ({
        controller,
        method,
        policy: Reflect.getMetadata(OPERATION_POLICY, prototype[method] as object) as
          OperationPolicy | undefined,
      }));
  });
}

/** The declared return type of each controller method: names of DTO classes, by `Controller.method`. */
function declaredResults(): Map<string, string[]> {
  const files = globSync('src/**/*.controller.ts').map((path) =>
    ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest),
  );
  const methods = files.flatMap((file) =>
    file.statements.filter(ts.isClassDeclaration).flatMap(({ name: controller, members }) =>
      members.filter(ts.isMethodDeclaration).map(({ name, type }): [string, string[]] => {
        const declared = type?.getText(file) ?? 'undeclared';
        const result = /^Promise<(.*)>$/s.exec(declared)?.[1] ?? declared;
        return [`${controller?.text}.${name.getText(file)}`, result.split('|').map((part) => part.trim())];
      }),
    ),
  );
  return new Map(methods);
}

/** The DTOs that the document shows for the successes of an operation. */
function documentedResults(operationId: string): string[] {
  const route = routes.find(({ operation }) => operation.operationId === operationId);
  const successes = Object.entries(route?.operation.responses ?? {}).filter(([status]) =>
    status.startsWith('2'),
  );
  return [...new Set(successes.map(([, { content }]) => resultOf(content)))];
}

function resultOf(content: Response['content']): string {
  const schema = content?.['application/json']?.schema as { $ref?: string } | undefined;
  if (schema) return `${schema.$ref?.split('/').at(-1)}Dto`;
  return content && Object.keys(content).some((type) => type !== 'text/html') ? 'StreamableFile' : 'void';
}

describe('every handler', () => {
  it('declares its scope, and is in the document under its operation id', () => {
    const policies = handlers().map(({ policy }) => policy);
    expect(policies).not.toContain(undefined);
    expect(policies.map((policy) => policy?.operationId).sort()).toEqual(
      routes.map(({ operation }) => operation.operationId).sort(),
    );
    const open = policies.filter((policy) => policy?.scope === 'public').map((policy) => policy?.operationId);
    expect(open.sort()).toEqual(PUBLIC);
    for (const policy of policies)
      expect(['public', 'none'].includes(policy?.scope ?? '') || isScope(policy?.scope ?? '')).toBe(true);
  });

  it('returns what the document shows: the DTOs of its successes, or nothing', () => {
    const declared = declaredResults();
    const rows = handlers().map(({ controller, method, policy }) => ({
      handler: `${controller}.${method}`,
      // A page for browsers has no schema; a response of bytes has that of the DTO beside it.
      returns: declared
        .get(`${controller}.${method}`)
        ?.filter((name) => !['string', 'Buffer', 'undefined'].includes(name))
        .sort(),
      documented: documentedResults(policy?.operationId ?? '').sort(),
    }));
    expect(rows.length).toBe(routes.length);
    for (const { handler, returns, documented } of rows)
      expect({ handler, returns }).toEqual({ handler, returns: documented });
  });
});

describe.each(areas.map((route) => ({ id: route.operation.operationId, route })))(
  '$id in the document',
  ({ route }) => {
    const { operation } = route;

    /** Sessions call the user center, which the interface leaves out. */
    const ofSession = route.template.startsWith('/v1/sessions');
    /** About the gateway itself: records of orders, gaps, the caller. */
    const ofGateway = OF_GATEWAY.includes(operation.operationId);

    it('has a summary, its scope and its platform operation, and needs a key or a token', () => {
      expect(operation.summary).toMatch(/^[A-Z].{10,}/);
      expect(operation.description).toMatch(/Scope: (`[a-z]+:[a-z]+`|none)/);
      if (!ofSession && !ofGateway) {
        expect(operation['x-upstream']).toEqual({
          operation: expect.any(String),
          method: expect.stringMatching(/^(GET|POST|PUT|DELETE)$/),
          path: expect.stringMatching(/^\/(order\/api\/order|me\/api)\/v1\//),
        });
      }
      expect(operation.security).toEqual([{ apiKey: [] }, { bearer: [] }]);
      const names = (operation.parameters ?? []).map(
        ({ name, in: where }) => `${where} ${name.toLowerCase()}`,
      );
      expect(new Set(names).size).toBe(names.length);
    });

    it('declares a success and every problem it can respond with, with an example of each', () => {
      const statuses = Object.keys(operation.responses);
      expect(statuses.some((status) => status.startsWith('2'))).toBe(true);
      expect(statuses).toContain('default');
      for (const [status, { content, description }] of Object.entries(operation.responses)) {
        expect(description).not.toBe('');
        if (/^[23]/.test(status)) continue;
        const { examples = {} } = content?.['application/problem+json'] ?? {};
        expect(Object.keys(examples).length).toBeGreaterThan(0);
        for (const [slug, { value }] of Object.entries(examples)) {
          expect(problemSlugs).toContain(slug);
          expect(value).toMatchObject({ code: slug, type: `/problems/${slug}` });
          if (status !== 'default') expect(value).toMatchObject({ status: Number(status) });
        }
      }
    });

    it('accepts an Idempotency-Key on every POST, and describes the response to a repeat', () => {
      const parameter = operation.parameters?.find(({ name }) => name === 'Idempotency-Key');
      expect(parameter !== undefined).toBe(route.method === 'POST');
      if (!parameter) return;
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['409', '422']));
      for (const [status, { headers = {} }] of Object.entries(operation.responses))
        if (/^(201|202|204|207|409|422|502|504)$/.test(status))
          expect(Object.keys(headers)).toContain('Idempotent-Replayed');
    });

    it('is refused to a caller without a grant, wherever it names an enterprise or a channel', async () => {
      const named = JSON.stringify([route.template, operation.parameters ?? [], operation.requestBody ?? {}]);
      if (!/"enterpriseGlobalId"|\{enterpriseGlobalId\}|"channelCode"/.test(named)) return;
      const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
      const answer = await gateway.request(route.method, withExamples(route, NAMES), {
        body: example?.value,
        key: gateway.keys['stranger'],
      });
      expect(answer.status).toBe(403);
      expect(await sandbox.calls()).toEqual([]);
    });
  },
);

/** The path and query that Swagger UI fills in from the document's examples. */
const NAMES = ['enterpriseGlobalId', 'channelCode'];

/** The required parameters, and these. */
function withExamples({ template, operation }: DocumentedRoute, also: readonly string[] = []): string {
  const exampleOf = (parameter: { example?: unknown; schema?: { example?: unknown } }) =>
    String(parameter.example ?? parameter.schema?.example);
  let path = template;
  const query = new URLSearchParams();
  for (const parameter of operation.parameters ?? []) {
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, exampleOf(parameter));
    if (parameter.in === 'query' && (parameter.required || also.includes(parameter.name)))
      query.set(parameter.name, exampleOf(parameter));
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

describe('documentation', () => {
  it('is served as a page and as OpenAPI 3.1', async () => {
    expect((await fetch(`${gateway.url}/docs`)).headers.get('content-type')).toMatch(/text\/html/);
    const served = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as typeof document;
    expect(Object.keys(served.paths)).toEqual(Object.keys(document.paths));
  });

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
    const served = await (await fetch(`${gateway.url}/openapi.json`)).json();
    // This gateway has no issuer of tokens.
    expect(Object.keys((served as any).components.securitySchemes)).toEqual(['apiKey']);
    expect(JSON.stringify(served)).not.toContain('"bearer"');
  });

  it('has the changelog as a page, with links to what the gateway serves', async () => {
    const page = await (await fetch(`${gateway.url}/docs/changelog`)).text();
    expect(page).toMatch(/<h1>Changes<\/h1>.*<h2>0\.1\.0<\/h2>/s);
    expect(page).toContain('<a href="/openapi.json">');
    expect(page).not.toMatch(/\]\(|^- /m);
  });

  it('loads everything on its page from this gateway', async () => {
    const page = await (await fetch(`${gateway.url}/docs`)).text();
    const loaded = [...page.matchAll(/<(?:link|script|img)\b[^>]*?(?:src|href)="([^"]+)"/g)];
    const scripts = await (await fetch(`${gateway.url}/docs/page.js`)).text();
    const imported = [...scripts.matchAll(/from '\.(\/[^']+)'/g)].map(([, name]) => `/docs${name}`);
    const files = [...loaded.map(([, name = '']) => name), ...imported];
    expect(files.length).toBeGreaterThan(7);
    for (const file of files) {
      expect(file).toMatch(/^\/docs\/[a-z.-]+$/);
      expect((await fetch(gateway.url + file)).status).toBe(200);
    }
    expect(page).not.toMatch(/<script>|<style>| on\w+=/);
  });
});
