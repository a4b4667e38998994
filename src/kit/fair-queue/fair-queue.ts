import { PassingSet } from '../passing-set/passing-set.ts';

/** Items that wait, by key. The keys take turns, so that the many items of one key do not hold up those of another. */
export class FairQueue<T> {
  /** The first key has the next turn. */
  readonly #keys = new Map<string, PassingSet<T>>();

  /** Returns the function that deletes the item. */
  add(key: string, item: T): () => void {
    const own = this.#keys.get(key) ?? new PassingSet<T>();
    this.#keys.set(key, own);
    const leave = own.add(item);
    return () => {
      leave();
      if (own.size === 0 && this.#keys.get(key) === own) this.#keys.delete(key);
    };
  }

  /** Deletes the first item of the key whose turn it is, and returns it. The next turn is that of another key. */
  next(): T | undefined {
    const [turn] = this.#keys;
    if (!turn) return undefined;
    const [key, own] = turn;
    const item = own.shift();
    this.#keys.delete(key);
    if (own.size > 0) this.#keys.set(key, own);
    return item;
  }
}
