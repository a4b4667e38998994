import { HttpService } from '@nestjs/axios';
import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { Injectable } from '@nestjs/common';
import type { AxiosResponse } from 'axios';
import { firstValueFrom } from 'rxjs';
import { UpstreamConfig } from '../config/app-config.ts';
import type { KnownPlatform, PlatformProfile } from '../config/platform-profile.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { contextOf, inSpan, type TraceContext, traceHeaders } from '../observability/tracing.ts';
import type { AccessToken, Principal } from '../token/principal.ts';
import type { CallContext } from '../request/call-context.ts';
import { freshNonce, tokenHeader } from './credential-forms.ts';
import {
  type Classified,
  classify,
  type KnownResponse,
  type LastResponse,
  type ResponseTerms,
  textOf,
  type WireResponse,
} from './classify.ts';
import { secretValues } from '../shared/secret-fields.ts';
import {
  isPathId,
  modulePrefix,
  PATH_ID_RULE,
  SIMPLE_ID,
  type UpstreamModule,
  type UpstreamOperation,
} from './operations.ts';
import { ContractViolation, UpstreamFailure } from './upstream-failure.ts';
import { TransportError } from '../transport/exchange.ts';

export interface UpstreamRequest {
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: object;
  /** The body as JSON, if the calling code has made it already. */
  readonly bodyText?: string;
  /** Set for orders. The connections of other operations do not support this. */
  readonly sendOnce?: SendOnce;
  /** The last response. Set for reads that have the same path, query, user and decoder each time. */
  readonly last?: LastResponse;
  /** The nonce to send instead of a fresh one. */
  readonly nonce?: string;
  /** Receives the whole response before it is read. Must not throw. */
  readonly seen?: (response: WireResponse) => void;
}

export interface SendOnce {
  /**
   * Runs on a connected socket, right before the first byte, for every attempt. If it rejects, nothing is sent, and the call fails with
   * that error. Resolves with the last `performance.now()` at which sending was allowed: the request is sent within 100 ms of it, or not at
   * all.
   */
  confirm(): Promise<number>;
  /** Runs at most once, and only if the call ended with a `timeout` after bytes were sent. Must not throw. */
  late(outcome: LateOutcome): void;
}

export type LateOutcome = { readonly data: unknown } | { readonly failure: unknown };

export interface Sending {
  readonly operation: UpstreamOperation;
  readonly request: UpstreamRequest;
  readonly body: string | undefined;
  /** The performance.now() at which the whole call ends. */
  readonly deadline: number;
  /** The signal that is aborted when no caller waits for the response any more. */
  readonly abandon: AbortSignal | undefined;
  readonly context: Pick<CallContext, 'requestId' | 'trace'> & Partial<Pick<CallContext, 'caller'>>;
}

/** The result of an attempt. `sent` is false only when provably no byte of it left the process. */
export type Result = Classified & {
  readonly sent: boolean;
  /** The later result of a {@link SendOnce} after its deadline. Does not reject. */
  readonly late?: Promise<Result>;
  /** The text of a success, and the profile by which it is read. */
  readonly text?: string | undefined;
  readonly profile?: KnownPlatform;
  /** Set for a success with the same text as the last one, under the same profile. `data` was not read then. */
  readonly known?: KnownResponse;
};

/** Makes one attempt on the wire. It does not reject, whatever the platform does. */
@Injectable()
export class UpstreamExchange {
  readonly principals: Readonly<Record<UpstreamModule, Principal>>;
  readonly #basePath: string;

  constructor(
    private readonly http: HttpService,
    private readonly config: UpstreamConfig,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {
    this.#basePath = config.baseUrl.pathname.replace(/\/+$/, '');
    this.principals = {
      order: { kind: 'application', scope: config.scopes.order },
      member: { kind: 'application', scope: config.scopes.member },
    };
  }

  /** Returns the milliseconds for a whole call, including all attempts and waits. */
  timeFor({ placesOrders }: UpstreamOperation): number {
    return placesOrders ? this.config.orderDeadlineMs : this.config.deadlineMs;
  }

  send(sending: Sending, token: AccessToken, userToken?: AccessToken): Promise<Result> {
    const { method, path } = sending.operation;
    return inSpan(`${method} ${path}`, { kind: SpanKind.CLIENT }, async (span) => {
      const result = await this.#send(sending, span ? contextOf(span) : sending.context.trace, {
        token,
        userToken,
      });
      if (span) describe(span, sending.operation, result);
      return result;
    });
  }

  async #send(
    { operation, request, body, deadline, abandon, context }: Sending,
    trace: TraceContext,
    { token, userToken }: { readonly token: AccessToken; readonly userToken: AccessToken | undefined },
  ): Promise<Result> {
    const { ids, query, sendOnce, last, seen } = request;
    const redact = this.log.redactor.alsoMasking(() => [
      ...secretsOfToken(token),
      ...(userToken ? secretsOfToken(userToken) : []),
      ...(body ? secretValues(request.body) : []),
    ]);
    const { profile } = this.config;
    const started = performance.now();
    const { nonce = freshNonce(profile.of('nonceForm')) } = request;
    const response = this.http.request<Buffer>({
      url: this.#basePath + upstreamPath(operation, { ids, query: { ...query, g_nonce: nonce } }),
      method: operation.method,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: `Bearer ${token.value}`,
        'content-type': 'application/json',
        'x-request-id': context.requestId,
        ...traceHeaders(trace),
        ...(operation.module === 'member' && {
          clientToken: tokenHeader(profile.of('clientToken'), token.value),
        }),
        ...(userToken && { userToken: tokenHeader(profile.of('userToken'), userToken.value) }),
      },
      data: body,
      timeout: Math.max(1, deadline - performance.now()),
      group: operation.group,
      caller: context.caller?.name,
      abandon,
      confirm: sendOnce && (() => sendOnce.confirm()),
    });
    const taught = (code: string) => profile.taught(operation.module, code);
    const result = await resultOf(firstValueFrom(response), { redact, taught }, profile, last?.known, seen);
    this.metrics.upstreamAttempt(operation.name, result.kind, (performance.now() - started) / 1000);
    return result;
  }
}

/**
 * Returns the path and query of a call, below the base URL. Throws if an id is missing or has another form. `encodeURIComponent('..')` is
 * `..`, so encoding alone would let an id reach another operation. Such an id comes from the platform or from a body, because the gateway
 * validates the ids in its own paths. The failure is therefore one of the data, not of the gateway.
 */
export function upstreamPath(
  operation: UpstreamOperation,
  { ids = {}, query = {} }: Pick<UpstreamRequest, 'ids' | 'query'>,
): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = Object.hasOwn(ids, name) ? ids[name] : undefined;
    if (id === undefined) throw new Error(`${operation.name}: path id ${name} is missing`);
    if (SIMPLE_ID.test(id)) return id;
    if (isPathId(id)) return encodeURIComponent(id);
    const cause = new ContractViolation(name, `an id that can be in a path: it ${PATH_ID_RULE}`);
    throw new UpstreamFailure(operation, 'nonconforming', false, { cause });
  });
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${modulePrefix[operation.module]}${path}?${new URLSearchParams(given).toString()}`;
}

/** Describes the call in its span. The span does not get the address, which contains ids and the nonce. */
function describe(span: Span, { name, method, path }: UpstreamOperation, result: Result): void {
  const { kind, sent } = result;
  const { status, code } = kind === 'success' ? { status: 200, code: '0' } : result.details;
  span.setAttributes({
    'http.request.method': method,
    'url.template': path,
    'gateway.upstream.operation': name,
    'gateway.upstream.outcome': kind,
    'gateway.upstream.sent': sent,
  });
  if (status !== undefined) span.setAttribute('http.response.status_code', status);
  if (code !== undefined) span.setAttribute('gateway.upstream.code', code);
  if (kind !== 'success') span.setAttribute('error.type', kind).setStatus({ code: SpanStatusCode.ERROR });
}

async function resultOf(
  response: Promise<AxiosResponse<Buffer>>,
  terms: ResponseTerms,
  platform: PlatformProfile,
  known?: KnownResponse,
  seen?: UpstreamRequest['seen'],
): Promise<Result> {
  try {
    const { status, headers, data: body } = await response;
    const whole = { status, headers: headers as WireResponse['headers'], body };
    seen?.(whole);
    // Responses with another status are no success, and most of their bodies are not read.
    const text = status === 200 ? textOf(whole) : undefined;
    const profile = platform.content;
    if (known && known.text === text && known.profile === profile)
      return { kind: 'success', data: undefined, sent: true, known };
    return { ...classify(whole, terms, text), sent: true, text, profile };
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    const { sent, cause, late } = error;
    const kind = error.kind === 'malformed' || error.kind === 'too-large' ? 'unreadable' : error.kind;
    return { kind, details: { cause }, sent, late: late && resultOf(late, terms, platform) };
  }
}

/** Returns the tokens of a session. The log does not know them as secrets: only their own call does. */
function secretsOfToken({ value, refreshToken }: AccessToken): string[] {
  return refreshToken === undefined ? [value] : [value, refreshToken];
}
