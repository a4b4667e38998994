import { SlidingWindow } from '../sliding-window/sliding-window.ts';

const SHARE = 0.2;
const FLOOR = 3;

/** Limits retries to a share of the calls of the last 10 s. Without the limit, retries would double the load of a server that is down. */
export class RetryBudget {
  readonly #window: SlidingWindow;

  constructor(now: () => number = () => performance.now()) {
    this.#window = new SlidingWindow(now);
  }

  called(): void {
    this.#window.slot().all++;
  }

  /** Takes one retry out of the budget. Returns false if none is left. */
  take(): boolean {
    const { all, marked } = this.#window.sum();
    if (marked + 1 > Math.max(FLOOR, all * SHARE)) return false;
    this.#window.slot().marked++;
    return true;
  }
}
