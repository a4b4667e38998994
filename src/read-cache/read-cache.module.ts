import { CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import { SharedRedis } from '../redis/shared-redis.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ResponseStore } from './response-store.ts';
import { Generations } from './generations.ts';
import { ReadCache } from './read-cache.ts';
import { ReadKeys } from './read-keys.ts';
import { SharedReads } from './shared-reads.ts';
import { redisStore } from './redis-store.ts';

@Module({
  imports: [
    UpstreamClientModule,
    CacheModule.registerAsync({
      inject: [SharedRedis],
      useFactory: (redis: SharedRedis) => ({ stores: redisStore(redis) }),
    }),
  ],
  providers: [Generations, ReadKeys, ResponseStore, ReadCache, SharedReads],
  exports: [SharedReads, ReadCache],
})
export class ReadCacheModule {}
