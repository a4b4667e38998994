const SLOT_MS = 1_000;
const SLOTS = 10;

interface Slot {
  second: number;
  all: number;
  marked: number;
}

/** Counts of the last 10 s. `now` must be monotonic, because a step of the wall clock would empty or freeze the counts. */
export class SlidingWindow {
  #slots = emptySlots();

  constructor(private readonly now: () => number) {}

  /** Returns the slot of this second, emptied if it still has the counts of an older one. The calling code increases the counts. */
  slot(): Slot {
    const second = Math.floor(this.now() / SLOT_MS);
    const slot = this.#slots[second % SLOTS] as Slot;
    if (slot.second !== second) Object.assign(slot, { second, all: 0, marked: 0 });
    return slot;
  }

  sum(): { all: number; marked: number } {
    const { second } = this.slot();
    const sum = { all: 0, marked: 0 };
    for (const each of this.#slots) {
      if (each.second <= second - SLOTS) continue;
      sum.all += each.all;
      sum.marked += each.marked;
    }
    return sum;
  }

  clear(): void {
    this.#slots = emptySlots();
  }
}

function emptySlots(): Slot[] {
  return Array.from({ length: SLOTS }, () => ({ second: -Infinity, all: 0, marked: 0 }));
}
