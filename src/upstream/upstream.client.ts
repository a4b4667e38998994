import { randomBytes } from 'node:crypto';
import { HttpService } from '@nestjs/axios';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Metrics } from '../observability/metrics.ts';
import type { AccessToken, Principal } from '../token/principal.ts';
import { TokenManager } from '../token/token.manager.ts';
import type { ActingUser, CallContext } from './call-context.ts';
import { classify, type Classified, type WireAnswer } from './classify.ts';
import { secretValues } from './clean-text.ts';
import { type Operation, type OperationName, operations, type UpstreamModule } from './operations.ts';
import { RetryBudget } from './retry-budget.ts';
import { assertOwnTenants } from './tenancy.ts';
import { TransportError } from './transport/transport-error.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import { upstreamPath, type UpstreamRequest } from './upstream-path.ts';
import { type ContractNotes, WireMisfit } from './wire/reader.ts';

const NONCE_BYTES = 16;

/** Turns `data` of a success into a result; departures from the interface that it can live with go to `notes`. */
type Decode<T> = (data: unknown, notes: ContractNotes) => T;

interface Attempt {
  readonly operation: Operation;
  readonly request: UpstreamRequest;
  readonly body: string | undefined;
  /** Member operations only: on whose behalf. */
  readonly user: ActingUser | undefined;
  /** performance.now() at which the whole call is over. */
  readonly deadline: number;
}

/** Which further attempts a call still has: each reason at most once. */
interface Allowance {
  token: boolean;
  userToken: boolean;
  nonce: boolean;
  transient: boolean;
}

/**
 * The one way to the platform: token, a fresh nonce, headers, send, bounded read, lossless parse, classify, decode.
 * Answers data, or throws {@link UpstreamFailure} or a token failure; nothing else that upstream does gets out of here.
 */
@Injectable()
export class UpstreamClient {
  readonly #budget = new RetryBudget();
  readonly #basePath: string;
  readonly #principals: Readonly<Record<UpstreamModule, Principal>>;

  constructor(
    private readonly http: HttpService,
    private readonly tokens: TokenManager,
    private readonly config: UpstreamConfig,
    private readonly metrics: Metrics,
  ) {
    this.#basePath = config.baseUrl.pathname.replace(/\/+$/, '');
    this.#principals = {
      order: { kind: 'application', scope: config.scopes.order },
      member: { kind: 'application', scope: config.scopes.member },
    };
  }

  /** `decode` turns `data` of a success into the result; a {@link WireMisfit} from it becomes `nonconforming`. */
  async call<T>(
    name: OperationName,
    context: CallContext,
    request: UpstreamRequest,
    decode: Decode<T>,
  ): Promise<T> {
    const operation = operations[name];
    assertOwnTenants(operation, request, context.caller.grants);
    const started = performance.now();
    const attempt: Attempt = {
      operation,
      request,
      body: request.body && JSON.stringify(request.body),
      user: actingUser(operation, context),
      deadline: started + (operation.placesOrders ? this.config.orderDeadlineMs : this.config.deadlineMs),
    };
    try {
      const data = await this.#persist(attempt);
      return this.#decoded(operation, data, decode);
    } finally {
      context.upstreamMs += performance.now() - started;
    }
  }

  /** Attempts until success, a failure that another attempt cannot change, or the end of what is allowed. */
  async #persist(attempt: Attempt): Promise<unknown> {
    const { operation, user } = attempt;
    const read = operation.effect === 'read';
    const allowed: Allowance = { token: true, userToken: true, nonce: read, transient: read };
    const principal = this.#principals[operation.module];
    this.#budget.called();
    for (;;) {
      const waitMs = attempt.deadline - performance.now();
      const [token, userToken] = await Promise.all([this.tokens.get(principal, waitMs), user?.token(waitMs)]);
      const result = await this.#send(attempt, token, userToken);
      if (result.kind === 'success' || isPartial(result, operation)) return result.data;
      if (isTokenRefusal(result)) await this.tokens.refused(principal, token.version, !allowed.token);
      if (isUserRefusal(result) && userToken) await user?.refused(userToken.version, !allowed.userToken);
      if (!this.#mayRepeat(result, allowed, attempt.deadline)) {
        throw new UpstreamFailure(operation, result.kind, result.sent, {
          ...result.details,
          actingAs: user?.kind,
        });
      }
    }
  }

  #mayRepeat(result: Failed, allowed: Allowance, deadline: number): boolean {
    if (performance.now() >= deadline) return false;
    if (isTokenRefusal(result)) return spend(allowed, 'token');
    if (isUserRefusal(result)) return spend(allowed, 'userToken');
    if (result.details.code === '70001') return spend(allowed, 'nonce');
    const waitMs = (result.details.retryAfter ?? 0) * 1000;
    return (
      waitMs === 0 &&
      isTransient(result) &&
      allowed.transient &&
      this.#budget.take() &&
      spend(allowed, 'transient')
    );
  }

  /** One attempt on the wire. */
  async #send(
    attempt: Attempt,
    token: AccessToken,
    userToken?: AccessToken,
  ): Promise<Classified & { sent: boolean }> {
    const { operation, request, body } = attempt;
    const started = performance.now();
    const result = await this.#exchange(attempt, {
      path:
        this.#basePath +
        upstreamPath(operation, { ids: request.ids, query: { ...request.query, g_nonce: nonce() } }),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: `Bearer ${token.value}`,
        'content-type': 'application/json',
        ...(userToken && { clientToken: token.value, userToken: userToken.value }),
      },
      secrets: () => [
        token.value,
        ...(userToken ? [userToken.value] : []),
        this.config.appSecret.reveal(),
        ...(body ? secretValues(request.body) : []),
      ],
    });
    this.metrics.upstreamAttempt(operation.name, result.kind, (performance.now() - started) / 1000);
    return result;
  }

  async #exchange(
    { operation, body, deadline }: Attempt,
    wire: { path: string; headers: Record<string, string>; secrets: () => string[] },
  ): Promise<Classified & { sent: boolean }> {
    try {
      const response = await this.http.axiosRef.request<Buffer>({
        url: wire.path,
        method: operation.method,
        headers: wire.headers,
        data: body,
        timeout: Math.max(1, deadline - performance.now()),
        unshared: operation.placesOrders,
      });
      const answer = {
        status: response.status,
        headers: response.headers as WireAnswer['headers'],
        body: response.data,
      };
      return { ...classify(answer, wire.secrets), sent: true };
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      const kind = error.kind === 'malformed' || error.kind === 'too-large' ? 'unreadable' : error.kind;
      return { kind, details: { cause: error.cause }, sent: error.sent };
    }
  }

  #decoded<T>(operation: Operation, data: unknown, decode: Decode<T>): T {
    const notes: ContractNotes = new Set();
    try {
      return decode(data, notes);
    } catch (error) {
      if (!(error instanceof WireMisfit)) throw error;
      this.metrics.contractWarning(operation.name, 'misfit');
      throw new UpstreamFailure(operation, 'nonconforming', true, { status: 200, cause: error });
    } finally {
      for (const note of notes) this.metrics.contractWarning(operation.name, note);
    }
  }
}

/** 128 random bits, new for every attempt (the interface does not show a format). */
function nonce(): string {
  return randomBytes(NONCE_BYTES).toString('hex');
}

type Failed = Exclude<Classified, { kind: 'success' }>;

function spend(allowed: Allowance, reason: keyof Allowance): boolean {
  const had = allowed[reason];
  allowed[reason] = false;
  return had;
}

function isPartial({ details }: Failed, { partialCode }: Operation): boolean {
  return partialCode !== undefined && details.code === partialCode;
}

/** 60000 and its bare HTTP forms concern the application's token (interface section 5). */
function isTokenRefusal({ kind, details }: Failed): boolean {
  return kind === 'unauthorized' || details.code === '60000';
}

/** 60005 concerns the acting user's token only. */
function isUserRefusal({ details }: Failed): boolean {
  return details.code === '60005';
}

/** Never a member call without a user: a route that forgot to settle one is a fault of ours. */
function actingUser({ name, module }: Operation, { user }: CallContext): ActingUser | undefined {
  if (module === 'order') return undefined;
  if (!user) throw new Error(`${name} needs an acting user`);
  return user;
}

/** Failures of a read that may be over a moment later (errors.md). Name resolution, TLS and time are not. */
function isTransient({ kind, details }: Failed): boolean {
  if (kind === 'refused') return details.code === '500' || details.code === '80001';
  if (kind === 'unavailable')
    return details.status === 502 || details.status === 503 || details.status === 504;
  if (kind === 'unreachable')
    return (details.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';
  return kind === 'lost';
}
