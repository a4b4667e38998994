import { LRUCache } from 'lru-cache';
import type { OperationName } from './operations.ts';

const MAX_IDS = 1_000;
/** The time after which an enterprise counts as gone. */
const KEPT_MS = 10 * 60_000;

/** Remembers the enterprises of which the platform has shown assets a short time ago. It is used during a call, so it never waits. */
export class ServedEnterprises {
  readonly #ids = new LRUCache<string, true>({ max: MAX_IDS, ttl: KEPT_MS });
  /** The latest enterprise. Undefined before the first. */
  last: string | undefined;
  readonly #watches: ((list: OperationName, id: string, items: readonly unknown[]) => void)[] = [];

  /** `watch` is called with each list of an enterprise, as the platform has sent it for a caller. It must neither throw nor wait. */
  onList(watch: (list: OperationName, id: string, items: readonly unknown[]) => void): void {
    this.#watches.push(watch);
  }

  /** Passes on a list that the platform has sent for a caller. */
  shown(list: OperationName, id: string, items: readonly unknown[]): void {
    for (const watch of this.#watches) watch(list, id, items);
  }

  /** Adds an enterprise whose assets came. An empty list does not prove that the platform knows the enterprise. */
  renew(id: string): void {
    this.last = id;
    this.#ids.set(id, true);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
