import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { contentTypeOf, PAGE_HEADERS, SCRIPT_POLICY, StaticContent } from '../operation/static-content.ts';
import { pagePart } from '../operation/page-parts.ts';
import { ManagementListener } from '../observability/management.listener.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { redisErrorReason } from '../redis/redis-error.ts';
import { RedisAway } from '../redis/shared-redis.ts';
import { lazily } from '../shared/lazily.ts';
import { shippedFile } from '../shared/shipped-file.ts';
import { ConsoleData } from './console-data.ts';
import { runbook } from './runbook.ts';

const HEADERS = {
  ...PAGE_HEADERS,
  'content-security-policy': SCRIPT_POLICY,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
};

const OWN = [
  ...['index.html', 'console.js', 'attention.js', 'orders.js', 'scheduled.js', 'settle.js', 'jobs.js'],
  ...['webhooks.js', 'gaps.js', 'maintenance.js', 'budgets.js', 'settings.js', 'dialog.js', 'credential.js'],
];
const PARTS = ['base.css', 'dom.js', 'format.js', 'copy.js', 'icon.svg'];

/** The operations of the API that the page may call below `/console/api`. They go the same way as on the public listener. */
const OPERATIONS: readonly RegExp[] = [
  /^GET \/v1\/callers\/me$/,
  /^DELETE \/v1\/jobs\/[^/?]+$/,
  /^POST \/v1\/license-orders\/[^/?]+\/[^/?]+\/settlement$/,
  /^POST \/v1\/webhooks\/[^/?]+\/deliveries\/[^/?]+$/,
  /^(PUT|DELETE) \/v1\/maintenance$/,
];

/**
 * Serves `/console` of the management listener: a page for operators, and the data that it shows. The console has no credentials: the page
 * makes changes through the API with the credential of a caller, under the same checks and limits and with the same log lines.
 */
@Injectable()
export class Console implements OnModuleInit {
  readonly #files = pageFiles();
  readonly #runbook = runbookPage();

  constructor(
    private readonly listener: ManagementListener,
    private readonly data: ConsoleData,
    private readonly adapter: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    this.listener.serveConsole((request, response) => this.#respond(request, response));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const [path = '', query] = url.slice('/console'.length).split('?', 2);
    if (path.startsWith('/api/')) return this.#callApi(request, response, path.slice('/api'.length));
    if (method !== 'GET' && method !== 'HEAD')
      return send(response, 405, 'text/plain; charset=utf-8', 'Only GET', { allow: 'GET, HEAD' });
    const file = path === '/runbook' ? this.#runbook() : this.#files.get(path === '' ? '/' : path);
    if (file) {
      const { status, headers, body } = await file.response(request.headers);
      const length = body && { 'content-length': body.length };
      response.writeHead(status, { ...headers, ...length }).end(body);
      return;
    }
    const read = this.data.read(path, new URLSearchParams(query));
    if (!read) return send(response, 404, 'text/plain; charset=utf-8', 'No such page');
    const json = (status: number, data: object): void =>
      send(response, status, 'application/json; charset=utf-8', JSON.stringify(data));
    try {
      json(200, await read);
    } catch (error) {
      if (!isOfStore(error)) throw error;
      json(503, { unavailable: true });
    }
  }

  #callApi(request: IncomingMessage, response: ServerResponse, path: string): void {
    if (!OPERATIONS.some((each) => each.test(`${request.method} ${path}`)))
      return send(response, 404, 'text/plain; charset=utf-8', 'The console has no such operation');
    request.url = path;
    this.adapter.httpAdapter.getInstance<FastifyInstance>().routing(request, response);
  }
}

function runbookPage(): () => StaticContent {
  const html = runbook();
  return lazily(() => new StaticContent(contentTypeOf('runbook.html'), html(), HEADERS));
}

/** The files of the page by their paths below `/console`. Throws where a file is missing. */
function pageFiles() {
  const places = [
    ...OWN.map((name) => [name, new URL(`console-page/${name}`, import.meta.url)] as const),
    ...PARTS.map((name) => [name, pagePart(name)] as const),
  ];
  return new Map(
    places.map(([name, place]) => [
      name === 'index.html' ? '/' : `/${name}`,
      new StaticContent(contentTypeOf(name), shippedFile(place), HEADERS),
    ]),
  );
}

/** Whether a store could not be read; every other error is a fault of the gateway. */
function isOfStore(error: unknown): boolean {
  return (
    error instanceof ProblemException ||
    error instanceof RedisAway ||
    redisErrorReason(error) !== 'other' ||
    (error as Error).name === 'ReplyError'
  );
}

function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  const own = { 'content-type': type, 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, { ...HEADERS, ...headers, ...own }).end(body);
}
