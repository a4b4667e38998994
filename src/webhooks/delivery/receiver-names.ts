import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { SingleFlight } from '../../kit/single-flight/single-flight.ts';

/** A look-up that takes longer has waited for a server that does not answer. */
const SLOW_MS = 1_000;
/** The time for which a name fails at once after a slow look-up that failed. */
const FAILS_MS = 30_000;
const MAX_SLOW = 1_000;

/**
 * Resolves the names of receivers by the system's resolver, which also knows `/etc/hosts` and search domains, one name at a time. A look-up
 * keeps a thread for as long as the servers of the name let it wait. Node has two threads for look-ups, so one is always left for the
 * platform and all other servers. A name whose last look-up was slow waits behind the other names.
 */
export class ReceiverNames {
  readonly #limit = pLimit(1);
  readonly #limitOfSlow = pLimit(1);
  readonly #flights = new SingleFlight<LookupAddress[]>();
  /** The time until which a delivery waits for the name. */
  readonly #wantedUntil = new Map<string, number>();
  /** The names whose last look-up was slow, each with the time until which it fails at once. */
  readonly #slow = new LRUCache<string, number>({ max: MAX_SLOW });

  constructor(private readonly waitMs: number) {}

  /** Returns all addresses of a name. Simultaneous look-ups of one name are one. */
  async resolve(name: string, options: LookupOptions): Promise<LookupAddress[]> {
    const now = performance.now();
    const failsUntil = this.#slow.get(name);
    if (failsUntil !== undefined && now < failsUntil)
      throw notNow('the last look-up was slow and failed a moment ago');
    this.#wantedUntil.set(name, now + this.waitMs);
    return this.#flights.run(name, () =>
      failsUntil === undefined
        ? this.#limit(() => this.#lookUp(name, options))
        : this.#limitOfSlow(() => this.#behindOthers(name, options)),
    );
  }

  async #behindOthers(name: string, options: LookupOptions): Promise<LookupAddress[]> {
    for (;;) {
      const found = await this.#limit(() =>
        this.#limit.pendingCount > 0 && this.#isWanted(name) ? undefined : this.#lookUp(name, options),
      );
      if (found) return found;
    }
  }

  async #lookUp(name: string, options: LookupOptions): Promise<LookupAddress[]> {
    try {
      // If the deliveries that waited for this name have ended, the next name must not wait for it.
      if (!this.#isWanted(name)) throw notNow('the look-up waited too long for others');
      const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
      const began = performance.now();
      dns.lookup(name, { ...options, all: true }, (error, found) => {
        this.#note(name, performance.now() - began, error !== null);
        return error ? reject(error) : resolve(found);
      });
      return await promise;
    } finally {
      this.#wantedUntil.delete(name);
    }
  }

  #isWanted(name: string): boolean {
    return performance.now() <= (this.#wantedUntil.get(name) ?? 0);
  }

  #note(name: string, ms: number, hasFailed: boolean): void {
    if (ms < SLOW_MS) this.#slow.delete(name);
    else this.#slow.set(name, hasFailed ? performance.now() + FAILS_MS : 0);
  }
}

function notNow(why: string): Error {
  return Object.assign(new Error(why), { code: 'EAI_AGAIN' });
}
