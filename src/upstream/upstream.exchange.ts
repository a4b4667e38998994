import { HttpService } from '@nestjs/axios';
import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { Injectable } from '@nestjs/common';
import type { AxiosResponse } from 'axios';
import { firstValueFrom } from 'rxjs';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { type TraceContext, traceHeaders } from '../observability/trace-context.ts';
import { contextOf, inSpan } from '../observability/tracing.ts';
import { freshBytes } from '../shared/random-bytes.ts';
import type { AccessToken, Principal } from '../token/principal.ts';
import type { CallContext } from './call-context.ts';
import { type Classified, classify, isKnown, type KnownAnswer, type WireAnswer } from './classify.ts';
import { secretValues } from '../shared/secret-fields.ts';
import type { UpstreamModule, UpstreamOperation } from './operations.ts';
import { TransportError } from '../transport/exchange.ts';
import { upstreamPath, type UpstreamRequest } from './upstream-path.ts';

const NONCE_BYTES = 16;

export interface Sending {
  readonly operation: UpstreamOperation;
  readonly request: UpstreamRequest;
  readonly body: string | undefined;
  /** performance.now() at which the whole call is over. */
  readonly deadline: number;
  /** Aborted when no caller waits for the answer any more. */
  readonly abandon: AbortSignal | undefined;
  /** The request for which the call is made. */
  readonly context: Pick<CallContext, 'requestId' | 'trace'>;
}

/** The result of an attempt. `sent` is false only when provably no byte of it left the process. */
export type Result = Classified & {
  readonly sent: boolean;
  /** For a {@link SendOnce} after its deadline: the later result. Does not reject. */
  readonly late?: Promise<Result>;
  /** Of a success. */
  readonly body?: Buffer;
  /** Of a success with the same bytes as the last one: `data` was not read. */
  readonly known?: KnownAnswer;
};

/**
 * One attempt on the wire: a fresh nonce, headers, send, bounded read, lossless parse, classify. It does not reject for anything
 * that the platform does.
 */
@Injectable()
export class UpstreamExchange {
  /** The principal of the calls of each module. */
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

  /** Milliseconds for a whole call, including all attempts and waits. */
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
    sending: Sending,
    trace: TraceContext,
    { token, userToken }: { readonly token: AccessToken; readonly userToken: AccessToken | undefined },
  ): Promise<Result> {
    const { operation, request, body, context } = sending;
    const started = performance.now();
    const result = await this.#exchange(sending, {
      path:
        this.#basePath +
        upstreamPath(operation, { ids: request.ids, query: { ...request.query, g_nonce: nonce() } }),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: `Bearer ${token.value}`,
        'content-type': 'application/json',
        'x-request-id': context.requestId,
        ...traceHeaders(trace),
        ...(userToken && { clientToken: token.value, userToken: userToken.value }),
      },
      redact: (text) =>
        this.log.redactor.redact(text, [
          ...secretsOfToken(token),
          ...(userToken ? secretsOfToken(userToken) : []),
          ...(body ? secretValues(request.body) : []),
        ]),
    });
    this.metrics.upstreamAttempt(operation.name, result.kind, (performance.now() - started) / 1000);
    return result;
  }

  async #exchange(
    { operation, request, body, deadline, abandon }: Sending,
    wire: { path: string; headers: Record<string, string>; redact: (text: string) => string },
  ): Promise<Result> {
    const { once } = request;
    const response = this.http.request<Buffer>({
      url: wire.path,
      method: operation.method,
      headers: wire.headers,
      data: body,
      timeout: Math.max(1, deadline - performance.now()),
      group: operation.group,
      abandon,
      confirm: once && (() => once.confirm()),
    });
    return resultOf(firstValueFrom(response), wire.redact, request.last?.known);
  }
}

/** Without the address, which has ids and the nonce. */
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
  redact: (text: string) => string,
  known?: KnownAnswer,
): Promise<Result> {
  try {
    const { status, headers, data: body } = await response;
    const answer = { status, headers: headers as WireAnswer['headers'], body };
    if (known && isKnown(known, answer)) return { kind: 'success', data: undefined, sent: true, known };
    return { ...classify(answer, redact), sent: true, body };
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    const { sent, cause, late } = error;
    const kind = error.kind === 'malformed' || error.kind === 'too-large' ? 'unreadable' : error.kind;
    return { kind, details: { cause }, sent, late: late && resultOf(late, redact) };
  }
}

/** The tokens of a session, which only its own call knows. */
function secretsOfToken({ value, refreshToken }: AccessToken): string[] {
  return refreshToken === undefined ? [value] : [value, refreshToken];
}

/** 128 random bits, new for every attempt (the interface does not show a format). */
function nonce(): string {
  return freshBytes(NONCE_BYTES).toString('hex');
}
