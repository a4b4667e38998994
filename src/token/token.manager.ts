import { Injectable } from '@nestjs/common';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { type AccessToken, type Principal, principalName } from './principal.ts';
import { TokenEndpoint } from './token.endpoint.ts';
import { TokenFailure } from './token-failure.ts';
import { type HeldToken, TokenStore } from './token.store.ts';

/**
 * Decides when a token is asked for. In the process there is one request a principal at a time, whoever waits for it; a
 * waiter that runs out of time leaves the flight alone. While a token serves, its renewal happens in the background.
 */
@Injectable()
export class TokenManager {
  readonly #flights = new Map<string, Promise<HeldToken>>();
  #lastRequestFailed = false;

  constructor(
    private readonly store: TokenStore,
    private readonly endpoint: TokenEndpoint,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {}

  /** A usable token within `waitMs`, or a {@link TokenFailure}: there is never a call without one. */
  async get(principal: Principal, waitMs: number): Promise<AccessToken> {
    const held = this.store.peek(principal);
    if (!held)
      return within(
        waitMs,
        this.#fly(principal, () => this.#loadOrRenew(principal)),
      );
    if (performance.now() >= held.renewAt && !this.#flights.has(this.store.keyOf(principal))) {
      // Failing is fine here: the old token serves on, and the failure was logged and counted.
      this.#fly(principal, () => this.#renew(principal, held.refreshToken)).catch(() => undefined);
    }
    return held;
  }

  /** Upstream refused this token: it is dropped, unless a newer one took its place. The next {@link get} renews. */
  async refused(principal: Principal, version: string): Promise<void> {
    this.metrics.tokenEvent(principal.kind, 'refused');
    this.log.warn(
      { event: 'token-refused', principal: principalName(principal) },
      'Upstream refused an access token',
    );
    await this.store.drop(principal, version);
  }

  /** Whether the last request for an application token succeeded; true before the first. */
  get healthy(): boolean {
    return !this.#lastRequestFailed;
  }

  #fly(principal: Principal, start: () => Promise<HeldToken>): Promise<HeldToken> {
    const name = this.store.keyOf(principal);
    const running = this.#flights.get(name);
    if (running) return running;
    const flight = start().finally(() => {
      if (this.#flights.get(name) === flight) this.#flights.delete(name);
    });
    this.#flights.set(name, flight);
    return flight;
  }

  async #loadOrRenew(principal: Principal): Promise<HeldToken> {
    return (await this.store.load(principal)) ?? (await this.#renew(principal));
  }

  /** By refresh token where there is one; one that was refused is no loss, since the password is at hand. */
  async #request(principal: Principal, refreshToken?: string): Promise<AccessToken> {
    try {
      return await this.endpoint.request(principal, refreshToken);
    } catch (error) {
      const refreshRefused =
        refreshToken !== undefined && error instanceof TokenFailure && error.kind === 'rejected';
      if (!refreshRefused) throw error;
      return this.endpoint.request(principal);
    }
  }

  async #renew(principal: Principal, refreshToken?: string): Promise<HeldToken> {
    try {
      const token = await this.#request(principal, refreshToken);
      if (principal.kind === 'application') this.#lastRequestFailed = false;
      this.metrics.tokenEvent(principal.kind, 'renewed');
      return await this.store.save(principal, token);
    } catch (error) {
      const failure =
        error instanceof TokenFailure ? error : new TokenFailure('unavailable', 'internal', undefined, error);
      // One user's wrong password is no reason to call the gateway degraded.
      if (principal.kind === 'application') this.#lastRequestFailed = true;
      this.metrics.tokenEvent(principal.kind, failure.kind);
      this.log.error(
        {
          event: 'token-request-failed',
          principal: principalName(principal),
          kind: failure.kind,
          reason: failure.reason,
        },
        'No access token',
      );
      throw failure;
    }
  }
}

/** The flight's result, or a failure of this waiter alone once its time is over. */
async function within<T>(waitMs: number, flight: Promise<T>): Promise<T> {
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
