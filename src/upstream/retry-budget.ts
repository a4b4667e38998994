const WINDOW_MS = 10_000;
const SHARE = 0.2;
const FLOOR = 3;

/**
 * Bounds retries to a share of the calls of the last 10 s, with a small floor for quiet times: when upstream is down for
 * everybody, retrying everything would double its load.
 */
export class RetryBudget {
  #windowStart = 0;
  #calls = 0;
  #retries = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  called(): void {
    this.#turn();
    this.#calls++;
  }

  /** Takes one retry out of the budget, if there is one. */
  take(): boolean {
    this.#turn();
    if (this.#retries + 1 > Math.max(FLOOR, this.#calls * SHARE)) return false;
    this.#retries++;
    return true;
  }

  #turn(): void {
    if (this.now() - this.#windowStart < WINDOW_MS) return;
    this.#windowStart = this.now();
    this.#calls = 0;
    this.#retries = 0;
  }
}
