import type { Budgets } from '../budgets/state/budgets.ts';
import type { Grants } from './call-context.ts';
import type { Scope } from './scopes.ts';

/** Who sends a request: an entry of the callers file, with what its credential adds. */
export interface Caller {
  readonly name: string;
  /** SHA-256 of each key; two allow rotation. */
  readonly keyHashes: readonly Buffer[];
  /** Names of client certificates, each of which is a credential as a key is. */
  readonly certificates: readonly string[];
  readonly scopes: ReadonlySet<Scope>;
  /** Why a token gives no scopes, where it gives none. */
  readonly whyNone?: string;
  readonly grants: Grants;
  readonly appKey?: string;
  /** Undefined: the caller's rate is not limited. */
  readonly rateLimit?: RateLimit;
  readonly budgets?: Budgets;
}

/** The number of requests in a window, and the window's length in seconds. */
export interface RateLimit {
  readonly requests: number;
  readonly perSeconds: number;
}
