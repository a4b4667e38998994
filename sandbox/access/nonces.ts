/**
 * Allows each `g_nonce` once. It remembers at least the latest 250,000, in two generations, so that a long benchmark's memory stays
 * constant.
 */
const GENERATION = 250_000;

export class NonceRegister {
  #current = new Set<string>();
  #previous = new Set<string>();

  /** Uses up a nonce. @returns false if it was used before. */
  use(nonce: string): boolean {
    if (this.#current.has(nonce) || this.#previous.has(nonce)) return false;
    if (this.#current.size >= GENERATION) {
      this.#previous = this.#current;
      this.#current = new Set();
    }
    this.#current.add(nonce);
    return true;
  }

  clear(): void {
    this.#current = new Set();
    this.#previous = new Set();
  }
}
