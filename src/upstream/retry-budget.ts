const SLOT_MS = 1_000;
const SLOTS = 10;
const SHARE = 0.2;
const FLOOR = 3;

interface Slot {
  second: number;
  calls: number;
  retries: number;
}

/**
 * Bounds retries to a share of the calls of the last 10 s, with a small floor for quiet times: when upstream is down for
 * everybody, retrying everything would double its load. The window slides by the second, so that no moment of it is
 * poorer than another.
 */
export class RetryBudget {
  readonly #slots: Slot[] = Array.from({ length: SLOTS }, () => ({
    second: -Infinity,
    calls: 0,
    retries: 0,
  }));

  constructor(private readonly now: () => number = () => performance.now()) {}

  called(): void {
    this.#slot().calls++;
  }

  /** Takes one retry out of the budget, if there is one. */
  take(): boolean {
    const slot = this.#slot();
    let calls = 0;
    let retries = 0;
    for (const each of this.#slots) {
      if (each.second <= slot.second - SLOTS) continue;
      calls += each.calls;
      retries += each.retries;
    }
    if (retries + 1 > Math.max(FLOOR, calls * SHARE)) return false;
    slot.retries++;
    return true;
  }

  /** Of this second, emptied where it still counts an older one. */
  #slot(): Slot {
    const second = Math.floor(this.now() / SLOT_MS);
    const slot = this.#slots[second % SLOTS] as Slot;
    if (slot.second !== second) Object.assign(slot, { second, calls: 0, retries: 0 });
    return slot;
  }
}
