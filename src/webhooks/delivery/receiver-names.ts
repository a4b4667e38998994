import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import pLimit from 'p-limit';
import { SingleFlight } from '../../kit/single-flight/single-flight.ts';

/**
 * Resolves the names of receivers by the system's resolver, which also knows `/etc/hosts` and search domains, one name at a time. A look-up
 * keeps a thread for as long as the servers of the name let it wait. Node has two threads for look-ups, so one is always left for the
 * platform and all other servers.
 */
export class ReceiverNames {
  readonly #limit = pLimit(1);
  readonly #flights = new SingleFlight<LookupAddress[]>();
  /** The time until which a delivery waits for the name. */
  readonly #wantedUntil = new Map<string, number>();

  constructor(private readonly waitMs: number) {}

  /** Returns all addresses of a name. Simultaneous look-ups of one name are one. */
  resolve(name: string, options: LookupOptions): Promise<LookupAddress[]> {
    this.#wantedUntil.set(name, performance.now() + this.waitMs);
    return this.#flights.run(name, () => this.#limit(() => this.#lookUp(name, options)));
  }

  async #lookUp(name: string, options: LookupOptions): Promise<LookupAddress[]> {
    try {
      // If the deliveries that waited for this name have ended, the next name must not wait for it.
      if (performance.now() > (this.#wantedUntil.get(name) ?? 0))
        throw Object.assign(new Error('the look-up waited too long for others'), { code: 'EAI_AGAIN' });
      const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
      dns.lookup(name, { ...options, all: true }, (error, found) => (error ? reject(error) : resolve(found)));
      return await promise;
    } finally {
      this.#wantedUntil.delete(name);
    }
  }
}
