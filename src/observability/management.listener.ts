import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ListenConfig } from '../config/app-config.ts';
import { answerFault } from '../problem/fault-answer.ts';
import { edge } from '../shared/edge.ts';
import { foreignRequest } from './foreign-request.ts';
import { Metrics } from './metrics.ts';

/** Answers each request itself. What it throws, or its promise rejects with, becomes a 500. */
type Page = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A separate listener (loopback by default) for `/metrics` and the console, so that the public one never shows them. */
@Injectable()
export class ManagementListener implements OnApplicationShutdown {
  #server: Server | undefined;
  #console: Page = notFound;

  constructor(
    private readonly config: ListenConfig,
    private readonly metrics: Metrics,
  ) {}

  /** `page` answers `/console` and everything below it. */
  serveConsole(page: Page): void {
    this.#console = page;
  }

  /** Opens the listener and returns its port. */
  async listen(): Promise<number> {
    const respond: Page = (request, response) => this.#respond(request, response);
    const server = createServer(edge('management request', respond, answerFault));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.config.managementPort, this.config.managementHost, resolve);
    });
    return (server.address() as AddressInfo).port;
  }

  #respond(request: IncomingMessage, response: ServerResponse): unknown {
    const { url = '/', method } = request;
    const isMetrics = url === '/metrics';
    const refusal = foreignRequest(request, {
      name: this.config.managementHost,
      fromCluster: isMetrics,
      byLink: isMetrics || /^\/(console(\/|\/runbook)?)?$/.test(url),
    });
    if (refusal !== undefined)
      return response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' }).end(refusal);
    if (/^\/console(?=[/?]|$)/.test(url)) return this.#console(request, response);
    if (isMetrics && (method === 'GET' || method === 'HEAD')) return this.#showMetrics(response);
    if (url === '/') return response.writeHead(302, { location: '/console' }).end();
    return notFound(request, response);
  }

  async #showMetrics(response: ServerResponse): Promise<void> {
    const { registry } = this.metrics;
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  }

  onApplicationShutdown(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }
}

function notFound(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(404).end();
}
