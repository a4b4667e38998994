/** The time as handlers see it. */
export interface Time {
  /** Milliseconds since 1970. */
  now(): number;
}

/** The sandbox's time: the machine's time plus an offset that tests set. Times are milliseconds since 1970. */
export class Clock implements Time {
  #offset = 0;

  now(): number {
    return Date.now() + this.#offset;
  }

  /** The lead over the machine's time. */
  get offset(): number {
    return this.#offset;
  }

  set(instant: number): void {
    this.#offset = instant - Date.now();
  }

  advance(milliseconds: number): void {
    this.#offset += milliseconds;
  }

  reset(): void {
    this.#offset = 0;
  }
}
