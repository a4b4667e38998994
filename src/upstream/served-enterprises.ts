import { LRUCache } from 'lru-cache';

const MAX_IDS = 1_000;
/** The time after which an enterprise counts as gone. */
const KEPT_MS = 10 * 60_000;

/** Remembers the enterprises of which the platform has shown assets a short time ago. It is used during a call, so it never waits. */
export class ServedEnterprises {
  readonly #ids = new LRUCache<string, true>({ max: MAX_IDS, ttl: KEPT_MS });
  /** The latest enterprise. Undefined before the first. */
  last: string | undefined;
  readonly #watches: ((id: string, assets: readonly unknown[]) => void)[] = [];

  /** `watch` is called with all assets of an enterprise, as the platform has sent them for a caller. It must neither throw nor wait. */
  onAssets(watch: (id: string, assets: readonly unknown[]) => void): void {
    this.#watches.push(watch);
  }

  /**
   * Adds an enterprise whose list of assets came. `isWatched` is false if the list may lack assets, or if no caller requested it. An empty list
   * does not prove that the platform knows the enterprise.
   */
  add(id: string, assets: readonly unknown[], isWatched: boolean): void {
    if (assets.length > 0) this.renew(id);
    if (isWatched) for (const watch of this.#watches) watch(id, assets);
  }

  /** Adds an enterprise again whose assets came unchanged. */
  renew(id: string): void {
    this.last = id;
    this.#ids.set(id, true);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
