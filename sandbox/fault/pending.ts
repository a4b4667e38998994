/** Delays that can be called off, so that a reset or a close does not wait for them. */
export class Pending {
  readonly #waiting = new Set<() => void>();

  /** Waits; false when it was called off. */
  sleep(milliseconds: number): Promise<boolean> {
    if (milliseconds === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const callOff = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(callOff);
        resolve(false);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(callOff);
        resolve(true);
      }, milliseconds);
      this.#waiting.add(callOff);
    });
  }

  /** Keeps the caller until it is called off; for answers that never come. */
  forever(): Promise<false> {
    return new Promise((resolve) => {
      const callOff = (): void => {
        this.#waiting.delete(callOff);
        resolve(false);
      };
      this.#waiting.add(callOff);
    });
  }

  callOffAll(): void {
    for (const callOff of this.#waiting) callOff();
  }
}
