import { HttpService } from '@nestjs/axios';
import { Inject, Injectable } from '@nestjs/common';
import axios, {
  type AxiosAdapter,
  type AxiosRequestConfig,
  type AxiosResponse,
  type InternalAxiosRequestConfig,
} from 'axios';
import { from, type Observable } from 'rxjs';
import { AnswerBudget, type Ending, Exchange, type GroupName } from './exchange.ts';
import { type Route, UpstreamPools } from './upstream-pools.ts';
import type { Dispatcher } from 'undici';

/** The platform sends all assets of an enterprise at once: 30,000 of them are 16 MiB. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * Nest's `HttpService` on our own connections. `request` passes its configuration to the adapter unchanged. Merging it with axios'
 * defaults, interceptors and transforms takes longer than the exchange itself and is not needed: every status is a response, and
 * the body stays bytes. The other methods go through axios to the same adapter.
 */
@Injectable()
export class UndiciHttpService extends HttpService {
  readonly #adapter: AxiosAdapter;

  /** The injection token is explicit, because the base class declares an axios instance in this position. */
  constructor(@Inject(UpstreamPools) pools: UpstreamPools) {
    const adapter = undiciAdapter(
      ({ group }) => pools.of(group as GroupName),
      pools.exchanges,
      new AnswerBudget(),
    );
    super(
      axios.create({
        adapter,
        maxContentLength: MAX_RESPONSE_BYTES,
        allowAbsoluteUrls: false,
        maxRedirects: 0,
        proxy: false,
        validateStatus: null,
        transformRequest: [],
        transformResponse: [],
      }),
    );
    this.#adapter = adapter;
  }

  override request<T>(config: AxiosRequestConfig): Observable<AxiosResponse<T>> {
    return from(
      this.#adapter({ ...config, maxContentLength: MAX_RESPONSE_BYTES } as InternalAxiosRequestConfig),
    );
  }
}

/**
 * An axios adapter on undici's dispatch.
 *
 * `config.timeout` is the time for the whole exchange in ms, body included (undici's own body timeout restarts with every
 * byte); `config.maxContentLength` the largest body in bytes. `config.url` is a path. The answer's data is a Buffer.
 * Rejects with a TransportError, never with an AxiosError. `underWay` holds the running exchanges.
 */
export function undiciAdapter(
  routeFor: (config: InternalAxiosRequestConfig) => Route,
  underWay = new Set<Ending>(),
  budget?: AnswerBudget,
): AxiosAdapter {
  return (config) =>
    new Promise<AxiosResponse<Buffer>>((resolve, reject) => {
      routeFor(config).dispatch(
        {
          path: config.url ?? '/',
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
