import { CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import { Keyv } from 'keyv';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { ResponseStore, type Entry } from './response-store.ts';
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

/** One line of metadata, then the body unchanged. As a JSON field, every quote in the body would have to be escaped and parsed again. */
function toText({ value }: { readonly value?: unknown }): string {
  const { body, etag, link, askedAt } = value as Entry;
  return `${JSON.stringify({ etag, link, askedAt })}\n${body}`;
}

function fromText<Value>(text: string): { value: Value } {
  const end = text.indexOf('\n');
  const head = JSON.parse(text.slice(0, end)) as Pick<Entry, 'etag' | 'link' | 'askedAt'>;
  const entry: Entry = { ...head, body: text.slice(end + 1), parsed: {} };
  return { value: entry as Value };
}

@Module({
  imports: [
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
