import { CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import { Keyv } from 'keyv';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { BoundedStore } from './bounded-store.ts';
import { Generations } from './generations.ts';
import { ReadCache, type ReadAnswer } from './read-cache.ts';
import { ReadKeys } from './read-keys.ts';
import { RedisStore } from './redis-store.ts';

const LOCAL_ENTRIES = 1_000;
const LOCAL_BYTES = 32 * 1024 * 1024;

/** In the process: values as they are. Keyv's own serialiser would cost more than everything else a hit does. */
function localStore(): Keyv {
  const store = new BoundedStore({ entries: LOCAL_ENTRIES, bytes: LOCAL_BYTES, sizeOf: bytesOf });
  return new Keyv({ store, namespace: undefined, serialize: undefined, deserialize: undefined });
}

/** In Redis, whose expiry alone counts: the end that Keyv writes is the writer's clock, which others do not share. */
function sharedStore(redis: SharedRedis, metrics: Metrics): Keyv[] {
  if (!redis.configured) return [];
  return [
    new Keyv({
      store: new RedisStore(redis, metrics),
      namespace: undefined,
      serialize: ({ value }) => JSON.stringify({ value }),
      deserialize: JSON.parse,
    }),
  ];
}

/** Two bytes a character is the most that a string takes. */
function bytesOf(stored: unknown): number {
  const { value } = stored as { value: ReadAnswer };
  return 2 * (value.body.length + value.etag.length + (value.link?.length ?? 0));
}

@Module({
  imports: [
    CacheModule.registerAsync({
      inject: [SharedRedis, Metrics],
      useFactory: (redis: SharedRedis, metrics: Metrics) => ({
        stores: [localStore(), ...sharedStore(redis, metrics)],
      }),
    }),
  ],
  providers: [Generations, ReadKeys, ReadCache],
  exports: [ReadCache],
})
export class ReadCacheModule {}
