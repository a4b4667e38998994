import type { Metrics } from '../observability/metrics.ts';
import { emptyIfForeign } from '../redis/redis-error.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';

/**
 * The Keyv store in Redis. Values are sealed, because responses have personal data. Each command has one key, so it works on a
 * cluster. A value that cannot be decrypted counts as missing and is replaced. Keyv ignores a failed command.
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
    if (value === undefined) this.metrics.count('gateway_redis_unreadable_total', { store: 'cache' });
    return value;
  }

  async set(key: string, value: string, ttlMs?: number): Promise<boolean> {
    const sealed = this.redis.sealer?.seal(value, key);
    // Every value needs an expiry, because it is a copy.
    if (sealed === undefined || ttlMs === undefined || ttlMs < 1) return false;
    await this.redis.run((client) => client.set(key, sealed, 'PX', Math.floor(ttlMs)));
    return true;
  }

  async delete(key: string): Promise<boolean> {
    return (await this.redis.run((client) => client.del(key))) > 0;
  }

  /** Keyv requires the method. Clearing would have to scan every key, and entries expire anyway. */
  clear(): never {
    throw new Error('the shared read cache is not cleared: its entries expire');
  }
}
