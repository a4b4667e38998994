/** The sandbox's time: the machine's time plus an offset that tests set. Times are milliseconds since 1970. */
export class Clock {
  #offset = 0;

  now(): number {
    return Date.now() + this.#offset;
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
