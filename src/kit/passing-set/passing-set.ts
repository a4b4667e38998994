interface Place<T> {
  item: T | undefined;
}

/**
 * What is under way at the moment, in the order in which it came. A `Set` or `Map` that is always in use keeps alive what has left it: V8 makes
 * a new table when one is full of what was deleted, the old table still points to what it had and to the new one, and collections of
 * young objects spare what an old object points to. So half of all that passes may live until the next full collection, with all that hangs on
 * it. Here only an empty place does.
 */
export class PassingSet<T> implements Iterable<T> {
  readonly #places = new Set<Place<T>>();

  get size(): number {
    return this.#places.size;
  }

  /** Returns the function that takes the item out again. */
  add(item: T): () => void {
    const place: Place<T> = { item };
    this.#places.add(place);
    return () => {
      place.item = undefined;
      this.#places.delete(place);
    };
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const { item } of this.#places) yield item as T;
  }
}
