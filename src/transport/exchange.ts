import type { AxiosResponse, InternalAxiosRequestConfig } from 'axios';
import type { Dispatcher } from 'undici';
import type { GroupName } from './connection-groups.ts';
import type { AnswerBudget } from './answer-budget.ts';
import { TransportError } from './transport-error.ts';

declare module 'axios' {
  interface AxiosRequestConfig {
    /** Whose connections the call uses. */
    group?: GroupName;
    /** Ends the exchange when nobody waits for its answer any more. Not axios' own `signal`, which makes errors of its own. */
    abandon?: AbortSignal;
    /**
     * Of a request that must not be sent twice: asked on a connected socket, right before the first byte; a rejection is what
     * the call then fails with. An answer after the deadline is kept: {@link TransportError.late}.
     */
    confirm?: () => Promise<void>;
  }
}

/** A confirmation older than this does not count any more: whoever gave it may have been given up. */
const CONFIRMED_FOR_MS = 100;
/** How long an answer that must not be lost is waited for after its deadline. */
const LATE_MS = 5 * 60_000;

/** An exchange under way. */
export interface Ending {
  /** Whether its caller has been told that time is up, and only its answer is still waited for. */
  readonly isLate: boolean;
  /** Ends it now, as if its time were up. */
  timeUp(): void;
}

type Response = AxiosResponse<Buffer>;

/**
 * One request and its answer. It knows one thing that no HTTP client tells: whether a byte may have left. undici calls
 * `onRequestStart` on a connected socket directly before it writes; a failure before that is a request that provably was not
 * sent, and one that ran out of time while it waited is stopped there.
 */
export class Exchange implements Dispatcher.DispatchHandler, Ending {
  /** Called when its caller has got an answer or a failure, and once more when it is over, where that is later. */
  told: (how: 'answer' | 'failure') => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #isLate = false;
  #sent = false;
  #confirmedAt: number | undefined;
  #size = 0;
  /** Of the budget. */
  #held = 0;
  readonly #chunks: Buffer[] = [];
  #timer: NodeJS.Timeout;
  #status = 0;
  #headers: Record<string, string | string[] | undefined> = {};
  readonly #abandoned = () => this.#fail('abandoned');

  constructor(
    readonly config: InternalAxiosRequestConfig,
    private readonly underWay: Set<Ending>,
    private resolve: (response: Response) => void,
    private reject: (error: unknown) => void,
    private readonly budget?: AnswerBudget,
  ) {
    this.#timer = setTimeout(() => this.#deadline(), config.timeout);
    underWay.add(this);
    config.abandon?.addEventListener('abort', this.#abandoned);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isLate(): boolean {
    return this.#isLate;
  }

  timeUp(): void {
    this.#fail('timeout');
  }

  /** Whoever must be asked has said yes, at that `performance.now()`: good for a moment only. */
  confirmed(at: number | undefined): void {
    this.#confirmedAt = at;
  }

  /** It must not be sent, as `error` says, and was not. */
  refused(error: unknown): void {
    if (this.#settle()) this.reject(error);
  }

  /** There is no connection to send it on. */
  unconnected(error: Error): void {
    this.#fail(this.#kindOf(error), error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('it ended before the request could be sent'));
    else if (this.#isDelayed()) this.#fail('delayed');
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
    // Of a write the response says what it did, so it is never given up.
    if (this.budget && this.config.method === 'GET') {
      const held = this.budget.grow(this.#held, this.#size);
      if (held === undefined) return this.#fail('abandoned', new Error('large responses fill the budget'));
      this.#held = held;
    }
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#settle('answer')) return;
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

  /** The process was busy or stopped in between. */
  #isDelayed(): boolean {
    return this.#confirmedAt !== undefined && performance.now() - this.#confirmedAt > CONFIRMED_FOR_MS;
  }

  /** The caller is told; what was sent and must not be lost goes on, with somebody else to tell. */
  #deadline(): void {
    if (!this.#sent || !this.config.confirm) return this.timeUp();
    const late = Promise.withResolvers<Response>();
    // Heard by whoever wants to hear it.
    late.promise.catch(() => undefined);
    const tell = this.reject;
    this.resolve = late.resolve;
    this.reject = late.reject;
    this.#isLate = true;
    this.#timer = setTimeout(() => this.timeUp(), LATE_MS).unref();
    tell(new TransportError('timeout', true, undefined, late.promise));
    this.told('failure');
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

  #settle(how: 'answer' | 'failure' = 'failure'): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.underWay.delete(this);
    this.budget?.release(this.#held);
    this.#held = 0;
    this.config.abandon?.removeEventListener('abort', this.#abandoned);
    this.told(how);
    return true;
  }
}
