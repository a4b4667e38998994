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

/** In Redis, whose expiry alone counts: the end that Keyv writes is the writer's clock, which others do not share. */
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

/** A line about the body, and the body as it is: as a field of it, every quote would have to be escaped and read again. */
function toText({ value }: { readonly value?: unknown }): string {
  const { body, ...head } = value as Entry;
  return `${JSON.stringify(head)}\n${body.toString()}`;
}

function fromText<Value>(text: string): { value: Value } {
  const end = text.indexOf('\n');
  const head = JSON.parse(text.slice(0, end)) as Omit<Entry, 'body'>;
  const entry: Entry = { ...head, body: Buffer.from(text.slice(end + 1)) };
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
