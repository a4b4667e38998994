import { Keyv } from 'keyv';
import { LRUCache } from 'lru-cache';
import type { SharedRedis } from './shared-redis.ts';

/** The most texts, which take about 4 MB. */
const MAX_TEXTS = 20_000;

interface OwnText {
  readonly text: string;
  /** True if Redis has stored the text too. Another replica may have deleted it there. */
  readonly isShared: boolean;
  /** The older text that Redis kept when it refused this one. */
  older: string | null;
}

/**
 * The store of Nest's `Cache`. Its texts expire, and all replicas share them in Redis. A process also keeps the texts that it has stored
 * itself. They count while there is no Redis or Redis is away, and later if Redis refused to store them and has no newer text. A failure of
 * Redis is no error of the cache.
 */
export function sharedTexts(redis: SharedRedis): Keyv {
  // With `max` it would allocate room for all of them at the start.
  const own = new LRUCache<string, OwnText>({
    maxSize: MAX_TEXTS,
    sizeCalculation: () => 1,
    ttlResolution: 0,
  });
  const store = {
    async get(key: string): Promise<string | undefined> {
      const held = own.get(key);
      try {
        const found = await redis.run((client) => client.get(key));
        if (held?.isShared === false && (found === null || found === held.older)) return held.text;
        return found ?? undefined;
      } catch {
        return held?.text;
      }
    },
    async set(key: string, text: string, lifeMs: number): Promise<void> {
      const isShared = await redis
        .run((client) => client.set(key, text, 'PX', lifeMs))
        .then(
          () => true,
          () => false,
        );
      const kept: OwnText = { text, isShared, older: null };
      own.set(key, kept, { ttl: lifeMs });
      if (!isShared) kept.older = await redis.run((client) => client.get(key)).catch(() => null);
    },
    async delete(key: string): Promise<void> {
      own.delete(key);
      await redis.run((client) => client.del(key)).catch(() => undefined);
    },
    /** Deletes only this process's texts, because Redis has other keys too. */
    clear: () => own.clear(),
  };
  return new Keyv({
    store,
    useKeyPrefix: false,
    // Keyv would write the expiry by the writer's clock, which differs between replicas and which operators set. Only the clock of the
    // store counts.
    serialize: ({ value }) => String(value),
    deserialize: <Value>(text: string) => ({ value: text as Value }),
  });
}
