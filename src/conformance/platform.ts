import { randomUUID } from 'node:crypto';
import { newTrace } from '../observability/tracing.ts';
import { freshHex } from '../shared/random-bytes.ts';
import { type AccessToken, type Principal, principalName, type UserPrincipal } from '../token/principal.ts';
import type { TokenEndpoint } from '../token/token.endpoint.ts';
import type { TokenManager } from '../token/token.manager.ts';
import { TokenFailure } from '../token/token-failure.ts';
import type { WireResponse } from '../upstream/classify.ts';
import { type OperationName, operations, type UpstreamOperation } from '../upstream/operations.ts';
import { meaningOf } from '../upstream/problems/upstream-codes.ts';
import type { Result, UpstreamExchange, UpstreamRequest } from '../upstream/upstream.exchange.ts';
import { CannotAsk, notReached, tokenTrouble } from './cannot-ask.ts';
import { impersonal } from './impersonal.ts';
import { lookOf, type TokenLook } from './token-questions.ts';

export interface Question extends Pick<UpstreamRequest, 'ids' | 'query' | 'body' | 'nonce'> {
  /** The token that is sent instead of the user's. With null none is sent. */
  readonly userToken?: AccessToken | null;
  /** Sends the call once, and keeps a token that is refused in use. A given nonce or user token has the same effect. */
  readonly asItIs?: boolean;
}

/** An answer of the platform, as the gateway reads it. */
export interface Answer {
  readonly operation: UpstreamOperation;
  /** `failed`: the platform is out of order, or violates its interface, so the answer shows nothing about the question. */
  readonly kind: 'success' | 'refused' | 'failed';
  /** The payload of a success. */
  readonly data: unknown;
  /** The platform's code. Undefined for a success, or if there is none. */
  readonly code: string | undefined;
  /** The platform's words, without ids and names. For an answer without a code, a description of the answer. */
  readonly words: string;
  readonly status: number | undefined;
  /** The difference between the platform's clock and this machine's when the response arrived, in ms. */
  readonly skewMs: number | undefined;
  readonly codeIs: 'text' | 'number';
  /** True if the code says that the platform did nothing. After any other failure a write may have been carried out. */
  readonly didNothing: boolean;
}

interface Attempt {
  readonly result: Result;
  readonly response: WireResponse | undefined;
}

/** The results without a connection, after which no other question can be answered either. */
const NOT_REACHED: ReadonlySet<Result['kind']> = new Set(['unreachable', 'connect-timeout']);
/** The meaning of the codes by which the platform is out of order or busy, so that the answer shows nothing about the question. */
const OUT_OF_ORDER = 'upstream-unavailable';
/** The results without a whole response. */
const NO_RESPONSE: ReadonlySet<Result['kind']> = new Set(['timeout', 'lost', 'delayed', 'abandoned']);

/** Calls the platform with the gateway's own exchange and tokens, one call after the other. */
export class Platform {
  /** The seconds for which a new token is used, by its name. */
  readonly lifetimes = new Map<string, number>();
  readonly #looks: TokenLook[] = [];
  #hasAnswered = false;

  constructor(
    private readonly exchange: UpstreamExchange,
    private readonly tokens: TokenManager,
    endpoint: TokenEndpoint,
    private readonly user: UserPrincipal | undefined,
  ) {
    endpoint.seen = (answer) => this.#looks.push(lookOf(answer));
  }

  get alias(): string | undefined {
    return this.user?.alias;
  }

  /** Tells whether a user's token has a refresh token, and whether the platform accepts it. Undefined without a user. */
  async refreshTokens(): Promise<'taken' | 'refused' | 'absent' | undefined> {
    if (!this.user) return undefined;
    const { refreshToken } = await this.#token(this.user);
    if (refreshToken === undefined) return 'absent';
    try {
      await this.tokens.forSession((endpoint) => endpoint.refresh(refreshToken));
      return 'taken';
    } catch (error) {
      if (error instanceof TokenFailure && error.kind === 'rejected') return 'refused';
      throw tokenTrouble(error, this.user);
    }
  }

  /** The first response with a token. */
  get token(): TokenLook | undefined {
    return this.#looks.find(({ tokenIn }) => tokenIn);
  }

  /** Returns the token endpoint's answer to a user who does not exist, so that no account is locked. Undefined if no answer arrived. */
  async logIn(username: string): Promise<TokenLook | undefined> {
    const before = this.#looks.length;
    try {
      await this.tokens.forSession((endpoint) => endpoint.login(username, freshHex(16)));
    } catch (error) {
      if (!(error instanceof TokenFailure)) throw error;
    }
    return this.#looks[before];
  }

  /**
   * Asks a question. A read is repeated if the first answer may be an accident. Throws {@link CannotAsk} if the platform cannot be reached.
   */
  async ask(name: OperationName, question: Question = {}): Promise<Answer> {
    const operation = operations[name];
    const first = await this.#attempt(operation, question, false);
    const last =
      !isAsItIs(question) && mayRepeat(first.result, operation)
        ? await this.#attempt(operation, question, true)
        : first;
    return this.#answer(operation, question, last);
  }

  async #attempt(operation: UpstreamOperation, question: Question, again: boolean): Promise<Attempt> {
    const { exchange, tokens } = this;
    const { userToken: given, ...request } = question;
    const application = exchange.principals[operation.module];
    const user = operation.module === 'member' ? this.user : undefined;
    const token = await this.#token(application);
    const userToken = given === undefined ? user && (await this.#token(user)) : (given ?? undefined);
    let response: WireResponse | undefined;
    const sending = {
      operation,
      request: { ...request, seen: (whole: WireResponse) => void (response = whole) },
      body: request.body && JSON.stringify(request.body),
      deadline: performance.now() + exchange.timeFor(operation),
      abandon: undefined,
      context: { requestId: randomUUID(), trace: newTrace() },
    };
    const result = await exchange.send(sending, token, userToken);
    if (!isAsItIs(question)) {
      const refuses = refusedBy(operation, result);
      if (refuses === 'token' || refuses === 'tokens')
        await tokens.refused(application, token.version, again);
      if ((refuses === 'userToken' || refuses === 'tokens') && user && userToken)
        await tokens.refused(user, userToken.version, again);
    }
    return { result, response };
  }

  #answer(operation: UpstreamOperation, question: Question, { result, response }: Attempt): Answer {
    const date = Date.parse(String(response?.headers['date'] ?? ''));
    const common = {
      operation,
      data: undefined,
      code: undefined,
      words: '',
      status: response?.status,
      skewMs: Number.isNaN(date) ? undefined : Math.abs(date - Date.now()),
      codeIs: codeTypeOf(response),
      didNothing: false,
    } as const;
    if (result.kind === 'success') {
      this.#hasAnswered = true;
      return { ...common, kind: 'success', data: result.data };
    }
    const { code, message = '', cause } = result.details;
    if (code !== undefined) {
      const isRefusal = result.kind === 'refused';
      this.#hasAnswered ||= isRefusal;
      const { ids, query, body } = question;
      const words = impersonal(message, { ids, query, body, username: this.user?.username });
      const meaning = meaningOf(operation, result.details);
      const kind = isRefusal && meaning?.slug !== OUT_OF_ORDER ? 'refused' : 'failed';
      const isOpen =
        !isRefusal || !meaning || meaning.transient === true || meaning.slug === 'outcome-unknown';
      return { ...common, kind, code, words, didNothing: !isOpen };
    }
    const isOfThisRead = this.#hasAnswered && operation.effect === 'read';
    if (NOT_REACHED.has(result.kind) || (NO_RESPONSE.has(result.kind) && !isOfThisRead))
      throw new CannotAsk(notReached('UPSTREAM_BASE_URL', result.kind, cause));
    if (!this.#hasAnswered && response) assertInterface(operation, result.kind, response);
    return { ...common, kind: 'failed', words: whatCame(result.kind, response) };
  }

  async #token(principal: Principal): Promise<AccessToken> {
    try {
      const token = await this.tokens.get(principal, this.exchange.timeFor(operations.listAssets));
      this.lifetimes.set(principalName(principal), Math.round(token.usableMs / 1_000));
      return token;
    } catch (error) {
      throw tokenTrouble(error, principal);
    }
  }
}

function isAsItIs({ asItIs, userToken, nonce }: Question): boolean {
  return asItIs === true || userToken !== undefined || nonce !== undefined;
}

function refusedBy(operation: UpstreamOperation, result: Result) {
  if (result.kind === 'success') return undefined;
  return result.kind === 'unauthorized' ? 'token' : meaningOf(operation, result.details)?.refuses;
}

/** True if the call may be repeated. A code shows that nothing was done. A status or an accident shows that for reads only. */
function mayRepeat(result: Result, operation: UpstreamOperation): boolean {
  if (result.kind === 'success') return false;
  const isOfToken = ['token', 'userToken', 'tokens'].includes(refusedBy(operation, result) ?? '');
  if (result.kind === 'refused' && isOfToken) return true;
  const isAccident = ['unauthorized', 'unavailable', 'lost'].includes(result.kind);
  const isOutOfOrder = meaningOf(operation, result.details)?.slug === OUT_OF_ORDER;
  return operation.effect === 'read' && (isAccident || isOutOfOrder);
}

/** Throws if the very first response is no answer of the platform, because no other question can be asked then. */
function assertInterface(
  { method, path }: UpstreamOperation,
  kind: Result['kind'],
  { status }: WireResponse,
): void {
  if (kind === 'unreadable')
    throw new CannotAsk(
      `UPSTREAM_BASE_URL answers ${method} ${path} with HTTP ${status} and no JSON of the interface: check the URL, and what stands in front of the platform.`,
    );
  if (kind === 'unavailable')
    throw new CannotAsk(`The platform answers with HTTP ${status}: wait until it works, and run this again.`);
}

function whatCame(kind: Result['kind'], response: WireResponse | undefined): string {
  if (!response) return kind === 'timeout' ? 'no answer in time' : 'no whole response';
  const { status } = response;
  if (kind === 'unreadable') return `HTTP ${status} and no JSON of the interface`;
  return kind === 'nonconforming' ? `HTTP ${status} without a code` : `HTTP ${status}`;
}

function codeTypeOf(response: WireResponse | undefined): 'text' | 'number' {
  try {
    const { code } = JSON.parse(String(response?.body)) as { code?: unknown };
    return typeof code === 'number' ? 'number' : 'text';
  } catch {
    return 'text';
  }
}
