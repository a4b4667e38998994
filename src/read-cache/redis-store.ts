import type { Metrics } from '../observability/metrics.ts';
import { emptyIfForeign } from '../redis/redis-error.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';

/**
 * What Keyv stores into: Redis, sealed, since answers hold what is known of people. One key a command, so it works on a
 * cluster. A value that does not open is missing, and what is fetched instead takes its place; a command that fails is Keyv's
 * to swallow.
 */
export class RedisStore {
  constructor(
    private readonly redis: SharedRedis,
    private readonly metrics: Metrics,
  ) {}

  async get(key: string): Promise<string | undefined> {
    const sealed = await this.redis.run((client) => client.get(key)).catch(emptyIfForeign);
    if (sealed === null) return undefined;
    const value = this.redis.sealer?.open(sealed, key);
    if (value === undefined) this.metrics.unreadable('cache');
    return value;
  }

  async set(key: string, value: string, ttlMs?: number): Promise<boolean> {
    const sealed = this.redis.sealer?.seal(value, key);
    // Nothing stays without an end: what is written here is a copy.
    if (sealed === undefined || ttlMs === undefined || ttlMs < 1) return false;
    await this.redis.run((client) => client.set(key, sealed, 'PX', Math.floor(ttlMs)));
    return true;
  }

  async delete(key: string): Promise<boolean> {
    return (await this.redis.run((client) => client.del(key))) > 0;
  }

  /** Keyv wants the method. Emptying would ask for a search through every key, and entries end by themselves. */
  clear(): never {
    throw new Error('the shared read cache is not emptied: its entries end by themselves');
  }
}
