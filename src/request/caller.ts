import type { Budgets } from '../budgets/state/budgets.ts';
import type { Grants } from './call-context.ts';
import type { Scope } from './scopes.ts';

/** The sender of a request: an entry of the callers file, with the additions of its credential. */
export interface Caller {
  readonly name: string;
  /** The SHA-256 of each key. Two keys allow rotation. */
  readonly keyHashes: readonly Buffer[];
  /** The names of client certificates. Each of them is a credential, as a key is. */
  readonly certificates: readonly string[];
  readonly scopes: ReadonlySet<Scope>;
  /** Why a token grants no scopes, if it grants none. */
  readonly whyNone?: string;
  readonly grants: Grants;
  readonly appKey?: string;
  /** The limit of the caller's rate. Undefined if it is not limited. */
  readonly rateLimit?: RateLimit;
  readonly budgets?: Budgets;
}

/** The number of requests in a window, and the window's length in seconds. */
export interface RateLimit {
  readonly requests: number;
  readonly perSeconds: number;
}
