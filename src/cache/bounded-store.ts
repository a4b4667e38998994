interface Held {
  readonly value: unknown;
  readonly size: number;
  /** Of performance.now(), so that a wall clock set back keeps nothing alive. */
  readonly endsAt: number;
}

interface Bounds {
  readonly entries: number;
  readonly bytes: number;
  readonly sizeOf: (value: unknown) => number;
}

/** What Keyv stores into: a map bounded in entries and bytes, out of which the least recently used goes first. */
export class BoundedStore {
  readonly #held = new Map<string, Held>();
  #bytes = 0;

  constructor(private readonly bounds: Bounds) {}

  get(key: string): unknown {
    const held = this.#held.get(key);
    if (!held) return undefined;
    if (performance.now() >= held.endsAt) {
      this.delete(key);
      return undefined;
    }
    // A map keeps the order of insertion: the first is the one that was not used for longest.
    this.#held.delete(key);
    this.#held.set(key, held);
    return held.value;
  }

  set(key: string, value: unknown, ttlMs = Infinity): boolean {
    this.delete(key);
    const size = this.bounds.sizeOf(value) + 2 * key.length;
    if (size > this.bounds.bytes) return false;
    this.#held.set(key, { value, size, endsAt: performance.now() + ttlMs });
    this.#bytes += size;
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= this.bounds.entries && this.#bytes <= this.bounds.bytes) break;
      this.delete(oldest);
    }
    return true;
  }

  delete(key: string): boolean {
    this.#bytes -= this.#held.get(key)?.size ?? 0;
    return this.#held.delete(key);
  }

  clear(): void {
    this.#held.clear();
    this.#bytes = 0;
  }
}
