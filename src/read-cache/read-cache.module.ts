import { CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import { Keyv } from 'keyv';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ResponseStore, type SharedEntry } from './response-store.ts';
import { Generations } from './generations.ts';
import { ReadCache } from './read-cache.ts';
import { ReadKeys } from './read-keys.ts';
import { SharedReads } from './shared-reads.ts';
import { RedisStore } from './redis-store.ts';

/**
 * The second level in Redis. Only the expiry in Redis counts: the end that Keyv writes is by the writer's clock, which other
 * replicas do not share.
 */
function sharedStore(redis: SharedRedis, metrics: Metrics): Keyv[] {
  if (!redis.configured) return [];
  return [
    new Keyv({
      store: new RedisStore(redis, metrics),
      namespace: undefined,
      serialize: toText,
      deserialize: fromText,
    }),
  ];
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

@Module({
  imports: [
    UpstreamClientModule,
    CacheModule.registerAsync({
      inject: [SharedRedis, Metrics],
      useFactory: (redis: SharedRedis, metrics: Metrics) => ({
        stores: sharedStore(redis, metrics),
      }),
    }),
  ],
  providers: [Generations, ReadKeys, ResponseStore, ReadCache, SharedReads],
  exports: [SharedReads, ReadCache],
})
export class ReadCacheModule {}
