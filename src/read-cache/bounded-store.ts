interface Held<T> {
  readonly value: T;
  readonly size: number;
  /** By performance.now(), so that an entry does not live longer after the wall clock was set back. */
  readonly endsAt: number;
}

interface Bounds<T> {
  readonly entries: number;
  readonly bytes: number;
  readonly sizeOf: (value: T) => number;
}

/** A map bounded in entries and bytes. The least recently used entry leaves first. */
export class BoundedStore<T> {
  readonly #held = new Map<string, Held<T>>();
  #bytes = 0;

  constructor(private readonly bounds: Bounds<T>) {}

  get(key: string): T | undefined {
    const held = this.#held.get(key);
    if (!held) return undefined;
    if (performance.now() >= held.endsAt) {
      this.delete(key);
      return undefined;
    }
    // A map keeps the order of insertion, so the first entry is the least recently used one.
    this.#held.delete(key);
    this.#held.set(key, held);
    return held.value;
  }

  set(key: string, value: T, ttlMs = Infinity): boolean {
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
}
