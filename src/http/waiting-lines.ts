/** Returns false where there was nothing to do any more: the client has hung up. */
export type Step = () => unknown;

export interface Waiting {
  readonly begin: Step;
  readonly refuse: Step;
  readonly since: number;
}

/** Requests that wait, in the order of their arrival. */
class Line {
  readonly #waiting: Waiting[] = [];
  /** The index of the first that has not begun. */
  #first = 0;

  get length(): number {
    return this.#waiting.length - this.#first;
  }

  /** Since when the first has been waiting. */
  get since(): number | undefined {
    return this.#waiting[this.#first]?.since;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
  }

  /** Begins or refuses the first whose client has not hung up. Returns false where none is left. */
  takeFirst(step: 'begin' | 'refuse' = 'begin'): boolean {
    let isDone = false;
    while (!isDone && this.length > 0) {
      const next = this.#waiting[this.#first++] as Waiting;
      // Requests that have begun are removed from time to time.
      if (this.#first >= 1_000 || this.length === 0) {
        this.#waiting.splice(0, this.#first);
        this.#first = 0;
      }
      isDone = next[step]() !== false;
    }
    return isDone;
  }
}

/** A line of which one begins in a time, so that it takes a small part of the process. */
export class PacedLine extends Line {
  /** When the next may begin. */
  #from = -Infinity;

  constructor(
    private readonly everyMs: number,
    readonly most: number,
  ) {
    super();
  }

  take(now: number, step?: 'begin' | 'refuse'): void {
    if (now >= this.#from && this.takeFirst(step)) this.#from = now + this.everyMs;
  }

  /** In how many ms the first may begin. */
  leftMs(now: number): number {
    return this.length > 0 ? this.#from - now : Infinity;
  }
}

/** The waiting requests of known callers. The callers take turns, so that the many requests of one do not delay those of others. */
export class FairLine {
  /** Of the callers that wait. The first has the next turn. */
  readonly #lines = new Map<string, Line>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Since when the first request of this caller has been waiting. */
  since(caller: string): number | undefined {
    return this.#lines.get(caller)?.since;
  }

  add(caller: string, waiting: Waiting): void {
    const line = this.#lines.get(caller) ?? new Line();
    this.#lines.set(caller, line);
    line.add(waiting);
    this.#length++;
  }

  takeFirst(): void {
    for (const [caller, line] of this.#lines) {
      const before = line.length;
      const isDone = line.takeFirst();
      this.#length -= before - line.length;
      this.#lines.delete(caller);
      if (line.length > 0) this.#lines.set(caller, line);
      if (isDone) return;
    }
  }
}
