import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../../src/app.module.ts';
import { loadConfig } from '../../src/config/app-config.ts';
import { RequestHooks } from '../../src/http/request-hooks.ts';
import { serveDocumentation } from '../../src/documentation/documentation.ts';
import { createLog } from '../../src/observability/log.ts';
import { openApiDocument } from '../../src/operation/openapi/document.ts';
import { Operation, type OperationSpec } from '../../src/operation/operation.decorator.ts';
import { ProblemException } from '../../src/problem/problem.exception.ts';
import { openApi30 } from '../../scripts/openapi-3.0.ts';
import type { OpenApiOperation } from '../support/contract.ts';
import { TestGateway } from '../support/gateway.ts';
import { useSandbox } from '../support/stack.ts';

/** No operation of the gateway is deprecated, so these are made for the test. */
const spec = {
  ...{ summary: 'Made for a test', scope: 'orders:read' },
  success: [{ status: 200, description: 'Things' }],
} as const satisfies Partial<OperationSpec>;
const deprecated = { since: '2026-12-01', sunset: '2027-06-01', instead: 'keptThings' } as const;

@Controller('v1')
class Things {
  @Get('old-things')
  @Operation({ ...spec, id: 'oldThings', effect: 'read', paged: true, deprecated })
  list(): object {
    return { items: ['a'], page: 1, pageSize: 1, total: 2, totalPages: 2 };
  }

  @Post('old-things')
  @Operation({ ...spec, id: 'breakThings', effect: 'write', deprecated: { since: '2026-12-01' } })
  break(): never {
    throw new ProblemException('not-found');
  }

  @Get('old-things/broken')
  @Operation({ ...spec, id: 'brokenThings', effect: 'read', noStore: true, deprecated })
  broken(): never {
    throw new RangeError('made by a test');
  }

  @Get('kept-things')
  @Operation({ ...spec, id: 'keptThings', effect: 'read' })
  kept(): object {
    return {};
  }
}

const sandbox = useSandbox();
const gateway = new TestGateway([{ name: 'no-scopes' }]);
const LINK = '</docs/changelog>; rel="deprecation"; type="text/html"';
const HEADERS = { deprecation: '@1796083200', sunset: 'Tue, 01 Jun 2027 00:00:00 GMT', link: LINK };

async function start(withDocs: boolean): Promise<NestFastifyApplication> {
  const product = AppModule.with(loadConfig(gateway.environment(sandbox)), createLog('silent'));
  const app = await NestFactory.create<NestFastifyApplication>(
    { ...product, controllers: [...(product.controllers ?? []), Things] },
    new FastifyAdapter({ exposeHeadRoutes: true }),
    { bodyParser: false, logger: false, abortOnError: false },
  );
  app.get(RequestHooks).connect(app.getHttpAdapter().getInstance());
  if (withDocs) serveDocumentation(app);
  return app.init();
}

describe('a deprecated operation', () => {
  let app: NestFastifyApplication;

  beforeAll(async () => {
    gateway.writeCallers();
    gateway.writeUsers({});
    app = await start(true);
  });
  afterAll(async () => {
    await app.close();
    await gateway.stop();
  });

  type Options = { method?: 'GET' | 'HEAD' | 'POST'; headers?: Record<string, string>; of?: typeof app };

  async function ask(url: string, { method = 'GET', headers = {}, of = app }: Options = {}) {
    const answer = await of.inject({ method, url, headers: { 'x-api-key': gateway.key, ...headers } });
    const { deprecation, sunset, link } = answer.headers;
    return {
      status: answer.statusCode,
      etag: String(answer.headers.etag),
      told: { deprecation, sunset, link },
    };
  }

  it('says so on every response: its links stay, and a 304 and an answer to HEAD have the headers too', async () => {
    const first = await ask('/v1/old-things');
    const links = String(first.told.link);
    expect(links).toMatch(/^<\/v1\/old-things\?page=1>; rel="first", .*; rel="last", <\/docs\/changelog>/);
    const told = { ...HEADERS, link: links };
    expect(first).toMatchObject({ status: 200, told });
    const headers = { 'if-none-match': first.etag };
    expect(await ask('/v1/old-things', { headers })).toMatchObject({ status: 304, told });
    expect(await ask('/v1/old-things', { method: 'HEAD' })).toMatchObject({ status: 200, told });
  });

  it('says so on every problem, also where a hook or a guard refuses the request', async () => {
    const answers = [
      await ask('/v1/old-things', { headers: { 'x-api-key': 'unknown' } }),
      await ask('/v1/old-things', { headers: { 'x-api-key': gateway.keys['no-scopes'] as string } }),
      await ask('/v1/old-things?unknown=1'),
      await ask('/v1/old-things/broken'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 403, 400, 500]);
    expect(answers.map(({ told }) => told)).toEqual(answers.map(() => HEADERS));
    const unended = { deprecation: HEADERS.deprecation, sunset: undefined, link: LINK };
    const post = await ask('/v1/old-things', { method: 'POST' });
    expect([post.status, post.told]).toEqual([404, unended]);
  });

  it('leaves the others as they are', async () => {
    const none = { deprecation: undefined, sunset: undefined, link: undefined };
    for (const [url, status] of [
      ['/v1/kept-things', 200],
      ['/v1/kept-things?unknown=1', 400],
      ['/v1/nothing', 404],
      ['/health/live', 200],
    ] as const)
      expect([url, await ask(url)]).toMatchObject([url, { status, told: none }]);
  });

  it('has no link where the gateway serves no pages', async () => {
    const bare = await start(false);
    const { told } = await ask('/v1/old-things/broken', { of: bare });
    expect(told).toEqual({ ...HEADERS, link: undefined });
    await bare.close();
  });

  it('is deprecated in the document and in its copy, and a sentence says what to use', () => {
    const document = openApiDocument(app, {});
    for (const { paths } of [document, openApi30(document as never) as typeof document]) {
      const operationAt = (path: string) => (paths[path] as { get: OpenApiOperation }).get;
      const old = operationAt('/v1/old-things');
      expect(old.deprecated).toBe(true);
      expect(old.description).toMatch(
        /^\*\*Deprecated\*\* from 2026-12-01 on.* Use `keptThings` instead\.\n/,
      );
      expect(old.responses['200']?.headers).toMatchObject({ Deprecation: {}, Sunset: {}, Link: {} });
      const kept = operationAt('/v1/kept-things');
      expect(kept.deprecated).toBeUndefined();
      expect(JSON.stringify(kept)).not.toContain('Deprecat');
    }
  });
});
