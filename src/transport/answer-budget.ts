/** A response up to this size is never counted: small ones are not held up by large ones. */
const FREE_BYTES = 256 * 1024;
/** Four of the largest, or thirty lists of an enterprise with 5,000 assets: with what is made of one, well within a process. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Bounds the memory of all large responses that are being received, together. */
export class AnswerBudget {
  #held = 0;

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** Whether a response may grow to `size`; `held` is what it was given before. Gives what it holds from now on, or undefined. */
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
