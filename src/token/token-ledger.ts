import type { AccessToken } from './principal.ts';
import type { FailureRecord } from './failure-record.ts';

/** Where what is known of one principal's token is kept. `endpoint` and `probe` are shared by every principal of the application. */
export interface TokenKeys {
  readonly token: string;
  /** Who asks the endpoint right now. */
  readonly lock: string;
  /** Why the last request failed, and until when nobody asks again. */
  readonly failure: string;
  /** There while a forced renewal would be of no use. */
  readonly hold: string;
  /** As `failure`, where the endpoint itself is the one that fails. */
  readonly endpoint: string;
  /** Who is the first to ask an endpoint that failed. */
  readonly probe: string;
}

/** A right to ask the endpoint, to be given back by `save` or `fail`. */
export interface Permit {
  readonly owner: string;
  /** When it was given, by the ledger's clock: of two tokens the one asked for later is the newer. */
  readonly stamp: number;
  /** What failed before, where something did. */
  readonly failures: { readonly principal?: FailureRecord; readonly endpoint?: FailureRecord };
}

export type Claim =
  | { readonly kind: 'token'; readonly token: AccessToken; readonly endsInMs: number }
  /** Asking failed, and it is too early to ask again. */
  | { readonly kind: 'failing'; readonly failure: FailureRecord; readonly retryInMs: number }
  /** Somebody else is asking. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'permit'; readonly permit: Permit };

/** How long a permit lasts whose owner died. */
export const LOCK_MS = 10_000;
/** How long a renewed token that was refused as well keeps its place: without it every request would ask for another one. */
export const HOLD_OFF_MS = 10_000;

/**
 * What a fleet knows of its tokens: in Redis for all replicas, or in the process where there is no Redis. Each call is one
 * atomic step. Times are durations or readings of the ledger's own clock; no wall clock of a replica decides.
 */
export interface TokenLedger {
  /** The token, unless it is the `stale` one (a version, or empty); else the right to ask for one, or why not. */
  claim(keys: TokenKeys, owner: string, stale: string): Promise<Claim>;
  /** Keeps a token and forgets the failures. Where a newer one is there already, that one stays and is the result. */
  save(keys: TokenKeys, permit: Permit, token: AccessToken): Promise<Claim & { kind: 'token' }>;
  /** Nobody asks again for `holdMs`. Ignored where a newer token came meanwhile. */
  fail(keys: TokenKeys, permit: Permit, failure: FailureRecord, holdMs: number): Promise<void>;
  /** Gives a permit back, with nothing to keep but that the endpoint answered. */
  release(keys: TokenKeys, permit: Permit): Promise<void>;
  /**
   * Upstream refused the token of that version; `again`: the second one in the same call. Drops it where it is still the
   * one that is kept. False: it stays, since the renewed token was refused as well a moment ago.
   */
  refuse(keys: TokenKeys, version: string, again: boolean): Promise<boolean>;
}
