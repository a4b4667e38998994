import { CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import { SharedRedis } from '../redis/shared-redis.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ListStore } from './list-store.ts';
import { redisStore } from './redis-store.ts';
import { ReadCache } from './read-cache.ts';
import { Generations, ReadKeys } from './read-keys.ts';

@Module({
  imports: [
    UpstreamClientModule,
    CacheModule.registerAsync({
      inject: [SharedRedis],
      useFactory: (redis: SharedRedis) => ({ stores: redisStore(redis) }),
    }),
  ],
  providers: [Generations, ReadKeys, ListStore, ReadCache],
  exports: [Generations, ReadCache],
})
export class ReadCacheModule {}
