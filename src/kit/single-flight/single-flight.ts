interface Flight<T> {
  /**
   * The result. It is undefined after the end of the run, because a `Map` that is always in use keeps deleted values in memory (see
   * `kit/passing-set`).
   */
  result: Promise<T> | undefined;
  /** The run that begins when this one ends. */
  next?: Promise<T>;
}

/** Runs the same work once at a time, by key. A caller that arrives during a run gets the result or the failure of that run. */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  get(key: string): Promise<T> | undefined {
    return this.#flights.get(key)?.result;
  }

  /** Joins the run that is in progress, or begins one. */
  run(key: string, work: () => Promise<T>): Promise<T> {
    return this.get(key) ?? this.begin(key, work());
  }

  /**
   * Returns the result of a run that begins after this call. A run that is in progress may have read the data before this call. All callers
   * that wait share the next run.
   */
  next(key: string, work: () => Promise<T>): Promise<T> {
    const flight = this.#flights.get(key);
    if (!flight?.result) return this.begin(key, work());
    return (flight.next ??= flight.result.catch(() => undefined).then(() => this.run(key, work)));
  }

  /** Lets later callers join this run. The run ends with its result, or later, when `until` has settled. */
  begin(key: string, result: Promise<T>, until: Promise<unknown> = result): Promise<T> {
    const flight: Flight<T> = { result };
    this.#flights.set(key, flight);
    const end = () => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
      flight.result = undefined;
    };
    until.then(end, end);
    return result;
  }

  /** Forgets the run that is in progress, so that no later caller joins it. */
  forget(key: string): void {
    this.#flights.delete(key);
  }
}
