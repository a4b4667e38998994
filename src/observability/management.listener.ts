import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ListenConfig } from '../config/app-config.ts';
import { Metrics } from './metrics.ts';

/** Never fails: it answers each request itself. */
type Page = (request: IncomingMessage, response: ServerResponse) => void;

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
    const server = createServer((request, response) => {
      const { url = '/', method } = request;
      if (/^\/console(?=[/?]|$)/.test(url)) this.#console(request, response);
      else if (url === '/metrics' && method === 'GET') this.#showMetrics(response);
      else if (url === '/') response.writeHead(302, { location: '/console' }).end();
      else notFound(request, response);
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.config.managementPort, this.config.managementHost, resolve);
    });
    return (server.address() as AddressInfo).port;
  }

  #showMetrics(response: ServerResponse): void {
    const { registry } = this.metrics;
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  }

  onApplicationShutdown(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }
}

function notFound(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(404).end();
}
