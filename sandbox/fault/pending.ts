/** Delays that can be cancelled, so that a reset or a close does not wait for them. */
export class Pending {
  readonly #waiting = new Set<() => void>();

  /** Waits. Resolves to false if the wait was cancelled. */
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

  /** Waits until cancelled, for responses that never come. */
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
