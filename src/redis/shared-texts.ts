import { Keyv, type KeyvOptions } from 'keyv';
import { LRUCache } from 'lru-cache';
import type { SharedRedis } from './shared-redis.ts';

/** They take about 4 MB. */
const MAX_TEXTS = 20_000;

interface TextStore {
  get(key: string): unknown;
  set(key: string, text: string, lifeMs: number): unknown;
  delete(key: string): unknown;
  clear(): void;
}

/**
 * The stores of Nest's `Cache`: Redis, which all replicas share, then this process, which serves what Redis does not have, where there is none
 * or it is away. A failure of Redis is no error of the cache. Values are texts with an end of their life, and keys begin with the environment's name.
 */
export function sharedTexts(redis: SharedRedis): Keyv[] {
  return [...(redis.configured ? [inRedis(redis)] : []), inProcess()].map(
    (store) => new Keyv({ store, useKeyPrefix: false, ...AS_IT_IS }),
  );
}

/** Keyv would write the end by the writer's clock, which other replicas do not share and operators set. Only the end that a store keeps counts. */
const AS_IT_IS: KeyvOptions = {
  serialize: ({ value }) => String(value),
  deserialize: <Value>(text: string) => ({ value: text as Value }),
};

function inRedis(redis: SharedRedis): TextStore {
  return {
    get: (key) => redis.run((client) => client.get(key)),
    set: (key, text, lifeMs) => redis.run((client) => client.set(key, text, 'PX', lifeMs)),
    delete: (key) => redis.run((client) => client.del(key)),
    // Redis has the keys of others, too.
    clear: () => undefined,
  };
}

function inProcess(): TextStore {
  const texts = new LRUCache<string, string>({ max: MAX_TEXTS, ttlResolution: 0 });
  return {
    get: (key) => texts.get(key),
    set: (key, text, ttl) => texts.set(key, text, { ttl }),
    delete: (key) => texts.delete(key),
    clear: () => texts.clear(),
  };
}
