import type { AccessToken } from '../token/principal.ts';
import type { TraceContext } from '../observability/trace-context.ts';
import type { Reach } from './reach.ts';

/** The platform's user on whose behalf the member center is called (interface section 5). */
export interface ActingUser {
  readonly kind: 'alias' | 'session';
  /** Distinguishes users in cache keys and metrics; has no secret and no session id. */
  readonly name: string;
  /** A usable token, at once where the process holds it, else within `waitMs`, or a token failure. */
  token(waitMs: number): AccessToken | Promise<AccessToken>;
  /**
   * The platform refused the token of that version; `again`: it is the second refusal in the same call. The next {@link token} is
   * another one, unless the platform refused the last renewed token too.
   */
  refused(version: string, again: boolean): Promise<void>;
}

/** What a caller may name: ids of enterprises and channels, aliases of users; `*` stands for all. */
export interface Grants {
  readonly enterprises: ReadonlySet<string>;
  readonly channels: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
}

/** Generations of the cached data of one enterprise, or of all where none is named; undefined without Redis, and then nothing may be cached. */
export interface AskedGenerations {
  readonly enterprise: string | undefined;
  readonly words: Promise<readonly string[] | undefined>;
}

/** One request in the gateway: its caller and user, and its cost so far. */
export interface CallContext {
  readonly requestId: string;
  readonly trace: TraceContext;
  readonly caller: {
    readonly name: string;
    readonly grants: Grants;
    /** The caller's own `appKey` for orders, where its entry has one. */
    readonly appKey?: string;
  };
  /** Set on operations that act as a user. */
  readonly user?: ActingUser;
  /** Set on reads whose response only this caller waits for; aborted when the caller hangs up. */
  abandon?: AbortSignal;
  /** The caller wants a response that is not from the cache (`Cache-Control: no-cache`). */
  fresh?: boolean;
  /** Of cached reads: asked when the request arrived. All cached parts of the response use them. */
  readonly generations?: AskedGenerations | undefined;
  /** When the platform was asked for the oldest cached part of the response; undefined where no part is cached. In ms since the epoch. */
  cachedAt?: number | undefined;
  /** Set on requests of bound callers once the ids that they name were looked up. The gateway sends no other ids. */
  reach?: Reach;
  /** Milliseconds spent waiting for the platform, for `Server-Timing`. */
  upstreamMs: number;
  /**
   * Milliseconds spent on lookups before the handler. Counted separately, because lookups change nothing and so invalidate nothing
   * in the cache.
   */
  lookupMs?: number;
}

export function isGranted(granted: ReadonlySet<string>, id: string): boolean {
  return granted.has('*') || granted.has(id);
}
