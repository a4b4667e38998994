import { isObject } from './is-object.ts';

export interface KeptRead {
  readonly etag: string;
  readonly length: number;
  /** The text, until its first use. Most reads are never unchanged, and keeping a text costs nothing. */
  text: string | undefined;
  content: object | undefined;
}

/** The latest reads with their ETags, so that an unchanged one is a 304 without a body. The length of their texts is limited. */
export class Etags {
  readonly #known = new Map<string, KeptRead>();
  readonly #room: number;
  #length = 0;

  constructor(room: number) {
    this.#room = room;
  }

  of(key: string): KeptRead | undefined {
    const known = this.#known.get(key);
    if (!known) return undefined;
    // The map keeps the order of insertion, so its first entry is the least recently used.
    this.#known.delete(key);
    this.#known.set(key, known);
    return known;
  }

  set(key: string, etag: string, text: string): void {
    this.#drop(key);
    const { length } = text;
    if (length > this.#room) return;
    this.#known.set(key, { etag, length, text, content: undefined });
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

/** Returns the unchanged content, frozen, because every later caller gets the same object. It may have been replaced or dropped in the meantime. */
export function contentOf(kept: KeptRead): object | undefined {
  if (kept.text !== undefined) kept.content = frozen(JSON.parse(kept.text) as object);
  kept.text = undefined;
  return kept.content;
}

function frozen<Value extends object>(value: Value): Value {
  for (const inner of Object.values(value)) if (isObject(inner)) frozen(inner);
  return Object.freeze(value);
}
