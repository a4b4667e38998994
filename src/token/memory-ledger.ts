import type { AccessToken } from './principal.ts';
import { type FailureRecord, keptMs } from './token-failure.ts';
import {
  type Claim,
  HOLD_OFF_MS,
  LOCK_MS,
  type Permit,
  type TokenKeys,
  type TokenLedger,
} from './token-ledger.ts';

interface Kept<T> {
  readonly value: T;
  readonly until: number;
}

/** The token ledger of one process, by its monotonic clock. Used without Redis, and while Redis is away. */
export class MemoryLedger implements TokenLedger {
  readonly #tokens = new Map<string, Kept<{ token: AccessToken; stamp: number }>>();
  readonly #failures = new Map<string, Kept<{ failure: FailureRecord; holdUntil: number }>>();
  /** Locks, probes and hold-offs, with their owners. */
  readonly #claims = new Map<string, Kept<string>>();

  /** The ledger of the fleet has newer data. */
  forget(keys: TokenKeys): void {
    this.#tokens.delete(keys.token);
    this.#failures.delete(keys.failure);
    this.#failures.delete(keys.endpoint);
  }

  claim(keys: TokenKeys, owner: string, stale: string): Promise<Claim> {
    return Promise.resolve(this.#claim(keys, owner, stale));
  }

  save(keys: TokenKeys, permit: Permit, token: AccessToken): Promise<Claim & { kind: 'token' }> {
    const now = performance.now();
    const kept = this.#tokens.get(keys.token);
    const newer = kept && kept.until > now && kept.value.stamp > permit.stamp ? kept : undefined;
    if (!newer && token.usableMs > 0) {
      this.#tokens.set(keys.token, { value: { token, stamp: permit.stamp }, until: now + token.usableMs });
    }
    this.#failures.delete(keys.failure);
    this.#failures.delete(keys.endpoint);
    this.#release(keys, permit);
    return Promise.resolve({
      kind: 'token',
      token: newer?.value.token ?? token,
      endsInMs: newer ? newer.until - now : token.usableMs,
    });
  }

  fail(keys: TokenKeys, permit: Permit, failure: FailureRecord, holdMs: number): Promise<void> {
    const now = performance.now();
    const kept = this.#tokens.get(keys.token);
    if (!kept || kept.until <= now || kept.value.stamp <= permit.stamp) {
      if (!failure.ofEndpoint) this.#failures.delete(keys.endpoint);
      this.#failures.set(failure.ofEndpoint ? keys.endpoint : keys.failure, {
        value: { failure, holdUntil: now + holdMs },
        until: now + keptMs(failure, holdMs),
      });
    }
    this.#release(keys, permit);
    return Promise.resolve();
  }

  release(keys: TokenKeys, permit: Permit): Promise<void> {
    this.#failures.delete(keys.endpoint);
    this.#release(keys, permit);
    return Promise.resolve();
  }

  refuse(keys: TokenKeys, version: string, again: boolean): Promise<boolean> {
    if (again) this.#claims.set(keys.hold, { value: version, until: performance.now() + HOLD_OFF_MS });
    const held = this.#held(keys.hold) !== undefined;
    if (this.#tokens.get(keys.token)?.value.token.version !== version) return Promise.resolve(!again);
    if (!held) this.#tokens.delete(keys.token);
    return Promise.resolve(!held);
  }

  #claim(keys: TokenKeys, owner: string, stale: string): Claim {
    const now = performance.now();
    const kept = this.#tokens.get(keys.token);
    if (kept && kept.until > now && kept.value.token.version !== stale) {
      return { kind: 'token', token: kept.value.token, endsInMs: kept.until - now };
    }
    const [endpoint, principal] = [keys.endpoint, keys.failure].map((key) => this.#failure(key));
    for (const each of [endpoint, principal]) {
      if (each && each.holdUntil > now)
        return { kind: 'failing', failure: each.failure, retryInMs: each.holdUntil - now };
    }
    const claims = endpoint ? [keys.lock, keys.probe] : [keys.lock];
    if (claims.some((claim) => (this.#held(claim) ?? owner) !== owner)) return { kind: 'busy' };
    for (const claim of claims) this.#claims.set(claim, { value: owner, until: now + LOCK_MS });
    const failures = { principal: principal?.failure, endpoint: endpoint?.failure };
    return { kind: 'permit', permit: { owner, stamp: now, failures } };
  }

  #failure(key: string): { failure: FailureRecord; holdUntil: number } | undefined {
    const kept = this.#failures.get(key);
    return kept && kept.until > performance.now() ? kept.value : undefined;
  }

  #held(key: string): string | undefined {
    const kept = this.#claims.get(key);
    return kept && kept.until > performance.now() ? kept.value : undefined;
  }

  #release(keys: TokenKeys, { owner }: Permit): void {
    for (const key of [keys.lock, keys.probe]) {
      if (this.#claims.get(key)?.value === owner) this.#claims.delete(key);
    }
  }
}
