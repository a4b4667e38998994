import type { AxiosResponse, InternalAxiosRequestConfig } from 'axios';
import type { Dispatcher } from 'undici';
import type { PassingSet } from '../kit/passing-set/passing-set.ts';
import { edge } from '../shared/edge.ts';

declare module 'axios' {
  interface AxiosRequestConfig {
    /** The name of the caller. Callers take turns where calls wait for a connection. */
    caller?: string;
    /** Ends the exchange when its caller has hung up. It differs from axios' `signal`, which causes other errors. */
    abandon?: AbortSignal;
    /**
     * Confirms a request that must not be sent twice. It runs on a connected socket, right before the first byte. If it rejects, the call
     * fails with that error. Resolves with the `performance.now()` from which the confirmation counts. A response after the deadline is
     * kept: {@link TransportError.late}.
     */
    confirm?: () => Promise<number>;
  }
}

/**
 * The exchange ended without a whole response. `sent` is false only when provably no byte of the request left the process. `too-large`: the
 * response exceeded its limit, and the gateway cut it off. `abandoned`: the caller has hung up. `delayed`: the process was busy for too
 * long before it could send, so it must not send any more.
 */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(
    readonly kind:
      | 'unreachable'
      | 'connect-timeout'
      | 'delayed'
      | 'timeout'
      | 'lost'
      | 'malformed'
      | 'too-large'
      | 'abandoned',
    readonly sent: boolean,
    cause?: unknown,
    /** The result of an exchange after its deadline, if it must not be lost: a response, or another TransportError. */
    readonly late?: Promise<AxiosResponse<Buffer>>,
  ) {
    super(kind, { cause });
  }
}

/** The time for which a confirmation is valid. The owner of the order may lose its claim after it. */
const CONFIRMED_FOR_MS = 100;
/** The time after the deadline for which the gateway waits for a response that must not be lost. */
const LATE_MS = 5 * 60_000;
/** A timer that is late by more than this shows that the process stood still. It has not read yet what arrived meanwhile. */
const STOOD_STILL_MS = 50;
/** The time to read it. */
const READ_MS = 250;

type Response = AxiosResponse<Buffer>;

/**
 * One request and its response. It knows whether a byte may have left, which no HTTP client reports. undici calls `onRequestStart` on a
 * connected socket directly before it writes. After a failure before that, the request was provably not sent. A request whose time has
 * ended is stopped there.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Runs when the caller has a response or a failure, and again at the end of the exchange if that is later. */
  onResult: (how: 'response' | 'failure') => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #isLate = false;
  #sent = false;
  #confirmedAt: number | undefined;
  #size = 0;
  #held = 0;
  readonly #chunks: Buffer[] = [];
  #timer: NodeJS.Timeout;
  readonly #leave: () => void;
  #status = 0;
  #headers: Record<string, string | string[] | undefined> = {};
  readonly #abandoned = edge('abandoned call', () => this.#fail('abandoned'));

  constructor(
    readonly config: InternalAxiosRequestConfig,
    /** All running exchanges, including this one until it ends. */
    underWay: PassingSet<Exchange>,
    private resolve: (response: Response) => void,
    private reject: (error: unknown) => void,
    private readonly budget?: ResponseBudget,
  ) {
    let lateAt = performance.now() + (config.timeout ?? 0) + STOOD_STILL_MS;
    const atDeadline = edge('deadline', () => {
      if (!this.#sent || performance.now() <= lateAt) return this.#deadline();
      lateAt = Infinity;
      this.#timer = setTimeout(atDeadline, READ_MS);
    });
    this.#timer = setTimeout(atDeadline, config.timeout);
    this.#leave = underWay.add(this);
    config.abandon?.addEventListener('abort', this.#abandoned);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** True if its caller already has the timeout, and the gateway still waits for the response. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Ends the exchange now, in the same way as its deadline. */
  timeUp(): void {
    this.#fail('timeout');
  }

  /** Accepts the time with which `confirm` has resolved. The confirmation is valid for a moment only. */
  confirmed(at: number | undefined): void {
    this.#confirmedAt = at;
  }

  /** Accepts the error with which `confirm` has rejected: the request was not sent and must not be. */
  refused(error: unknown): void {
    if (this.#settle()) this.reject(error);
  }

  unconnected(error: Error): void {
    this.#fail(this.#kindOf(error), error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('the exchange ended before the request could be sent'));
    else if (performance.now() - (this.#confirmedAt ?? Infinity) > CONFIRMED_FOR_MS) this.#fail('delayed');
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
    if (this.#size > (this.config.maxContentLength ?? Infinity)) return this.#fail('too-large');
    // The response to a write says what the write did, so it is never abandoned.
    if (this.budget && this.config.method?.toUpperCase() === 'GET') {
      const held = this.budget.grow(this.#held, this.#size);
      if (held === undefined) return this.#fail('abandoned', new Error('large responses fill the budget'));
      this.#held = held;
    }
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#settle('response')) return;
    this.resolve({
      data: this.#body(),
      status: this.#status,
      statusText: '',
      headers: this.#headers as AxiosResponse['headers'],
      config: this.config,
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#kindOf(error), error);
  }

  #body(): Buffer {
    const chunks = this.#chunks;
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, this.#size);
  }

  /** Passes the timeout to the caller. A request that was sent and must not be lost goes on, and its response settles `late`. */
  #deadline(): void {
    if (!this.#sent || !this.config.confirm) return this.timeUp();
    const late = Promise.withResolvers<Response>();
    // Without this handler, a rejection of `late` that no code awaits would end the process.
    late.promise.catch(() => undefined);
    const tell = this.reject;
    this.resolve = late.resolve;
    this.reject = late.reject;
    this.#isLate = true;
    const timeUp = edge('deadline', () => this.timeUp());
    this.#timer = setTimeout(timeUp, LATE_MS).unref();
    tell(new TransportError('timeout', true, undefined, late.promise));
    this.onResult('failure');
  }

  #kindOf(error: Error & { code?: unknown }): TransportError['kind'] {
    const code = typeof error.code === 'string' ? error.code : '';
    if (!this.#sent) return code === 'UND_ERR_CONNECT_TIMEOUT' ? 'connect-timeout' : 'unreachable';
    if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return this.#isShort() ? 'lost' : 'malformed';
    // The last chunk is missing. No HTTP client accepts that, and it is no sign of a broken connection.
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

  #settle(how: 'response' | 'failure' = 'failure'): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#leave();
    this.budget?.release(this.#held);
    this.#held = 0;
    this.config.abandon?.removeEventListener('abort', this.#abandoned);
    this.onResult(how);
    return true;
  }
}

/** The size up to which a response is not counted, so that large responses do not delay small ones. */
const FREE_BYTES = 256 * 1024;
/**
 * The most bytes of all large responses. They are enough for four of the largest, or for thirty lists of an enterprise with 5,000 assets.
 */
const MAX_BYTES = 64 * 1024 * 1024;

/** Limits the total memory of all large responses that are being received. */
export class ResponseBudget {
  #held = 0;

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** Lets a response grow to `size`. `held` is its share so far. Returns its new share, or undefined if the budget is used up. */
  grow(held: number, size: number): number | undefined {
    if (size <= FREE_BYTES) return held;
    if (this.#held - held + size > this.maxBytes) return undefined;
    this.#held += size - held;
    return size;
  }

  release(held: number): void {
    this.#held -= held;
  }
}
