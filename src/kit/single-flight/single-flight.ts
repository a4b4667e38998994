interface Flight<T> {
  /** Undefined after its end, because a `Map` that is always in use keeps alive what has left it (see `kit/passing-set`). */
  result: Promise<T> | undefined;
  /** What begins when this one ends. */
  next?: Promise<T>;
}

/** One run of the same work at a time, by key: who comes while it is under way gets its result, or its failure. */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  get(key: string): Promise<T> | undefined {
    return this.#flights.get(key)?.result;
  }

  /** Joins the run that is under way, or begins one. */
  run(key: string, work: () => Promise<T>): Promise<T> {
    return this.get(key) ?? this.begin(key, work());
  }

  /** For who needs a run that begins after this call: what is under way may have read already. They share the next one. */
  next(key: string, work: () => Promise<T>): Promise<T> {
    const flight = this.#flights.get(key);
    if (!flight?.result) return this.begin(key, work());
    return (flight.next ??= flight.result.catch(() => undefined).then(() => this.run(key, work)));
  }

  /** From now on others join this run. It ends with its result, or later: when `until` has settled. */
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

  /** Nobody joins the run that is under way any more. */
  forget(key: string): void {
    this.#flights.delete(key);
  }
}
