import type { AxiosAdapter, AxiosResponse, InternalAxiosRequestConfig } from 'axios';
import type { Dispatcher } from 'undici';
import type { GroupName } from '../operations.ts';
import { TransportError } from './transport-error.ts';
import type { Ending } from './upstream-pools.ts';

declare module 'axios' {
  interface AxiosRequestConfig {
    /** Whose connections the call uses. */
    group?: GroupName;
    /** Ends the exchange when nobody waits for its answer any more. Not axios' own `signal`, which makes errors of its own. */
    abandon?: AbortSignal;
  }
}

/**
 * An axios adapter on an undici dispatcher. It knows one thing that no HTTP client tells: whether a byte may have left.
 * undici calls `onRequestStart` on a connected socket directly before it writes; a failure before that is a request that
 * provably was not sent, and one that ran out of time while it waited is stopped there.
 *
 * `config.timeout` is the time for the whole exchange in ms, body included (undici's own body timeout restarts with every
 * byte); `config.maxContentLength` the largest body in bytes. `config.url` is a path. The answer's data is a Buffer.
 * Rejects with {@link TransportError}, never with an AxiosError. `underWay` holds what has not ended yet.
 */
export function undiciAdapter(
  dispatcherFor: (config: InternalAxiosRequestConfig) => Dispatcher,
  underWay = new Set<Ending>(),
): AxiosAdapter {
  return (config) =>
    new Promise<AxiosResponse<Buffer>>((resolve, reject) => {
      const exchange = new Exchange(config, underWay, resolve, reject);
      dispatcherFor(config).dispatch(
        {
          path: config.url ?? '/',
          method: (config.method ?? 'get').toUpperCase() as Dispatcher.HttpMethod,
          headers: config.headers.toJSON() as Record<string, string>,
          body: (config.data as string | undefined) ?? null,
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        exchange,
      );
    });
}

class Exchange implements Dispatcher.DispatchHandler, Ending {
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #sent = false;
  #size = 0;
  readonly #chunks: Buffer[] = [];
  readonly #timer: NodeJS.Timeout;
  #status = 0;
  #headers: Record<string, string | string[] | undefined> = {};
  readonly #abandoned = () => this.#fail('abandoned');

  constructor(
    private readonly config: InternalAxiosRequestConfig,
    private readonly underWay: Set<Ending>,
    private readonly resolve: (response: AxiosResponse<Buffer>) => void,
    private readonly reject: (error: TransportError) => void,
  ) {
    this.#timer = setTimeout(() => this.timeUp(), config.timeout);
    underWay.add(this);
    config.abandon?.addEventListener('abort', this.#abandoned);
  }

  timeUp(): void {
    this.#fail('timeout');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error('it ended before the request could be sent'));
    else this.#sent = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > (this.config.maxContentLength ?? Infinity)) this.#fail('too-large');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#settle()) return;
    this.resolve({
      data: Buffer.concat(this.#chunks, this.#size),
      status: this.#status,
      statusText: '',
      headers: this.#headers as AxiosResponse['headers'],
      config: this.config,
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#kindOf(error), error);
  }

  #kindOf(error: Error & { code?: unknown }): TransportError['kind'] {
    const code = typeof error.code === 'string' ? error.code : '';
    if (!this.#sent) return code === 'UND_ERR_CONNECT_TIMEOUT' ? 'connect-timeout' : 'unreachable';
    if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return this.#isShort() ? 'lost' : 'malformed';
    // Chunks that end without the last one: a whole message to nobody, and no sign of a broken connection.
    if (code === 'UND_ERR_SOCKET' && this.#headers['transfer-encoding'] !== undefined) return 'malformed';
    return error.name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW' ? 'malformed' : 'lost';
  }

  #isShort(): boolean {
    const declared = this.#headers['content-length'];
    return typeof declared === 'string' && this.#size < Number(declared);
  }

  #fail(kind: TransportError['kind'], cause?: Error): void {
    if (!this.#settle()) return;
    this.reject(new TransportError(kind, this.#sent, cause));
    this.#controller?.abort(cause ?? new Error(kind));
  }

  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.underWay.delete(this);
    this.config.abandon?.removeEventListener('abort', this.#abandoned);
    return true;
  }
}
