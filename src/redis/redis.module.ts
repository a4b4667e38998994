import { Global, Module } from '@nestjs/common';
import { SharedRedis } from './shared-redis.ts';

/** The Redis connection for every module. Orders have a separate connection. */
@Global()
@Module({ providers: [SharedRedis], exports: [SharedRedis] })
export class RedisModule {}
