import { LRUCache } from 'lru-cache';

const MAX_IDS = 1_000;
/** After this time an enterprise may be gone. */
const KEPT_MS = 10 * 60_000;

/** The enterprises of which the platform has shown assets a short time ago. Asked within a call, so nothing is awaited. */
export class ServedEnterprises {
  readonly #ids = new LRUCache<string, true>({ max: MAX_IDS, ttl: KEPT_MS });
  /** The latest; undefined before the first. */
  last: string | undefined;

  add(id: string): void {
    this.last = id;
    this.#ids.set(id, true);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
