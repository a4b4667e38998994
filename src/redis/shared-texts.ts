import { Keyv } from 'keyv';
import { LRUCache } from 'lru-cache';
import type { SharedRedis } from './shared-redis.ts';

/** They take about 4 MB. */
const MAX_TEXTS = 20_000;

interface OwnText {
  readonly text: string;
  /** Redis has taken it, too, so another replica may have deleted it there. */
  readonly isShared: boolean;
}

/**
 * The store of Nest's `Cache`: texts with an end of their life, which all replicas share in Redis. A process keeps what it has stored itself, too:
 * it counts while there is no Redis or it is away, and afterwards where Redis did not take it. A failure of Redis is no error of the cache.
 */
export function sharedTexts(redis: SharedRedis): Keyv {
  const own = new LRUCache<string, OwnText>({ max: MAX_TEXTS, ttlResolution: 0 });
  const store = {
    async get(key: string): Promise<string | undefined> {
      const held = own.get(key);
      try {
        const found = await redis.run((client) => client.get(key));
        return found ?? (held?.isShared ? undefined : held?.text);
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
      own.set(key, { text, isShared }, { ttl: lifeMs });
    },
    async delete(key: string): Promise<void> {
      own.delete(key);
      await redis.run((client) => client.del(key)).catch(() => undefined);
    },
    /** Redis has other keys, too. */
    clear: () => own.clear(),
  };
  return new Keyv({
    store,
    useKeyPrefix: false,
    // Keyv would write the end by the writer's clock, which other replicas do not share and operators set. Only that of the store counts.
    serialize: ({ value }) => String(value),
    deserialize: <Value>(text: string) => ({ value: text as Value }),
  });
}
