/** A response up to this size is not counted, so that large responses do not delay small ones. */
const FREE_BYTES = 256 * 1024;
/**
 * Four of the largest responses, or thirty lists of an enterprise with 5,000 assets. With the objects made of one of them, this
 * fits well into a process.
 */
const MAX_BYTES = 64 * 1024 * 1024;

/** Bounds the total memory of all large responses that are being received. */
export class AnswerBudget {
  #held = 0;

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** Lets a response grow to `size`; `held` is its share so far. Returns its new share, or undefined where the budget is used up. */
  grow(held: number, size: number): number | undefined {
    if (size <= FREE_BYTES) return held;
    if (this.#held - held + size > this.maxBytes) return undefined;
    this.#held += size - held;
    return size;
  }

  release(held: number): void {
    this.#held -= held;
  }
}
