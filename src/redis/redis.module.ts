import { CacheModule } from '@nestjs/cache-manager';
import { Global, Module } from '@nestjs/common';
import { SharedRedis } from './shared-redis.ts';
import { sharedTexts } from './shared-texts.ts';

/** Provides the Redis connection to every module, and Nest's `Cache` for values that replicas share. */
@Global()
@Module({
  imports: [
    CacheModule.registerAsync({
      inject: [SharedRedis],
      useFactory: (redis: SharedRedis) => ({ stores: sharedTexts(redis) }),
    }),
  ],
  providers: [SharedRedis],
  exports: [SharedRedis, CacheModule],
})
export class RedisModule {}
