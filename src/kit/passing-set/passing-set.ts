interface Place<T> {
  item: T | undefined;
}

/**
 * A set of the items that are in progress, in the order in which they arrived. It frees the items that it has deleted. A `Set` or `Map`
 * that is always in use does not: when its table is full of deleted entries, V8 makes a new table, and the old one still points to its
 * entries and to the new table. Collections of young objects spare everything that an old object points to. So half of all items may stay
 * in memory until the next full collection, with everything that they refer to. In this class only an empty place stays.
 */
export class PassingSet<T> implements Iterable<T> {
  readonly #places = new Set<Place<T>>();

  get size(): number {
    return this.#places.size;
  }

  /** Returns the function that deletes the item. */
  add(item: T): () => void {
    const place: Place<T> = { item };
    this.#places.add(place);
    return () => {
      place.item = undefined;
      this.#places.delete(place);
    };
  }

  /** Deletes the first item and returns it. */
  shift(): T | undefined {
    const [place] = this.#places;
    if (!place) return undefined;
    const { item } = place;
    place.item = undefined;
    this.#places.delete(place);
    return item;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const { item } of this.#places) yield item as T;
  }
}
