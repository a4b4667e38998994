import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { SpanKind } from '@opentelemetry/api';
import pLimit from 'p-limit';
import { FairLimit } from '../kit/fair-limit/fair-limit.ts';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { inSpan } from '../observability/tracing.ts';
import { tokenConnections } from '../transport/upstream-pools.ts';
import { type AccessToken, type Principal, principalName } from './principal.ts';
import { TokenEndpoint } from './token.endpoint.ts';
import { TokenFailure } from './token-failure.ts';
import type { Claim, Permit } from './token-ledger.ts';
import { type TokenTrouble, TokenTroubles } from './token-troubles.ts';
import { type HeldToken, newOwner, type StoreClaim, TokenStore } from './token.store.ts';

type Failing = Extract<Claim, { kind: 'failing' }>;

/** The wait after a failed renewal, while the old token is still valid. */
const RENEWAL_PAUSE_MS = 1_000;

/**
 * Decides when a token is requested. In the process, one flight serves all waiters of a principal. A waiter whose time runs out does not
 * end the flight. Among replicas, the ledger lets one call the endpoint. While a token is valid, it is renewed in the background.
 */
@Injectable()
export class TokenManager {
  readonly #flights = new SingleFlight<HeldToken>();
  readonly #troubles = new TokenTroubles((principal) => this.#flightOf(principal));
  readonly #limits = {
    application: pLimit(tokenConnections.application),
    user: pLimit(tokenConnections.user),
  };

  readonly #ofSessions = new FairLimit(tokenConnections.session);

  constructor(
    private readonly store: TokenStore,
    private readonly endpoint: TokenEndpoint,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {
    metrics.breakerState('tokens', 'closed');
    metrics.follow('gateway_principals_rejected', () =>
      (['application', 'user'] as const).map((principal) => [
        { principal },
        this.troubles.filter(
          ({ of, kind, retryAt }) => of === principal && kind === 'rejected' && retryAt !== undefined,
        ).length,
      ]),
    );
  }

  /**
   * Returns a usable token, at once if the process holds one. Otherwise it resolves within `waitMs`, or rejects with a {@link
   * TokenFailure}. No call is sent without a token.
   */
  get(principal: Principal, waitMs: number): AccessToken | Promise<AccessToken> {
    const held = this.store.getLocal(principal);
    if (!held) return this.#wait(principal, waitMs);
    if (performance.now() >= held.renewAt && !this.#flights.has(this.#flightOf(principal))) {
      // A failure has no effect here: the old token is still valid, and the failure was logged and counted.
      this.#fly(principal, held).catch(() => this.store.postpone(principal, RENEWAL_PAUSE_MS));
    }
    return held;
  }

  /** Handles a token version that the platform refused. `refuse` of the ledger describes `again`, and when the result is false. */
  async refused(principal: Principal, version: string, again = false): Promise<boolean> {
    const dropped = await this.store.refuse(principal, version, again);
    this.metrics.tokenEvent(principal.kind, 'refused');
    if (!dropped) this.metrics.tokenEvent(principal.kind, 'held_off');
    this.log.warn(
      { event: 'token-refused', principal: principalName(principal), again },
      'The platform refused an access token',
    );
    return dropped;
  }

  /**
   * Requests a token for a session, which keeps the token itself. Nothing is requested while the endpoint is known to fail, or if no connection
   * is free within `waitMs`. Callers take turns at the connections.
   */
  async forSession(
    request: (endpoint: TokenEndpoint) => Promise<AccessToken>,
    { caller = '', waitMs }: { readonly caller?: string; readonly waitMs?: number } = {},
  ): Promise<AccessToken> {
    const giveUpAt = performance.now() + (waitMs ?? Infinity);
    const begun = Promise.withResolvers<void>();
    const token = this.#ofSessions.run(caller, async () => {
      if (performance.now() >= giveUpAt) throw new TokenFailure('unavailable', 'waited_too_long');
      begun.resolve();
      return this.#askForSession(request);
    });
    if (waitMs !== undefined) await inWaitTime(waitMs, Promise.race([begun.promise, token]));
    return token;
  }

  async #askForSession(request: (endpoint: TokenEndpoint) => Promise<AccessToken>): Promise<AccessToken> {
    const owner = newOwner();
    const claim = await whenNotBusy(() => this.store.claimForSession(owner));
    if (claim.kind === 'failing') throw this.#remembered('session', claim);
    const { permit } = claim;
    try {
      const token = await this.#ask(permit, () => request(this.endpoint));
      await this.store.release(permit);
      this.metrics.tokenEvent('session', 'renewed');
      return token;
    } catch (error) {
      const failure = asFailure(error);
      if (failure.ofEndpoint) await this.store.fail(permit, failure);
      else await this.store.release(permit);
      this.metrics.tokenEvent('session', failure.kind);
      throw failure;
    }
  }

  /** Returns the failure of each principal whose last request failed. */
  get troubles(): TokenTrouble[] {
    return this.#troubles.all;
  }

  /** True if the application gets no token. One user's wrong password does not make the gateway degraded. */
  get isFailing(): boolean {
    return this.#troubles.has('application');
  }

  /** Forgets failures. Call it when the users were read again, because earlier failures say nothing about their new passwords. */
  usersChanged(): void {
    this.#troubles.forget('user');
  }

  async #wait(principal: Principal, waitMs: number): Promise<AccessToken> {
    const started = performance.now();
    try {
      return await inSpan('token wait', { attributes: { 'gateway.token.principal': principal.kind } }, () =>
        inWaitTime(waitMs, this.#fly(principal)),
      );
    } finally {
      this.metrics.tokenWait(principal.kind, (performance.now() - started) / 1_000);
    }
  }

  #flightOf(principal: Principal): string {
    return this.store.keysOf(principal).token;
  }

  /** Runs the one flight of a principal. `held` is the token that is still valid and is to be replaced. */
  #fly(principal: Principal, held?: HeldToken): Promise<HeldToken> {
    return this.#flights.run(this.#flightOf(principal), async () => {
      try {
        const token = await this.#obtain(principal, held);
        this.#settle(principal);
        return token;
      } catch (error) {
        this.#settle(principal, asFailure(error));
        throw error;
      }
    });
  }

  #settle(principal: Principal, failure?: TokenFailure): void {
    if (!failure) this.metrics.breakerState('tokens', 'closed');
    this.#troubles.settle(principal, failure);
  }

  async #obtain(principal: Principal, held?: HeldToken): Promise<HeldToken> {
    const owner = newOwner();
    const claim = () => whenNotBusy(() => this.store.claim(principal, owner, held?.version));
    const first = await claim();
    if (first.kind !== 'permit') return this.#use(principal, first, held);
    const limit = this.#limits[principal.kind];
    const isLate = limit.activeCount + limit.pendingCount >= limit.concurrency;
    // While the request waits for a connection, the endpoint may fail, another replica may get the token, and the permit may end.
    return limit(async () => this.#use(principal, isLate ? await claim() : first, held));
  }

  async #use(
    principal: Principal,
    claim: Exclude<StoreClaim, { kind: 'busy' }>,
    held?: HeldToken,
  ): Promise<HeldToken> {
    switch (claim.kind) {
      case 'token':
        this.metrics.tokenEvent(principal.kind, 'shared');
        return claim.token;
      case 'failing':
        throw this.#remembered(principal.kind, claim);
      case 'permit':
        return this.#renew(principal, claim.permit, held?.refreshToken);
    }
  }

  async #renew(principal: Principal, permit: Permit, refreshToken?: string): Promise<HeldToken> {
    try {
      const token = await this.#ask(permit, () => this.#request(principal, refreshToken));
      const kept = await this.store.save(principal, permit, token);
      this.metrics.tokenEvent(principal.kind, 'renewed');
      return kept;
    } catch (error) {
      const failure = asFailure(error);
      const { kind, reason, ofEndpoint, code, cause } = failure;
      const nextTryInS = Math.ceil((await this.store.fail(permit, failure)) / 1_000);
      this.metrics.tokenEvent(principal.kind, kind);
      this.log.error(
        {
          event: 'token-request-failed',
          principal: principalName(principal),
          kind,
          reason,
          code,
          nextTryInS,
        },
        'The gateway did not get an access token',
      );
      throw new TokenFailure(kind, reason, { ofEndpoint, code, cause, retryAfter: nextTryInS });
    }
  }

  /** Makes one request with a permit. If the endpoint failed before, the request shows whether it works again. */
  async #ask(permit: Permit, request: () => Promise<AccessToken>): Promise<AccessToken> {
    if (permit.failures.endpoint) this.metrics.breakerState('tokens', 'half-open');
    try {
      const token = await inSpan('token request', { kind: SpanKind.CLIENT }, request);
      this.metrics.breakerState('tokens', 'closed');
      return token;
    } catch (error) {
      const failure = asFailure(error);
      this.metrics.breakerState('tokens', failure.ofEndpoint ? 'open' : 'closed');
      throw failure;
    }
  }

  /** Uses the refresh token if there is one. If the endpoint works and refuses it, and names no wait, the password follows. */
  async #request(principal: Principal, refreshToken?: string): Promise<AccessToken> {
    try {
      return await this.endpoint.request(principal, refreshToken);
    } catch (error) {
      const refreshRefused = refreshToken !== undefined && error instanceof TokenFailure && !error.ofEndpoint;
      if (!refreshRefused || error.retryAfter !== undefined) throw error;
      return this.endpoint.request(principal);
    }
  }

  /** Returns the failure of an earlier request, for a caller that must not cause another one yet. */
  #remembered(principal: Principal['kind'] | 'session', { failure, retryInMs }: Failing): TokenFailure {
    const { kind, reason, ofEndpoint } = failure;
    this.metrics.tokenEvent(principal, 'remembered');
    if (ofEndpoint) this.metrics.breakerState('tokens', 'open');
    return new TokenFailure(kind, reason, { ofEndpoint, retryAfter: Math.ceil(retryInMs / 1_000) });
  }
}

/** Claims until no other owner is calling the endpoint. */
async function whenNotBusy<T extends StoreClaim>(
  claim: () => Promise<T>,
): Promise<Exclude<T, { kind: 'busy' }>> {
  for (;;) {
    const claimed = await claim();
    if (claimed.kind !== 'busy') return claimed as Exclude<T, { kind: 'busy' }>;
    // The pause has jitter, because other replicas poll as well.
    await sleep(20 + 40 * Math.random());
  }
}

function asFailure(error: unknown): TokenFailure {
  return error instanceof TokenFailure
    ? error
    : new TokenFailure('unavailable', 'internal', { cause: error });
}

/** Returns the flight's result. If the time of this waiter ends first, only this waiter gets a failure. */
export async function inWaitTime<T>(waitMs: number, flight: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TokenFailure('unavailable', 'waited_too_long')), Math.max(0, waitMs));
  });
  try {
    return await Promise.race([flight, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
