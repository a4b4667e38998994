import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Agent, buildConnector, type Dispatcher, Pool } from 'undici';
import { UpstreamConfig } from '../config/app-config.ts';
import { Metrics, type TlsServer } from '../observability/metrics.ts';
import type { Ending, Exchange, GroupName } from './exchange.ts';
import { OwnConnections } from './own-connections.ts';

interface TlsSocket {
  getPeerCertificate(): { readonly valid_to?: string };
}

/** Sends requests: on a pool of shared connections, or on a new connection for each request. */
export interface Route {
  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): unknown;
}

/** Connections of each group, so that a stalled group takes none from the others. Reads get more, since there are more of them. */
export const connections: Readonly<Record<GroupName, number>> = {
  orderReads: 128,
  orders: 64,
  orderWrites: 64,
  memberReads: 128,
  memberWrites: 64,
};
const MAX_HEADER_BYTES = 16 * 1024;
const KEEP_ALIVE_MS = 4_000;

/**
 * The only connections to the platform. No redirects and no proxies: undici's pools do not support them. Each order has its own
 * connection. No HTTP/2: there one connection carries many requests, so it would not tell whether one of them left.
 */
@Injectable()
export class UpstreamPools implements OnApplicationShutdown {
  readonly tokens: Agent;
  /** The running exchanges of all groups. */
  readonly exchanges = new Set<Ending>();
  readonly #orders: OwnConnections;
  readonly #shared: ReadonlyMap<GroupName, Pool>;

  constructor(config: UpstreamConfig, metrics: Metrics) {
    const { baseUrl, connectTimeoutMs } = config;
    const connect = watchedConnector('platform', connectTimeoutMs, metrics);
    const options = {
      connect,
      allowH2: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
    };
    const { orders, ...shared } = connections;
    this.#orders = new OwnConnections(new URL(baseUrl.origin), {
      connections: orders,
      connect,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    this.#shared = new Map(
      Object.entries(shared).map(([name, limit]) => [
        name as GroupName,
        new Pool(baseUrl.origin, { ...options, connections: limit }),
      ]),
    );
    this.tokens = new Agent({
      ...options,
      connect: watchedConnector('tokens', connectTimeoutMs, metrics),
      connections: 4,
    });
  }

  of(group: GroupName): Route {
    return this.#shared.get(group) ?? this.#orders;
  }

  /** Ends all running exchanges, because the process cannot wait any longer. */
  endExchanges(): void {
    for (const each of this.exchanges) each.timeUp();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#shared.values(), this.tokens, this.#orders].map((each) => each.close()));
  }

  async destroy(): Promise<void> {
    this.endExchanges();
    await Promise.all([...this.#shared.values(), this.tokens].map((each) => each.destroy()));
  }
}

/** Opens connections for undici, and tells the metrics when the server's certificate ends and when TLS is refused. */
export function watchedConnector(
  server: TlsServer,
  connectTimeoutMs: number,
  metrics: Metrics,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    // Set explicitly, because an environment variable can turn Node's default off.
    rejectUnauthorized: true,
    allowH2: false,
  });
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) {
        metrics.connectionFailed(server, error);
        return callback(error, null);
      }
      const ends = Date.parse((socket as Partial<TlsSocket>).getPeerCertificate?.().valid_to ?? '');
      if (ends)
        metrics.set('gateway_certificate_expiry_timestamp_seconds', { certificate: server }, ends / 1_000);
      callback(null, socket);
    });
}
