import { CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import { SharedRedis } from '../redis/shared-redis.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ListStore } from './list-store.ts';
import { redisStore } from './redis-store.ts';
import { ReadCache } from './read-cache.ts';
import { Generations, ReadKeys } from './read-keys.ts';
import { ResponseCache } from './response-cache.ts';

@Module({
  imports: [
    UpstreamClientModule,
    CacheModule.registerAsync({
      inject: [SharedRedis],
      useFactory: (redis: SharedRedis) => ({ stores: redisStore(redis) }),
    }),
  ],
  providers: [Generations, ReadKeys, ListStore, ReadCache, ResponseCache],
  exports: [Generations, ReadCache, ResponseCache],
})
export class ReadCacheModule {}
