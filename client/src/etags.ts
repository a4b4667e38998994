interface Known {
  readonly etag: string;
  readonly value: object;
  /** Of the text that it was read from. */
  readonly length: number;
}

/** The latest reads with their ETags, so that an unchanged one is a 304 without a body. Bounded by the length of their texts. */
export class Etags {
  readonly #known = new Map<string, Known>();
  readonly #room: number;
  #length = 0;

  constructor(room: number) {
    this.#room = room;
  }

  get(key: string): Known | undefined {
    const known = this.#known.get(key);
    if (known) {
      // The map keeps the order of insertion: the first is the one that was not used for longest.
      this.#known.delete(key);
      this.#known.set(key, known);
    }
    return known;
  }

  /** The value is frozen, since every later caller gets the same one. */
  set(key: string, etag: string, value: object, length: number): void {
    this.#drop(key);
    if (length > this.#room) return;
    this.#known.set(key, { etag, value: frozen(value), length });
    this.#length += length;
    for (const oldest of this.#known.keys()) {
      if (this.#length <= this.#room) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const known = this.#known.get(key);
    if (!known) return;
    this.#known.delete(key);
    this.#length -= known.length;
  }
}

function frozen<Value extends object>(value: Value): Value {
  for (const inner of Object.values(value))
    if (typeof inner === 'object' && inner !== null) frozen(inner as object);
  return Object.freeze(value);
}
