import type { AccessToken } from '../token/principal.ts';
import type { Reach } from './reach.ts';

/** The platform's user on whose behalf the member center is called (interface section 5). */
export interface ActingUser {
  readonly kind: 'alias' | 'session';
  /** Tells users apart in cache keys and metrics; no secret, no session id. */
  readonly name: string;
  /** A usable token, at once where it is at hand, else within `waitMs`, or a token failure. */
  token(waitMs: number): AccessToken | Promise<AccessToken>;
  /**
   * Upstream refused the token of that version; `again`: the second one in the same call. The next {@link token} is another
   * one, unless renewing it was of no use a moment ago.
   */
  refused(version: string, again: boolean): Promise<void>;
}

/** What a caller may name: ids of enterprises and channels, aliases of users; `*` stands for all. */
export interface Grants {
  readonly enterprises: ReadonlySet<string>;
  readonly channels: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
}

/** One request on its way through the gateway: for whom, and what it has cost so far. */
export interface CallContext {
  readonly requestId: string;
  readonly caller: {
    readonly name: string;
    readonly grants: Grants;
    /** The caller's own `appKey` for orders, where its entry has one. */
    readonly appKey?: string;
  };
  /** Set on operations that act as a user. */
  readonly user?: ActingUser;
  /** Set on reads whose answer is for this caller alone: aborted when it hangs up. */
  abandon?: AbortSignal;
  /** The caller asks for what the platform says now (`Cache-Control: no-cache`). */
  fresh?: boolean;
  /** When the platform was asked for the oldest cached part of the response; undefined where no part is cached. In ms since the epoch. */
  cachedAt?: number | undefined;
  /** Set on requests of bound callers once what they name was looked up: nothing else of an enterprise is sent. */
  reach?: Reach;
  /** Milliseconds spent waiting for upstream, for `Server-Timing`. */
  upstreamMs: number;
  /** Milliseconds spent on lookups before the handler: apart, since they change nothing and so drop nothing from the cache. */
  lookupMs?: number;
}

export function isGranted(granted: ReadonlySet<string>, id: string): boolean {
  return granted.has('*') || granted.has(id);
}
