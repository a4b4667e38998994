import { hostname } from 'node:os';
import type { AddressInfo } from 'node:net';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ListenConfig } from '../config/app-config.ts';
import { answerFault } from '../problem/fault-response.ts';
import { edge } from '../shared/edge.ts';
import { Metrics } from './metrics.ts';

/** An address or `localhost`. An address is no name that could lead elsewhere, and `localhost` is this machine. */
const ADDRESS = /^(localhost|\[[\da-f:.]+\]|\d+\.\d+\.\d+\.\d+)$/i;
/** Names that only a container's network or a cluster assigns. No public name has only one label or such an ending. */
const OF_CLUSTER = /^[a-z\d_-]+$|\.svc$|\.cluster\.local$/i;

interface Allowed {
  /** The configured name. */
  readonly name: string;
  /** True if a server of the same cluster may read this, by the name of a service, of a pod or of this machine. */
  readonly fromCluster: boolean;
  /** True if a link of another site may lead here. The page shows something to a person, and the other site cannot read it. */
  readonly byLink: boolean;
}

/** Answers each request itself. If it throws, or its promise rejects, the answer is a 500. */
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

/**
 * Tells why a request must not be served. A page of a foreign site may have sent it, in the browser of a person who can reach this
 * listener. Such a request comes from another origin, or uses a name of the site that leads here (DNS rebinding). Undefined if the request
 * may be served.
 */
function foreignRequest({ headers }: IncomingMessage, allowed: Allowed): string | undefined {
  const { host = '', origin, 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers;
  const name = host.replace(/:\d*$/, '');
  const isOwn =
    ADDRESS.test(name) ||
    name === allowed.name ||
    (allowed.fromCluster && (OF_CLUSTER.test(name) || name === hostname()));
  if (!isOwn)
    return allowed.fromCluster
      ? 'Read this by an address, by localhost, by the name of a service or a pod, or by the name in MANAGEMENT_HOST.'
      : 'Open this by its address, by localhost, or by the name in MANAGEMENT_HOST.';
  const isSameOrigin = origin === undefined || URL.parse(origin)?.host === host;
  const isVisit = allowed.byLink && mode === 'navigate';
  if (!isSameOrigin || !(isVisit || ['none', 'same-origin'].includes(site)))
    return 'Requests of other sites are refused.';
  return undefined;
}
