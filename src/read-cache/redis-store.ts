import { Keyv } from 'keyv';
import type { SharedRedis } from '../redis/shared-redis.ts';

/** An entry as Redis has it. */
export interface SharedEntry {
  readonly text: string;
  readonly askedAt: number;
}

/**
 * The second level of the cache, in Redis. Entries are sealed, because responses have personal data. Only the expiry in Redis counts: the
 * end that Keyv writes is by the writer's clock, which other replicas do not share.
 */
export function redisStore(redis: SharedRedis): Keyv[] {
  const entries = redis.sealed('cache');
  if (!entries) return [];
  const store = {
    get: (key: string) => entries.get(key),
    set: async (key: string, value: string, lifeMs?: number): Promise<boolean> => {
      if (lifeMs === undefined || lifeMs < 1) return false;
      await entries.set(key, value, lifeMs);
      return true;
    },
    delete: async (key: string): Promise<boolean> => (await redis.run((client) => client.del(key))) > 0,
    // Keyv requires the method. Clearing would have to scan every key, and entries expire anyway.
    clear: (): never => {
      throw new Error('the shared read cache is not cleared: its entries expire');
    },
  };
  return [new Keyv({ store, namespace: undefined, serialize: toText, deserialize: fromText })];
}

/** The time of the entry, then its text unchanged. As a JSON field, every quote in the text would have to be escaped and parsed again. */
function toText({ value }: { readonly value?: unknown }): string {
  const { text, askedAt } = value as SharedEntry;
  return `${askedAt}\n${text}`;
}

function fromText<Value>(stored: string): { value: Value } {
  const end = stored.indexOf('\n');
  const entry: SharedEntry = { askedAt: Number(stored.slice(0, end)), text: stored.slice(end + 1) };
  return { value: entry as Value };
}
