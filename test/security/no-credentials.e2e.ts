import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../../src/app.module.ts';
import { loadConfig } from '../../src/config/app-config.ts';
import { RequestHooks } from '../../src/http/request-hooks.ts';
import { createLog } from '../../src/observability/log.ts';
import { type DocumentedRoute, routes } from '../support/contract.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { operationCases } from '../support/operations.ts';
import { useSandbox } from '../support/stack.ts';

/** Risk 5 of the security design: a route that a client reaches without credentials, with any spelling of its path. */

const sandbox = useSandbox();
let gateway: GatewayInProcess;

beforeAll(async () => {
  gateway = await startInProcess(sandbox);
});
afterAll(() => gateway.stop());

/** Frozen list of public routes. A developer who makes a route public must add it here. */
const PUBLIC = [
  '/',
  '/docs',
  '/docs/',
  '/docs/:file',
  '/estate',
  '/estate/',
  '/estate/:file',
  '/health/live',
  '/health/ready',
  '/openapi-3.0.json',
  '/openapi.json',
  '/postman-collection.json',
  '/problems',
  '/problems/:slug',
];
const PUBLIC_METHODS = ['GET', 'HEAD'];

/** Sent byte for byte, so that no library normalises the path; `status` is 0 when the connection was closed without a response. */
async function raw(method: string, target: string, headers: readonly string[] = []) {
  const { hostname, host, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => socket.destroy());
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...headers];
  socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
  const [head = '', body = ''] = (await text(socket).catch(() => '')).split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), body };
}

const lettersEncoded = (path: string) =>
  path.replaceAll(/[a-z]/gi, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
/** Other spellings of a path, some of which a server may treat as the same; more of them: row K12. */
const encodings: Readonly<Record<string, (path: string) => string>> = {
  'every letter encoded': lettersEncoded,
  'encoded twice': (path) => lettersEncoded(path).replaceAll('%', '%25'),
  'slashes encoded': (path) => `/${path.slice(1).replaceAll('/', '%2f')}`,
  'two slashes within': (path) => path.replaceAll('/', '//'),
  'through a public path, slashes encoded': (path) => `/problems/..%2f..${path.replaceAll('/', '%2f')}`,
  'a line break': (path) => `${path}%0d%0aX-Api-Key:%20x`,
  'an overlong slash': (path) => path.replace('/v1/', '/v1%c0%af'),
  'a full-width letter': (path) => path.replace('v1', '%ef%bd%961'),
  'a query with a key': (path) => `${path}?x-api-key=${gateway.key}&api_key=${gateway.key}`,
  absolute: (path) => gateway.url + path,
};

/** Headers that proxies and frameworks obey, and the gateway must not. */
const overrides: readonly (readonly string[])[] = [
  ['X-HTTP-Method-Override: GET', 'X-Original-URL: /health/live', 'X-Rewrite-URL: /health/live'],
  ['X-Forwarded-Uri: /health/live', 'X-Forwarded-For: 127.0.0.1'],
  ['X-Api-Key: ', 'Authorization: '],
  ['X-Api-Key: undefined', 'Authorization: Basic YWRtaW46YWRtaW4='],
  ['Authorization: Bearer null', 'Cookie: x-api-key=x'],
];

const operations = routes.filter(({ template }) => template.startsWith('/v1/'));

function pathOf({ template, method }: DocumentedRoute): string {
  const known = operationCases.find(({ path, method: of }) => {
    const pattern = template.replaceAll(/\{\w+\}/g, '[^/]+');
    return of === method && new RegExp(`^${pattern}$`).test(path.split('?')[0] ?? '');
  });
  return known?.path.split('?')[0] ?? template.replaceAll(/\{\w+\}/g, 'x1');
}

/** Refused: by the guard, as an unknown path, or as a malformed request. */
const REFUSED = [400, 401, 404, 405, 414];

describe('S5 without credentials', () => {
  it.each(operations.map((route) => ({ id: route.operation.operationId, route })))(
    '$id is refused, also with headers that ask for another path, method or identity',
    async ({ route }) => {
      const answers = await Promise.all(
        [[], ...overrides].map((headers) => raw(route.method, pathOf(route), headers)),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
      // `detail` tells the form of the credentials that were sent, which the client knows.
      const seen = answers.map(({ body }) => body.replaceAll(/"(requestId|detail)":"[^"]+"/g, ''));
      expect(new Set(seen).size).toBe(1);
      expect(await sandbox.calls()).toEqual([]);
    },
  );

  // The router and the guard are the same for every operation: one with an id, and one without.
  it.each(['listMembers', 'placeOrder'])('%s is refused with every spelling of its path', async (id) => {
    const route = operations.find(({ operation }) => operation.operationId === id) as DocumentedRoute;
    for (const [name, encoded] of Object.entries(encodings)) {
      const { status, body } = await raw(route.method, encoded(pathOf(route)));
      expect([name, REFUSED.includes(status) ? 'refused' : `${status} ${body}`]).toEqual([name, 'refused']);
      expect([name, body]).toEqual([name, expect.stringContaining('"outcome":"not_processed"')]);
    }
    expect(await sandbox.calls()).toEqual([]);
  });
});

describe('S5 the list of public routes', () => {
  /** Every route that the server knows, with its methods. */
  function registered(): Map<string, string[]> {
    const tree = gateway.app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false });
    const parents: string[] = [];
    const found = new Map<string, string[]>();
    for (const line of tree.split('\n')) {
      const [, indent = '', part = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \(([^)]+)\)/.exec(line) ?? [];
      if (part === '') continue;
      const depth = indent.length / 4;
      parents.length = depth;
      parents.push((parents[depth - 1] ?? '') + part);
      found.set(parents[depth] as string, methods.split(', '));
    }
    return found;
  }

  it('is frozen, and every other route needs credentials', async () => {
    const known = registered();
    expect(known.size).toBeGreaterThan(25);
    const open: string[] = [];
    for (const [template, methods] of known) {
      for (const method of methods) {
        const path = template
          .replace('*', 'swagger-ui.css')
          .replace(/:slug/, 'forbidden')
          .replaceAll(/:\w+/g, 'x1');
        const { status } = await raw(method, path);
        if (status === 401) continue;
        expect([template, method, PUBLIC_METHODS.includes(method)]).toEqual([template, method, true]);
        open.push(template);
      }
    }
    expect([...new Set(open)].sort()).toEqual([...PUBLIC].sort());
    expect(await sandbox.calls()).toEqual([]);
  });
});

describe('S5 a route without a policy', () => {
  @Controller('v1/forgotten')
  class Forgotten {
    @Get()
    read(): string {
      return 'read';
    }
  }

  it('is refused to every caller, also to one with all scopes', async () => {
    const product = AppModule.with(loadConfig(gateway.environment(sandbox)), createLog('silent'));
    const app = await NestFactory.create<NestFastifyApplication>(
      { ...product, controllers: [...(product.controllers ?? []), Forgotten] },
      new FastifyAdapter(),
      { bodyParser: false, logger: false, abortOnError: false },
    );
    app.get(RequestHooks).connect(app.getHttpAdapter().getInstance());
    await app.init();
    const url = '/v1/forgotten';
    const known = await app.inject({ url, headers: { 'x-api-key': gateway.key } });
    expect([known.statusCode, known.json<{ code: string }>().code]).toEqual([403, 'forbidden']);
    expect((await app.inject({ url })).statusCode).toBe(401);
    await app.close();
  });
});
