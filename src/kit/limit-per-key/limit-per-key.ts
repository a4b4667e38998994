import pLimit, { type LimitFunction } from 'p-limit';

interface Known {
  readonly limit: LimitFunction;
  users: number;
}

/** Runs at most `max` tasks of each key at the same time. Further tasks wait. */
export class LimitPerKey {
  readonly #known = new Map<string, Known>();

  constructor(private readonly max: number) {}

  /** True if a further task of this key would wait. */
  isFull(key: string): boolean {
    return (this.#known.get(key)?.users ?? 0) >= this.max;
  }

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key) ?? { limit: pLimit(this.max), users: 0 };
    this.#known.set(key, known);
    known.users++;
    try {
      return await known.limit(task);
    } finally {
      known.users--;
      if (known.users === 0) this.#known.delete(key);
    }
  }
}
