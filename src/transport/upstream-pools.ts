import { HttpService } from '@nestjs/axios';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import axios, {
  type AxiosAdapter,
  type AxiosRequestConfig,
  type AxiosResponse,
  type InternalAxiosRequestConfig,
} from 'axios';
import { from, type Observable } from 'rxjs';
import { Agent, type buildConnector, type Dispatcher, Pool } from 'undici';
import { UpstreamConfig } from '../config/app-config.ts';
import { type Certificates, secureContextOf } from '../config/certificate-files.ts';
import type { FollowedCertificates } from '../config/followed-certificates.ts';
import type { TlsServer } from '../observability/metric-tables.ts';
import { Metrics } from '../observability/metrics.ts';
import { FairQueue } from '../kit/fair-queue/fair-queue.ts';
import { PassingSet } from '../kit/passing-set/passing-set.ts';
import { Exchange, ResponseBudget } from './exchange.ts';
import { CONNECTION_LIFE_MS, openConnector } from './open-connector.ts';
import { OwnConnections } from './own-connections.ts';

declare module 'axios' {
  interface AxiosRequestConfig {
    group?: GroupName;
  }
}

interface TlsSocket {
  getPeerCertificate(): { readonly valid_to?: string };
}

/** A way to send requests: on a pool of shared connections, or on a new connection for each request. */
export interface Route {
  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): unknown;
}

/**
 * The number of connections of each group of operations, so that a stalled group uses none of the others'. There are more reads than
 * writes.
 */
export const connections = {
  orderReads: 128,
  orders: 64,
  orderWrites: 64,
  memberReads: 128,
  memberWrites: 64,
} as const;
export type GroupName = keyof typeof connections;
/**
 * The number of connections to the token endpoint for each kind of owner of tokens. The token manager sends no more requests at a time. The time
 * limit of a request includes its wait for a connection, so the endpoint would otherwise seem to be silent.
 */
export const tokenConnections = { application: 2, user: 4, session: 4 } as const;

/** The largest response. The platform sends all assets of an enterprise at once: 30,000 of them are 16 MiB. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * The only connections to the platform. undici's pools follow no redirects and use no proxies. Each order has its own connection. HTTP/2 is
 * off, because one of its connections carries many requests and would not tell whether a particular one has left.
 */
@Injectable()
export class UpstreamPools implements OnApplicationShutdown {
  readonly tokens: Agent;
  readonly exchanges = new PassingSet<Exchange>();
  readonly #orders: OwnConnections;
  readonly #shared: ReadonlyMap<GroupName, SharedConnections>;

  constructor(config: UpstreamConfig, metrics: Metrics) {
    const { baseUrl, connectTimeoutMs, certificates } = config;
    const connect = watchedConnector('platform', connectTimeoutMs, metrics, certificates);
    const maxHeaderSize = 16 * 1024;
    const options = { allowH2: false, maxHeaderSize, keepAliveTimeout: 4_000, clientTtl: CONNECTION_LIFE_MS };
    const { orders, ...shared } = connections;
    this.#orders = new OwnConnections(new URL(baseUrl.origin), {
      connect,
      maxHeaderSize,
      connections: orders,
    });
    this.#shared = new Map(
      Object.entries(shared).map(([name, limit]) => [
        name as GroupName,
        new SharedConnections(new Pool(baseUrl.origin, { ...options, connect, connections: limit }), limit),
      ]),
    );
    this.tokens = new Agent({
      ...options,
      connect: watchedConnector('tokens', connectTimeoutMs, metrics, certificates),
      connections: Object.values(tokenConnections).reduce((sum: number, each) => sum + each, 0),
    });
  }

  route(group: GroupName): Route {
    return this.#shared.get(group) ?? this.#orders;
  }

  /** Ends all running exchanges, for a process that cannot wait any longer. */
  endExchanges(): void {
    for (const each of this.exchanges) each.timeUp();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#pools, this.tokens, this.#orders].map((each) => each.close()));
  }

  async destroy(): Promise<void> {
    this.endExchanges();
    await Promise.all([...this.#pools, this.tokens].map((each) => each.destroy()));
  }

  get #pools(): Pool[] {
    return Array.from(this.#shared.values(), ({ pool }) => pool);
  }
}

/** Callers take turns for these connections while all of them are in use. The pool's own queue would be that of the caller with the most calls. */
class SharedConnections implements Route {
  readonly #queue = new FairQueue<() => void>();
  #used = 0;

  constructor(
    readonly pool: Pool,
    private readonly max: number,
  ) {}

  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    if (this.#used < this.max) return this.#begin(request, exchange);
    const begin = () => this.#begin(request, exchange);
    exchange.onResult = this.#queue.add(exchange.config.caller ?? '', begin);
  }

  #begin(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    this.#used++;
    exchange.onResult = () => {
      this.#used--;
      this.#queue.next()?.();
    };
    this.pool.dispatch(request, exchange);
  }
}

/**
 * Nest's `HttpService` on these connections. While no interceptor is registered with `axiosRef`, `request` passes its configuration to the
 * adapter unchanged: merging it with axios' defaults and transforms takes longer than the exchange itself, every status is a response, and
 * the body stays bytes (decisions 5 and 16). The other methods use the same adapter through axios.
 */
@Injectable()
export class UndiciHttpService extends HttpService {
  readonly #adapter: AxiosAdapter;

  /** The injection token is explicit, because the base class declares an axios instance in this position. */
  constructor(@Inject(UpstreamPools) pools: UpstreamPools) {
    const route = ({ group }: AxiosRequestConfig) => pools.route(group as GroupName);
    const adapter = undiciAdapter(route, pools.exchanges, new ResponseBudget());
    super(
      axios.create({
        adapter,
        maxContentLength: MAX_RESPONSE_BYTES,
        transformRequest: [],
        transformResponse: [],
      }),
    );
    this.#adapter = adapter;
  }

  override request<T>(config: AxiosRequestConfig): Observable<AxiosResponse<T>> {
    const { request, response } = this.axiosRef.interceptors;
    if (isUsed(request) || isUsed(response)) return super.request(config);
    return from(
      this.#adapter({ ...config, maxContentLength: MAX_RESPONSE_BYTES } as InternalAxiosRequestConfig),
    );
  }
}

/** True if an interceptor is registered. Axios replaces an ejected interceptor with null. */
function isUsed({ handlers = [] }: { readonly handlers?: readonly unknown[] }): boolean {
  return handlers.some((handler) => handler !== null);
}

/**
 * Makes an adapter of axios. `config.timeout` is the time for the whole exchange in ms, body included (undici's own body timeout restarts
 * with every byte). `config.maxContentLength` is the largest body in bytes. `config.url` is a path. The data of the response is a Buffer.
 * Rejects with a TransportError, never with an AxiosError. `underWay` holds the running exchanges.
 */
export function undiciAdapter(
  routeFor: (config: InternalAxiosRequestConfig) => Route,
  underWay = new PassingSet<Exchange>(),
  budget?: ResponseBudget,
): AxiosAdapter {
  return (config) =>
    new Promise<AxiosResponse<Buffer>>((resolve, reject) => {
      routeFor(config).dispatch(
        {
          path: pathOf(config),
          method: (config.method ?? 'get').toUpperCase() as Dispatcher.HttpMethod,
          headers: config.headers as Readonly<Record<string, string>>,
          body: (config.data as string | undefined) ?? null,
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        new Exchange(config, underWay, resolve, reject, budget),
      );
    });
}

/** The gateway puts the query into the URL. An interceptor may add to it in the way of axios. */
function pathOf(config: InternalAxiosRequestConfig): string {
  const { url = '/' } = config;
  // A prototype that was polluted must not add to what is sent.
  if (!Object.hasOwn(config, 'params')) return url;
  const { params, paramsSerializer } = config;
  return params === undefined ? url : axios.getUri({ url, params: params as unknown, paramsSerializer });
}

/**
 * Opens connections for undici, with the current certificates. It tells the metrics when the server's certificate ends and when TLS is
 * refused.
 */
export function watchedConnector(
  server: TlsServer,
  connectTimeoutMs: number,
  metrics: Metrics,
  certificates?: FollowedCertificates,
): buildConnector.connector {
  let shown = certificates?.current;
  let connect = connector(connectTimeoutMs, shown);
  return (options, callback) => {
    if (certificates && certificates.current !== shown) {
      shown = certificates.current;
      // A new connector is needed: the last one remembers TLS sessions, which would still belong to the last certificate.
      connect = connector(connectTimeoutMs, shown);
    }
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
  };
}

function connector(timeout: number, shown?: Certificates): buildConnector.connector {
  return openConnector({
    timeout,
    // This option is set explicitly, because an environment variable can turn Node's default off.
    rejectUnauthorized: true,
    allowH2: false,
    // The context is made once, because reading the files' content for each connection costs more than the connection.
    ...(shown && { secureContext: secureContextOf(shown) }),
  });
}
