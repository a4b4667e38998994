import type { Redis } from 'ioredis';
import type { Sealer } from '../redis/sealer.ts';

/**
 * What Keyv stores into: Redis, sealed, since answers hold what is known of people. One key a command, so it works on a
 * cluster. A value that does not open is missing; a command that fails is Keyv's to swallow.
 */
export class RedisStore {
  constructor(
    private readonly client: Redis,
    private readonly sealer: Sealer,
  ) {}

  async get(key: string): Promise<string | undefined> {
    const sealed = await this.client.get(key);
    return sealed === null ? undefined : this.sealer.open(sealed, key);
  }

  async set(key: string, value: string, ttlMs?: number): Promise<boolean> {
    // Nothing stays without an end: what is written here is a copy.
    if (ttlMs === undefined || ttlMs < 1) return false;
    await this.client.set(key, this.sealer.seal(value, key), 'PX', Math.floor(ttlMs));
    return true;
  }

  async delete(key: string): Promise<boolean> {
    return (await this.client.del(key)) > 0;
  }

  /** Keyv wants the method. Emptying would ask for a search through every key, and entries end by themselves. */
  clear(): never {
    throw new Error('the shared read cache is not emptied: its entries end by themselves');
  }
}
