import type { ProblemException } from '../problem/problem.exception.ts';

/** What a bound caller may name beyond enterprises and channels, as a request names it upstream. */
export type OwnKind = 'asset' | 'assetNum' | 'lentLock' | 'member' | 'customer' | 'channelCustomer' | 'order';

/**
 * What the request of a bound caller may name upstream: ids that were looked up in the enterprises that it names, or read from
 * their lists. What is not in here is not sent, whatever a service does.
 */
export class Reach {
  readonly #own = new Map<OwnKind, Set<string>>();
  /** Numbers that the request may name, and that are answered as `not_found` without being sent. */
  readonly left = new Set<string>();

  /** `refusal` is why something named here does not exist to the caller, for a handler that may still answer a repeat. */
  constructor(readonly refusal?: ProblemException) {}

  /** Everything of a list that the platform gave for an enterprise that is granted. */
  add(kind: OwnKind, ids: Iterable<string>): void {
    const own = this.#own.get(kind) ?? new Set();
    for (const id of ids) own.add(id);
    this.#own.set(kind, own);
  }

  has(kind: OwnKind, id: string): boolean {
    return this.#own.get(kind)?.has(id) ?? false;
  }
}
