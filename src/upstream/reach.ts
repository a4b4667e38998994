import type { ProblemException } from '../problem/problem.exception.ts';

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
