const MAX_IDS = 1_000;
/** After this time an enterprise may be gone. */
const KEPT_MS = 10 * 60_000;

/** The enterprises of which the platform has shown assets a short time ago. */
export class ServedEnterprises {
  /** By id; the latest is the last. */
  readonly #seenAt = new Map<string, number>();
  /** The latest; undefined before the first. */
  last: string | undefined;

  add(id: string): void {
    this.last = id;
    this.#seenAt.delete(id);
    this.#seenAt.set(id, performance.now());
    const [oldest] = this.#seenAt.keys();
    if (this.#seenAt.size > MAX_IDS && oldest !== undefined) this.#seenAt.delete(oldest);
  }

  has(id: string): boolean {
    return performance.now() - (this.#seenAt.get(id) ?? -Infinity) < KEPT_MS;
  }
}
