import type { CallOptions, Operation } from './call-options.ts';
import { contentOf, Etags } from './etags.ts';
import { isObject } from './is-object.ts';
import { codeOf, provesNotSent } from './not-sent.ts';
import { MAX_TIMER_MS, paused } from './paused.ts';
import { type Acting, assertSendable, type Payload, prepare, type Prepared } from './prepare.ts';
import { GatewayUnreachable, Problem, problemBodyOf } from './problem.ts';
import { streamOf } from './stream-body.ts';
import { addTrace } from './trace.ts';

export interface LicensingOptions {
  /** The address of the gateway, such as `https://licensing.internal`. A path is kept. The default is the variable `LICENSING_URL`. */
  readonly baseUrl?: string | URL | undefined;
  /** The key that the gateway's operator gave out, unless you use `token`. The default is the variable `LICENSING_API_KEY`. */
  readonly apiKey?: string | undefined;
  /**
   * Returns a JWT of the issuer that the gateway knows. The client calls it for every request, so keep the JWT until it is about to end.
   */
  readonly token?: (() => string | Promise<string>) | undefined;
  /** The time for all attempts of a call. The default is 60 s: the gateway itself gives an order 30 s. */
  readonly timeoutMs?: number | undefined;
  /** The most requests for a call, 1 to 3. The default is 3. */
  readonly attempts?: number | undefined;
  /** Replaces the global `fetch`, for a proxy or for tests. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** The most characters of reads that are kept for `If-None-Match`. The default is 4 million. 0 keeps none. */
  readonly keepReads?: number | undefined;
  /** Returns a number from 0 to below 1, for tests. */
  readonly random?: (() => number) | undefined;
}

/** The facts of the response that had a result. */
export interface ResponseFacts {
  readonly status: number;
  readonly requestId: string;
  readonly etag: string | undefined;
  /** The seconds that the result was in the gateway's read cache. */
  readonly age: number | undefined;
  /** True if it is the result of an earlier request with the same number or key. Nothing was sent to the platform now. */
  readonly replayed: boolean;
  /** The number of enterprises whose rows may be missing in a list of the estate. Undefined if it has the rows of all of them. */
  readonly incomplete: number | undefined;
  readonly attempts: number;
}

type Failure = Problem | GatewayUnreachable;

const DEADLINE_MS = 60_000;
const MAX_ATTEMPTS = 3;
const KEPT_CHARACTERS = 4_000_000;
/** The longest first wait, which doubles with each attempt. Each wait is drawn between 0 and this (full jitter). */
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5_000;

/** The unparsed facts of each result, because most callers never ask for them. */
const came = new WeakMap<object, { response: Response; requestId: string; attempts: number }>();

/** Returns the facts of a result of this client: status, request id, ETag. Undefined for any other object. */
export function responseOf(result: object): ResponseFacts | undefined {
  const known = came.get(result);
  if (!known) return undefined;
  const { status, headers } = known.response;
  const numberIn = (name: string) => (headers.has(name) ? Number(headers.get(name)) : undefined);
  return {
    status,
    requestId: headers.get('x-request-id') ?? known.requestId,
    etag: headers.get('etag') ?? undefined,
    age: numberIn('age'),
    replayed: headers.get('idempotent-replayed') === 'true',
    incomplete: numberIn('x-estate-incomplete'),
    attempts: known.attempts,
  };
}

/** Makes the calls: one request after the other until there is a result, or an error with the known facts. */
export class Exchange {
  readonly #base: string;
  /** Host and port, for messages. */
  readonly #server: string;
  readonly #options: LicensingOptions;
  readonly #apiKey: string | undefined;
  readonly #etags: Etags;

  constructor(options: LicensingOptions) {
    const { token, attempts = MAX_ATTEMPTS } = options;
    const [urlName, baseUrl] = optionOf('baseUrl', options.baseUrl, 'LICENSING_URL');
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError(`${urlName} is no http or https URL`);
    if (url.username + url.password + url.search + url.hash !== '')
      throw new TypeError(`${urlName} has neither credentials nor a query`);
    if (token === undefined) {
      const [keyName, apiKey] = optionOf('apiKey', options.apiKey, 'LICENSING_API_KEY');
      if (!/^[!-~]+$/.test(apiKey)) throw new TypeError(`${keyName} has characters that no key has`);
      this.#apiKey = apiKey;
    } else if (options.apiKey !== undefined) throw new TypeError('Give apiKey or token: each is set');
    if (![1, 2, MAX_ATTEMPTS].includes(attempts)) throw new TypeError(`attempts is 1 to ${MAX_ATTEMPTS}`);
    this.#base = url.href.replace(/\/+$/, '');
    this.#server = `${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`;
    this.#options = options;
    this.#etags = new Etags(options.keepReads ?? KEPT_CHARACTERS);
  }

  async call(
    id: string,
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    options: CallOptions,
    acting: Acting,
    payload?: Payload,
  ): Promise<unknown> {
    const prepared = prepare(this.#base, { id, operation, input, options, acting, payload });
    const { signal } = options;
    const timeoutMs = Math.min(options.timeoutMs ?? this.#options.timeoutMs ?? DEADLINE_MS, MAX_TIMER_MS);
    signal?.throwIfAborted();
    const end = new AbortController();
    const abort = () => end.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    const deadline = performance.now() + timeoutMs;
    const timer = setTimeout(() => end.abort(TIMED_OUT), timeoutMs);
    try {
      return await this.#attempts(prepared, end.signal, deadline);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  async #attempts(prepared: Prepared, signal: AbortSignal, deadline: number): Promise<unknown> {
    const { operation } = prepared;
    // A stream can be read only once.
    const most = prepared.isStream ? 1 : (this.#options.attempts ?? MAX_ATTEMPTS);
    // True if an earlier attempt of this write may have been carried out.
    let inDoubt = false;
    let before: Failure | undefined;
    for (let attempt = 1; ; attempt++) {
      const once = this.#once(prepared, signal, { attempt, inDoubt });
      const known: Failure | undefined = before;
      const done: unknown = await once.catch((error: unknown) => {
        // If `token` fails after an attempt, what is known of that attempt counts.
        throw signal.aborted ? error : (known ?? error);
      });
      if (!(done instanceof Problem || done instanceof GatewayUnreachable)) return done;
      if (attempt === most || !mayRepeat(done, operation)) throw done;
      const wait = this.#waitBefore(attempt, (done as Problem).retryAfterMs);
      if (performance.now() + wait >= deadline) throw done;
      await paused(wait, signal).catch((reason: unknown) => {
        // The time has run out, and the last failure is all that is known.
        throw reason === TIMED_OUT ? done : reason;
      });
      inDoubt ||= operation.method !== 'GET' && !operation.dry && mayHaveHappened(done);
      before = done;
    }
  }

  /** Makes one request. Resolves to the result, or to the failure. Rejects if the caller ended it. */
  async #once(
    prepared: Prepared,
    signal: AbortSignal,
    { attempt, inDoubt }: { attempt: number; inDoubt: boolean },
  ): Promise<unknown> {
    const { id, operation, url, body, isStream, isRaw, requestId, order, callerSignal } = prepared;
    const headers = { ...prepared.headers };
    const idempotencyKey = headers['idempotency-key'];
    const call = { operation: id, requestId, attempts: attempt, idempotencyKey, order };
    const unreachable = (
      why: string,
      more: { sent: boolean; timedOut?: boolean; status?: number; cause?: unknown },
    ) => new GatewayUnreachable(why, call, { ...more, sent: more.sent || inDoubt });
    const lostBy = (cause: unknown) => {
      const sent = !provesNotSent(cause);
      const why = sent
        ? `The connection to ${this.#server} was lost before the answer ended`
        : `No connection to the gateway at ${this.#server}`;
      const code = codeOf(cause);
      return unreachable(code === undefined ? why : `${why}: ${code}`, { sent, cause });
    };

    const remembered = <Result extends object>(result: Result) => {
      came.set(result, { response, requestId, attempts: attempt });
      return result;
    };
    const key = `${headers['x-acting-user'] ?? ''} ${headers['x-session-id'] ?? ''} ${url}`;
    const kept = operation.method === 'GET' ? this.#etags.of(key) : undefined;
    if (kept) headers['if-none-match'] = kept.etag;
    let response: Response;
    let text: string;
    let sending = false;
    try {
      if (!operation.open) await this.#authenticate(headers, signal);
      addTrace(headers);
      assertSendable(id, headers, body);
      sending = true;
      const send = this.#options.fetch ?? fetch;
      // The key must not follow a redirect to another server.
      response = await send(url, {
        method: operation.dry ? 'POST' : operation.method,
        headers,
        redirect: 'manual',
        signal,
        ...(body !== undefined && { body }),
        ...(isStream && { duplex: 'half' }),
      });
      // A proxy may answer with a page of its own.
      if (isRaw && response.ok && response.body && !/html/.test(`${response.headers.get('content-type')}`))
        return remembered(streamOf(response.body, callerSignal, lostBy));
      text = await response.text();
    } catch (error) {
      if (signal.aborted && signal.reason !== TIMED_OUT) throw signal.reason;
      if (signal.aborted)
        return unreachable(`No ${sending ? `answer of ${this.#server}` : 'token'} in time`, {
          sent: sending,
          timedOut: true,
          cause: error,
        });
      if (!sending) throw error;
      return lostBy(error);
    }
    const { status, headers: received } = response;
    const unchanged = status === 304 && kept ? contentOf(kept) : undefined;
    if (unchanged) return remembered(unchanged);
    if (status === 204 || (status === 202 && text === '')) return undefined;
    const answer = parsed(text);
    // A proxy may answer with the same status and JSON of its own. The `status` of a problem is a number.
    const isReport = operation.answers?.includes(String(status)) && typeof answer?.status === 'string';
    if (answer && (response.ok || isReport)) {
      const newEtag = received.get('etag');
      if (operation.method === 'GET' && newEtag !== null) this.#etags.set(key, newEtag, text);
      return remembered(answer);
    }
    const problem = problemBodyOf(status, received.get('content-type'), answer, requestId);
    if (problem === undefined)
      return unreachable(`An answer (${status}) of ${this.#server} that is not the gateway's`, {
        sent: true,
        status,
      });
    // An attempt without an effect does not settle the attempt before it. Only an order is refused by the platform once for all attempts.
    const isSettled = operation.guarded && problem.code === 'upstream-rejected';
    const isOpen = inDoubt && problem.outcome === 'not_processed' && !isSettled;
    return new Problem(isOpen ? { ...problem, outcome: 'unknown' } : problem, call, {
      retryAfterMs: retryAfterOf(received.get('retry-after')),
      location: received.get('location') ?? undefined,
    });
  }

  async #authenticate(headers: Record<string, string>, signal: AbortSignal): Promise<void> {
    const { token } = this.#options;
    if (this.#apiKey !== undefined) headers['x-api-key'] = this.#apiKey;
    else if (token !== undefined) {
      const ended = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      const given: unknown = await Promise.race([token(), ended]);
      if (typeof given !== 'string' || !/^[!-~]+$/.test(given))
        throw new TypeError('token() resolves to a JWT, a text without spaces');
      headers['authorization'] = `Bearer ${given}`;
    }
  }

  #waitBefore(attempt: number, retryAfterMs = 0): number {
    const { random = Math.random } = this.#options;
    const most = Math.min(FIRST_WAIT_MS * 2 ** (attempt - 1), MAX_WAIT_MS);
    return retryAfterMs + random() * most;
  }
}

/** Returns the source of an option's value, and the value: from the option, or from the variable of the environment. */
function optionOf(
  option: string,
  value: string | URL | undefined,
  variable: string,
): readonly [string, string] {
  const { env } = (globalThis as { process?: { env?: Readonly<Record<string, string>> } }).process ?? {};
  const from = value === undefined ? `${option} (or ${variable})` : option;
  const text = String(value ?? env?.[variable]?.trim() ?? '');
  if (text === '') throw new TypeError(`${from} is empty`);
  return [from, text];
}

const TIMED_OUT = Symbol('timed out');

/** True for a failure that the gateway calls retryable, for a call that was never sent, and for one that the gateway itself runs once. */
function mayRepeat(failure: Failure, { guarded }: Operation): boolean {
  if (failure instanceof Problem) return failure.retryable;
  if (failure.timedOut) return false;
  return !failure.sent || guarded === true;
}

function mayHaveHappened(failure: Failure): boolean {
  return failure instanceof Problem ? failure.outcome !== 'not_processed' : failure.sent;
}

function parsed(text: string): { readonly status?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads seconds, or a date (RFC 9110). */
function retryAfterOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
