import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ListenConfig } from '../config/app-config.ts';
import { Metrics } from './metrics.ts';

/** `/metrics` on a separate listener (loopback by default), so that it is never reachable through the public one. */
@Injectable()
export class MetricsListener implements OnApplicationShutdown {
  #server: Server | undefined;

  constructor(
    private readonly config: ListenConfig,
    private readonly metrics: Metrics,
  ) {}

  /** Opens the listener and returns its port. */
  async listen(): Promise<number> {
    const server = createServer((request, response) => {
      if (request.url !== '/metrics' || request.method !== 'GET') {
        response.writeHead(404).end();
        return;
      }
      this.metrics.registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': this.metrics.registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.config.managementPort, this.config.managementHost, resolve);
    });
    return (server.address() as AddressInfo).port;
  }

  onApplicationShutdown(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }
}
