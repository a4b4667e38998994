import type { ProblemException } from '../problem/problem.exception.ts';
import type { AccessToken } from '../token/principal.ts';
import type { TraceContext } from '../observability/trace-context.ts';

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

/** The kinds of ids, beyond enterprises and channels, that a bound caller's request to the platform may have. */
export type OwnKind = 'asset' | 'assetNum' | 'lentLock' | 'member' | 'customer' | 'channelCustomer' | 'order';

/**
 * The ids that the request of a bound caller may send to the platform: they were looked up in the enterprises that it names, or
 * read from their lists. The gateway sends no other id, also where a service has a fault.
 */
export class Reach {
  readonly #own = new Map<OwnKind, Set<string>>();
  /** Numbers that the request may name and that get the result `not_found` without being sent. */
  readonly left = new Set<string>();
  /** Asset numbers that the caller reserved and that the named enterprise does not have yet. */
  readonly reserved: { readonly assetNum: string; readonly enterprise: string }[] = [];

  /** `refusal`: the problem for an id that does not exist for the caller. The handler may still repeat an earlier result instead. */
  constructor(readonly refusal?: ProblemException) {}

  /** Adds the ids of a list that the platform gave for a granted enterprise. */
  add(kind: OwnKind, ids: Iterable<string>): void {
    const own = this.#own.get(kind) ?? new Set();
    for (const id of ids) own.add(id);
    this.#own.set(kind, own);
  }

  has(kind: OwnKind, id: string): boolean {
    return this.#own.get(kind)?.has(id) ?? false;
  }
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
