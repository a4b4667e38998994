import { LRUCache } from 'lru-cache';

const MAX_IDS = 1_000;
/** The time after which an enterprise counts as gone. */
const KEPT_MS = 10 * 60_000;

/** Remembers the enterprises of which the platform has shown assets a short time ago. It is used during a call, so it never waits. */
export class ServedEnterprises {
  readonly #ids = new LRUCache<string, true>({ max: MAX_IDS, ttl: KEPT_MS });
  /** The latest enterprise. Undefined before the first. */
  last: string | undefined;

  add(id: string): void {
    this.last = id;
    this.#ids.set(id, true);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
