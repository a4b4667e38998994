import { Injectable } from '@nestjs/common';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import type { Principal } from '../token/principal.ts';
import { TokenFailure } from '../token/token-failure.ts';
import { TokenManager } from '../token/token.manager.ts';
import type { ActingUser, CallContext } from '../request/call-context.ts';
import { ContractNotes, UpstreamGaps } from './gaps.ts';
import { type OperationGroup, OperationGroups } from './resilience/operation-groups.ts';
import { type UpstreamOperation, type OperationName, operations } from './operations.ts';
import { assertOwnTenants } from './own-tenants.ts';
import {
  type LateOutcome,
  type Result,
  type Sending,
  UpstreamExchange,
  type UpstreamRequest,
} from './upstream.exchange.ts';
import { meaningOf, type UpstreamCode } from './problems/upstream-codes.ts';
import { ServedEnterprises } from './served-enterprises.ts';
import { UnknownCodes } from './unknown-codes.ts';
import { ContractViolation, IncompleteResponse, UpstreamFailure } from './upstream-failure.ts';
import { inBackground } from '../shared/edge.ts';

/** Converts `data` of a success to a result. Tolerated departures from the interface are added to `notes`. */
export type Decode<T> = (data: unknown, notes: ContractNotes) => T;

/** A write that is sent now, or whose response has come. */
interface SentWrite extends Pick<UpstreamRequest, 'ids' | 'body'> {
  /** False if nothing was sent yet, or if the platform has refused it. */
  readonly mayBeAccepted: boolean;
}

interface Attempt extends Sending {
  readonly context: CallContext;
  readonly group: OperationGroup;
  /** The user on whose behalf the call is made. Undefined for the order module. */
  readonly user: ActingUser | undefined;
}

/** The reason for a further attempt. A call makes at most one for each reason. */
type Reason = 'token' | 'userToken' | 'nonce' | 'transient' | 'delay';

/**
 * The only client of the platform's API: token, a fresh nonce, headers, send, bounded read, lossless parse, classify, decode. It returns
 * data, or throws {@link UpstreamFailure} or a token failure, whatever the platform does.
 */
@Injectable()
export class UpstreamClient {
  readonly served = new ServedEnterprises();
  readonly #watches: ((write: SentWrite) => void)[] = [];

  constructor(
    private readonly exchange: UpstreamExchange,
    private readonly tokens: TokenManager,
    private readonly groups: OperationGroups,
    private readonly gaps: UpstreamGaps,
    private readonly unknownCodes: UnknownCodes,
    private readonly maintenance: Maintenance,
  ) {}

  /**
   * Returns the reason why a call would be refused now, for code that has work to do before the call. Undefined if the call would be tried.
   */
  refusal(name: OperationName): UpstreamFailure | undefined {
    const operation = operations[name];
    return this.groups.get(operation).refusal(operation);
  }

  /** `watch` is called right before a write is sent, and when its response has come. It must neither throw nor wait. */
  onWrite(watch: (write: SentWrite) => void): void {
    this.#watches.push(watch);
  }

  /** Makes a call. `decode` converts `data` of a success to the result. A {@link ContractViolation} in it becomes `nonconforming`. */
  async call<T>(
    name: OperationName,
    context: CallContext,
    request: UpstreamRequest,
    decode: Decode<T>,
  ): Promise<T> {
    const operation = operations[name];
    if (context.turn) await context.turn();
    assertOwnTenants(operation, request, context);
    // For an order, the ledger has already checked the maintenance.
    if (!context.progress.hasBegun && !operation.placesOrders) this.maintenance.assertNot('all');
    if (operation.effect !== 'read') context.dryRun?.stopBefore(name, request.body);
    context.progress.hasBegun = true;
    const attempt: Attempt = {
      operation,
      request,
      body: request.bodyText ?? (request.body && JSON.stringify(request.body)),
      deadline: performance.now() + this.exchange.timeFor(operation),
      abandon: operation.effect === 'read' ? context.abandon : undefined,
      context,
      group: this.groups.get(operation),
      user: actingUser(operation, context),
    };
    const result = await this.#persist(attempt);
    const { late } = result;
    if (late) inBackground('late response', () => this.#reportLate(attempt, late, decode));
    return this.#outcome(attempt, result, decode);
  }

  async #reportLate(attempt: Attempt, late: Promise<Result>, decode: Decode<unknown>): Promise<void> {
    const result = await late;
    let outcome: LateOutcome;
    try {
      outcome = { data: this.#outcome(attempt, result, decode) };
    } catch (failure) {
      outcome = { failure };
    }
    attempt.request.sendOnce?.late(outcome);
  }

  /** Makes attempts until one succeeds, until a failure that another attempt cannot change, or until no further attempt is allowed. */
  async #persist(attempt: Attempt): Promise<Result> {
    const { operation, group, user } = attempt;
    let allowed: Set<Reason> | undefined;
    /** The kinds of tokens that stayed in use after a refusal. A second refusal of the same token says nothing new. */
    const stayed: Reason[] = [];
    if (operation.effect === 'read') group.called();
    const principal = this.exchange.principals[operation.module];
    for (;;) {
      const { result, token, userToken } = await this.#attempt(attempt, principal);
      if (result.kind === 'success' || isPartial(result, operation)) return result;
      allowed ??= reasonsOf(operation);
      const refused = refusedTokens(attempt, result, allowed);
      if (refused.token && !stayed.includes('token')) {
        const isDropped = await this.tokens.refused(principal, token.version, !allowed.has('token'));
        if (!isDropped) stayed.push('token');
      }
      if (refused.userToken && user && userToken && !stayed.includes('userToken')) {
        const isDropped = await user.refused(userToken.version, !allowed.has('userToken'));
        if (!isDropped) stayed.push('userToken');
      }
      if (!this.#mayRepeat(result, refused, allowed, attempt)) return result;
      await attempt.context.turn?.();
    }
  }

  /** Makes one attempt if its group allows it. The group is checked first, because tokens may need a wait. */
  async #attempt(attempt: Attempt, principal: Principal) {
    const { operation, group, context, user } = attempt;
    assertAwaited(attempt);
    const pass = group.enter(operation, context.caller.name);
    const started = performance.now();
    let result: Result | undefined;
    try {
      const waitMs = attempt.deadline - started;
      const [token, userToken] = await both(this.tokens.get(principal, waitMs), user?.token(waitMs));
      // The platform would carry out a write whose response the gateway has no time to read, so such a call is not sent.
      if (performance.now() >= attempt.deadline) throw new TokenFailure('unavailable', 'waited_too_long');
      assertAwaited(attempt);
      this.#tell(attempt, false);
      result = await this.exchange.send(attempt, token, userToken);
      this.#tell(attempt, result.sent && (result.kind !== 'refused' || isPartial(result, operation)));
      return { result, token, userToken };
    } finally {
      const ms = performance.now() - started;
      group.leave(pass, operation, result, ms, context.caller.name);
      context.progress.upstreamMs += ms;
    }
  }

  #tell({ operation, request: { ids, body } }: Attempt, mayBeAccepted: boolean): void {
    if (operation.effect === 'read') return;
    for (const watch of this.#watches) watch({ ids, body, mayBeAccepted });
  }

  #mayRepeat(
    result: Failed,
    refused: RefusedTokens,
    allowed: Set<Reason>,
    { operation, deadline, group }: Attempt,
  ): boolean {
    if (performance.now() >= deadline) return false;
    // A firewall may have sent the response after the platform had carried out the write.
    if (result.kind === 'unauthorized' && operation.effect !== 'read') return false;
    // Nothing was sent because the process was busy, and the platform is not to blame. The next attempt confirms the order again.
    if (result.kind === 'delayed') return allowed.delete('delay');
    const renewed = (['token', 'userToken'] as const).filter((each) => refused[each]);
    if (renewed.length > 0) return renewed.map((each) => allowed.delete(each)).includes(true);
    if (refusedBy(operation, result) === 'nonce') return allowed.delete('nonce');
    // If the platform names a time, the caller has to wait, and the gate of the operation enforces it.
    if ((result.details.retryAfter ?? 0) > 0) return false;
    return isTransient(operation, result) && allowed.delete('transient') && group.mayRetry();
  }

  /** Returns the decoded data of a result, or throws its failure. */
  #outcome<T>(attempt: Attempt, result: Result, decode: Decode<T>): T {
    const { operation, request, user } = attempt;
    if (result.known) {
      if (result.known.served !== undefined) this.served.renew(result.known.served);
      this.gaps.add(operation, result.known.notes);
      return result.known.result as T;
    }
    if (result.kind === 'success' || isPartial(result, operation)) {
      const notes = new ContractNotes();
      const decoded = this.#decoded(operation, result.data, decode, notes);
      const served = this.#noteServed(attempt, result.data);
      const { text, profile } = result;
      if (request.last && result.kind === 'success' && text !== undefined && profile)
        request.last.known = { text, profile, result: decoded, notes, served };
      return decoded;
    }
    this.unknownCodes.met(operation, result.details);
    const details = { ...result.details, actingAs: user?.kind };
    throw new UpstreamFailure(operation, result.kind, result.sent, details);
  }

  /** Returns the enterprise if the platform has shown assets of it. */
  #noteServed({ operation: { name }, request, context }: Attempt, data: unknown): string | undefined {
    const id = request.ids?.['enterpriseGlobalId'];
    if (id === undefined || !Array.isArray(data)) return undefined;
    // The gateway's own calls have no scopes. With an `extendCode` a list may lack assets.
    const isForCaller = context.caller.scopes !== undefined;
    if (isForCaller && request.query?.['extendCode'] === undefined) this.served.shown(name, id, data);
    if (name !== 'listAssets' || data.length === 0) return undefined;
    this.served.renew(id);
    return id;
  }

  #decoded<T>(operation: UpstreamOperation, data: unknown, decode: Decode<T>, notes: ContractNotes): T {
    try {
      return decode(data, notes);
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error;
      this.gaps.violated(operation);
      const matched = error instanceof IncompleteResponse ? error.matched : undefined;
      const kind = matched ? 'incomplete' : 'nonconforming';
      throw new UpstreamFailure(operation, kind, true, { status: 200, matched, cause: error });
    } finally {
      this.gaps.add(operation, notes);
    }
  }
}

function reasonsOf({ effect }: UpstreamOperation): Set<Reason> {
  const always = ['token', 'userToken', 'delay'] as const;
  return new Set<Reason>(effect === 'read' ? [...always, 'nonce', 'transient'] : always);
}

/** Throws if the caller has abandoned the call. An exchange listens for the signal, which fires no event if it was aborted before. */
function assertAwaited({ abandon, operation }: Attempt): void {
  if (abandon?.aborted) throw new UpstreamFailure(operation, 'abandoned', false);
}

type Failed = Exclude<Result, { kind: 'success' }>;

type Maybe<T> = T | Promise<T>;

/** Waits for both values at the same time. Returns at once if both are available, as they nearly always are. */
function both<A, B>(one: Maybe<A>, other: Maybe<B>): Maybe<[A, B]> {
  const isAtHand = !(one instanceof Promise) && !(other instanceof Promise);
  return isAtHand ? [one, other] : Promise.all([one, other]);
}

function isPartial({ kind, details }: Failed, { partialCode }: UpstreamOperation): boolean {
  return kind === 'refused' && partialCode !== undefined && details.code === partialCode;
}

function refusedBy(operation: UpstreamOperation, { details }: Failed): UpstreamCode['refuses'] {
  return meaningOf(operation, details)?.refuses;
}

type RefusedTokens = Readonly<Record<'token' | 'userToken', boolean>>;

/**
 * Returns the tokens that the platform may mean. `unauthorized` may concern the application's token, and dropping that does no
 * harm. If a taught code may mean either token, the session's is renewed only after the application's was not the reason, and the session
 * does not end because of it.
 */
function refusedTokens(
  { operation, user }: Attempt,
  result: Failed,
  allowed: ReadonlySet<Reason>,
): RefusedTokens {
  const refuses = refusedBy(operation, result);
  const isEither = refuses === 'tokens';
  const isSession = user?.kind === 'session';
  const isFirst = allowed.has('token');
  return {
    token: result.kind === 'unauthorized' || refuses === 'token' || (isEither && (isFirst || !isSession)),
    userToken:
      user !== undefined &&
      (refuses === 'userToken' || (isEither && (!isSession || (!isFirst && allowed.has('userToken'))))),
  };
}

/** Returns the user of a member call, which needs one. A route without a user is a fault of the gateway. */
function actingUser({ name, module }: UpstreamOperation, { user }: CallContext): ActingUser | undefined {
  if (module === 'order') return undefined;
  if (!user) throw new Error(`${name} needs an acting user`);
  return user;
}

/**
 * True for a failure of a read that may be over a moment later (docs/api.md, section 6). Failures of name resolution, TLS and time are not
 * such failures.
 */
function isTransient(operation: UpstreamOperation, { kind, details }: Failed): boolean {
  if (kind === 'refused') return meaningOf(operation, details)?.transient === true;
  if (kind === 'unavailable') return [502, 503, 504].includes(details.status ?? 0);
  if (kind === 'unreachable')
    return (details.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';
  return kind === 'lost';
}
