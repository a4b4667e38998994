import type { Budgets } from '../budgets/state/budgets.ts';
import type { DryRun } from './dry-run.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
import type { AccessToken } from '../token/principal.ts';
import type { TraceContext } from '../observability/tracing.ts';

/** The platform's user on whose behalf the member center is called (interface section 5). */
export interface ActingUser {
  readonly kind: 'alias' | 'session';
  /** The alias. Absent for the user of a session. */
  readonly alias?: string;
  /** The session of the user, which a job keeps. Absent for the user of an alias. It is a secret: no log and no key may have it. */
  readonly sessionId?: string;
  /** The account of the user on the platform. */
  readonly username: string;
  /** A name that distinguishes users in cache keys and metrics. It contains no secret and no session id. */
  readonly name: string;
  /** Returns a usable token at once if the process holds one. Otherwise it resolves within `waitMs`, or throws a token failure. */
  token(waitMs: number): AccessToken | Promise<AccessToken>;
  /**
   * Handles a token version that the platform refused. `again` means that the call had it renewed after a refusal. Resolves to false if the
   * next {@link token} is the same one, because the platform refused the last renewed token too.
   */
  refused(version: string, again: boolean): Promise<boolean>;
}

/** The ids that a caller may name: of enterprises and channels, and aliases of users. `*` means all. */
export interface Grants {
  readonly enterprises: ReadonlySet<string>;
  readonly channels: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
}

const EVERYTHING: ReadonlySet<string> = new Set(['*']);
/** The grants of the gateway itself, which reads on its own behalf. */
export const ALL_GRANTS: Grants = { enterprises: EVERYTHING, channels: EVERYTHING, users: EVERYTHING };

/**
 * The generation of the cached data of one enterprise, or of all enterprises if none is named. Undefined without Redis; nothing may be
 * cached then.
 */
export interface AskedGeneration {
  readonly enterprise: string | undefined;
  readonly word: Promise<string | undefined>;
}

/** The kinds of ids that a bound caller's request to the platform may have, besides those of enterprises and channels. */
export type IdKind = 'asset' | 'assetNum' | 'lentLock' | 'member' | 'customer' | 'channelCustomer' | 'order';

/** All ids that a bound caller's request may send. They were looked up in the named enterprises, or read from their lists. */
export class AuthorisedIds {
  #refusal: ProblemException | undefined;
  readonly #own = new Map<IdKind, Set<string>>();
  /** Numbers that the request may name and that get the result `not_found` without being sent. */
  readonly notFound = new Set<string>();
  /** Asset numbers that the caller reserved and that the named enterprise does not have yet. */
  readonly reserved: { readonly assetNum: string; readonly enterprise: string }[] = [];

  /**
   * The problem for an id that does not exist for the caller, or that could not be looked up. The handler may still repeat an earlier result
   * instead.
   */
  get refusal(): ProblemException | undefined {
    return this.#refusal;
  }

  /** Forbids to send anything, including the ids that were found. */
  refuse(problem: ProblemException): void {
    this.#refusal = problem;
    this.#own.clear();
    this.notFound.clear();
    this.reserved.length = 0;
  }

  /** Adds the ids of a list that the platform returned for a granted enterprise. */
  add(kind: IdKind, ids: Iterable<string>): void {
    const own = this.#own.get(kind) ?? new Set();
    for (const id of ids) own.add(id);
    this.#own.set(kind, own);
  }

  has(kind: IdKind, id: string): boolean {
    return this.#own.get(kind)?.has(id) ?? false;
  }
}

/** A list of the read cache of which a response is made. */
export interface CachedPart {
  readonly key: string;
  /** The number of the list's value, which differs for different values. */
  readonly version: number;
  /** When the platform was asked, in ms since the epoch. Undefined if it was asked for this request, or for one at the same time. */
  readonly askedAt: number | undefined;
  /** True if the platform was asked for another request at the same time. */
  readonly isJoined: boolean;
}

/** True if the platform was asked after this request arrived. A read that this request has joined may have begun before. */
export function isFresh({ askedAt, isJoined }: CachedPart): boolean {
  return askedAt === undefined && !isJoined;
}

/**
 * The waits and lists of a request so far, for the headers of its response. Every step of the request adds to this, and none removes
 * anything.
 */
export class Progress {
  upstreamMs = 0;
  /**
   * Milliseconds spent on lookups before the handler. They are counted separately, because lookups change nothing and so invalidate nothing
   * in the cache.
   */
  lookupMs = 0;
  /** True once the platform was called. The request is then finished, even if an operator stops everything in the meantime. */
  hasBegun = false;
  readonly parts: CachedPart[] = [];

  /** The time at which the oldest part was read that was not read for this request. Undefined if all parts were read for it. */
  get oldestPart(): number | undefined {
    const times = this.parts.flatMap(({ askedAt }) => askedAt ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Adds the waits of another part of the request. */
  waited({ upstreamMs, lookupMs, hasBegun }: Progress): void {
    this.upstreamMs += upstreamMs;
    this.lookupMs += lookupMs;
    this.hasBegun ||= hasBegun;
  }

  /** Adds lists of which the response is made. Undefined is a result that no cache has. */
  uses(...parts: readonly (CachedPart | undefined)[]): void {
    for (const part of parts) if (part) this.parts.push(part);
  }
}

/** One request in the gateway, as the platform's client and the services see it. It never changes. */
export interface CallContext {
  readonly requestId: string;
  readonly trace: TraceContext;
  readonly caller: {
    readonly name: string;
    readonly grants: Grants;
    /** Absent for work after a request. */
    readonly scopes?: ReadonlySet<string>;
    /** The caller's own `appKey` for orders, where its entry has one. */
    readonly appKey?: string;
    readonly budgets?: Budgets;
  };
  readonly user?: ActingUser | undefined;
  /**
   * The signal that is aborted when the caller hangs up. It is set on reads whose response is not cached. It does not end the calls of such a
   * read that the read cache shares.
   */
  readonly abandon?: AbortSignal | undefined;
  /** True if the caller wants a response that is not from the cache (`Cache-Control: no-cache`). */
  readonly fresh?: boolean;
  /** The generation of a cached read. It is requested when the read arrives, and all cached parts of the response use it. */
  readonly generation?: AskedGeneration | undefined;
  /** The ids that a bound caller's request may send, set once they were looked up. The gateway sends no other ids. */
  readonly authorisedIds?: AuthorisedIds;
  readonly progress: Progress;
  /** Waits until the gateway may make another call of its own. Each attempt of a call waits, also one that repeats another. */
  readonly turn?: () => Promise<void>;
  /** The dry run of a write: nothing is sent, and nothing recorded. */
  readonly dryRun?: DryRun | undefined;
}

export function isGranted(granted: ReadonlySet<string>, id: string): boolean {
  return granted.has('*') || granted.has(id);
}

/** True if the caller may reach only some enterprises, so that every id has to be looked up. */
export function isBound({ enterprises }: Grants): boolean {
  return !enterprises.has('*');
}
