import type { Budgets } from '../budgets/state/budgets.ts';
import type { DryRun } from './dry-run.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
import type { AccessToken } from '../token/principal.ts';
import type { TraceContext } from '../observability/tracing.ts';

/** The platform's user on whose behalf the member center is called (interface section 5). */
export interface ActingUser {
  readonly kind: 'alias' | 'session';
  /** Absent for the user of a session. */
  readonly alias?: string;
  /** Distinguishes users in cache keys and metrics; has no secret and no session id. */
  readonly name: string;
  /** Returns a usable token at once where the process holds it, else within `waitMs`; or throws a token failure. */
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

/** The generation of the cached data of one enterprise, or of all where none is named; undefined without Redis, and then nothing may be cached. */
export interface AskedGeneration {
  readonly enterprise: string | undefined;
  readonly word: Promise<string | undefined>;
}

/** The kinds of ids that a bound caller's request to the platform may have, beside those of enterprises and channels. */
export type IdKind = 'asset' | 'assetNum' | 'lentLock' | 'member' | 'customer' | 'channelCustomer' | 'order';

/** All ids that a bound caller's request may send: looked up in the enterprises that it names, or read from their lists. */
export class AuthorisedIds {
  #refusal: ProblemException | undefined;
  readonly #own = new Map<IdKind, Set<string>>();
  /** Numbers that the request may name and that get the result `not_found` without being sent. */
  readonly notFound = new Set<string>();
  /** Asset numbers that the caller reserved and that the named enterprise does not have yet. */
  readonly reserved: { readonly assetNum: string; readonly enterprise: string }[] = [];

  /** The problem for an id that does not exist for the caller. The handler may still repeat an earlier result instead. */
  get refusal(): ProblemException | undefined {
    return this.#refusal;
  }

  /** Nothing may be sent, also none of the ids that were found. */
  refuse(problem: ProblemException): void {
    this.#refusal = problem;
    this.#own.clear();
    this.notFound.clear();
    this.reserved.length = 0;
  }

  /** Adds the ids of a list that the platform gave for a granted enterprise. */
  add(kind: IdKind, ids: Iterable<string>): void {
    const own = this.#own.get(kind) ?? new Set();
    for (const id of ids) own.add(id);
    this.#own.set(kind, own);
  }

  has(kind: IdKind, id: string): boolean {
    return this.#own.get(kind)?.has(id) ?? false;
  }
}

/** A list of the read cache that a response is made of. */
export interface CachedPart {
  readonly key: string;
  /** Another number for each other value of the list. */
  readonly version: number;
  /** When the platform was asked, in ms since the epoch; undefined where it was asked for this request, or for one at the same time. */
  readonly askedAt: number | undefined;
  /** The platform was asked for another request at the same time. */
  readonly isJoined: boolean;
}

/** What a request has waited for and used so far, for the headers of its response. Every step of it adds to this, and none takes away. */
export class Progress {
  upstreamMs = 0;
  /** Milliseconds spent on lookups before the handler. Counted separately, because lookups change nothing and so invalidate nothing in the cache. */
  lookupMs = 0;
  /** The platform was called. What has begun is finished, also where an operator stops everything meanwhile. */
  hasBegun = false;
  readonly parts: CachedPart[] = [];

  /** When the platform was asked for the oldest part that was not read for this request; undefined where all were. */
  get oldestPart(): number | undefined {
    const times = this.parts.flatMap(({ askedAt }) => askedAt ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** What another part of the request has waited for. */
  waited({ upstreamMs, lookupMs, hasBegun }: Progress): void {
    this.upstreamMs += upstreamMs;
    this.lookupMs += lookupMs;
    this.hasBegun ||= hasBegun;
  }

  /** The response is made of these lists; undefined stands for a result that no cache has. */
  uses(...parts: readonly (CachedPart | undefined)[]): void {
    for (const part of parts) if (part) this.parts.push(part);
  }
}

/** One request in the gateway, as the platform's client and the services see it. Nobody changes it. */
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
  /** Set on reads whose response only this caller waits for; aborted when the caller hangs up. */
  readonly abandon?: AbortSignal | undefined;
  /** The caller wants a response that is not from the cache (`Cache-Control: no-cache`). */
  readonly fresh?: boolean;
  /** Set on cached reads. It was asked for when the request arrived, and all cached parts of the response use it. */
  readonly generation?: AskedGeneration | undefined;
  /** Set on requests of bound callers once the ids that they name were looked up. The gateway sends no other ids. */
  readonly authorisedIds?: AuthorisedIds;
  readonly progress: Progress;
  /** Set on the dry run of a write: nothing is sent, and nothing recorded. */
  readonly dryRun?: DryRun | undefined;
}

export function isGranted(granted: ReadonlySet<string>, id: string): boolean {
  return granted.has('*') || granted.has(id);
}

/** Whether the caller may reach only some enterprises, so that every id has to be looked up. */
export function isBound({ enterprises }: Grants): boolean {
  return !enterprises.has('*');
}
