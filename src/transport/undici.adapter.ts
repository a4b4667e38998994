import type { AxiosAdapter, AxiosResponse, InternalAxiosRequestConfig } from 'axios';
import type { Dispatcher } from 'undici';
import type { AnswerBudget } from './answer-budget.ts';
import { type Ending, Exchange } from './exchange.ts';

/** Sends requests: on a pool of shared connections, or on a new connection for each request. */
export interface Route {
  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): unknown;
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
