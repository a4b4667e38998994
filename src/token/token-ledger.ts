import type { AccessToken } from './principal.ts';
import type { FailureRecord } from './token-failure.ts';

/** The keys of one principal's token. All principals of the application share `endpoint` and `probe`. */
export type TokenKeys = Readonly<ReturnType<typeof tokenKeys>>;

export function tokenKeys(token: string, endpoint: string) {
  return {
    token,
    /** The owner that asks the endpoint now. */
    lock: `${token}:lock`,
    /** Why the last request failed, and until when no owner asks again. */
    failure: `${token}:failure`,
    /** Present while a forced renewal would not help. */
    hold: `${token}:hold`,
    /** As `failure`, for failures of the endpoint itself. */
    endpoint,
    /** The owner that asks a failed endpoint first. */
    probe: `${endpoint}:probe`,
  };
}

/** The right to ask the endpoint. `save` or `fail` gives it back. */
export interface Permit {
  readonly owner: string;
  /** When it was given, by the ledger's clock. The token with the later stamp is the newer one. */
  readonly stamp: number;
  /** The failures before, if any. */
  readonly failures: { readonly principal?: FailureRecord; readonly endpoint?: FailureRecord };
}

export type Claim =
  | { readonly kind: 'token'; readonly token: AccessToken; readonly endsInMs: number }
  /** Asking failed, and it is too early to ask again. */
  | { readonly kind: 'failing'; readonly failure: FailureRecord; readonly retryInMs: number }
  /** Another owner is asking. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'permit'; readonly permit: Permit };

/** How long a permit stays after its owner died. */
export const LOCK_MS = 10_000;
/** How long a renewed token that was refused as well keeps its place: without it every request would ask for another one. */
export const HOLD_OFF_MS = 10_000;

/**
 * The tokens of a fleet: in Redis for all replicas, or in the process where there is no Redis. Each call is one
 * atomic step. Times are durations or readings of the ledger's own clock; no wall clock of a replica decides.
 */
export interface TokenLedger {
  /** Returns the token unless it is the `stale` one (a version, or empty); else the right to ask for one, or the reason against it. */
  claim(keys: TokenKeys, owner: string, stale: string): Promise<Claim>;
  /** Keeps a token and forgets the failures. Where the ledger already has a newer one, it stays and is the result. */
  save(keys: TokenKeys, permit: Permit, token: AccessToken): Promise<Claim & { kind: 'token' }>;
  /** Lets no owner ask for `holdMs`. Ignored where a newer token came meanwhile. */
  fail(keys: TokenKeys, permit: Permit, failure: FailureRecord, holdMs: number): Promise<void>;
  /** Gives a permit back and records only that the endpoint answered. */
  release(keys: TokenKeys, permit: Permit): Promise<void>;
  /**
   * The platform refused the token of that version; `again`: it is the second refusal in the same call. Drops the token where the
   * ledger still has it. False: it stays, since the platform refused the renewed token as well a moment ago.
   */
  refuse(keys: TokenKeys, version: string, again: boolean): Promise<boolean>;
}
