import { Global, Module } from '@nestjs/common';
import { SharedRedis } from './shared-redis.ts';

/** The Redis that every room may use; orders have a connection of their own. */
@Global()
@Module({ providers: [SharedRedis], exports: [SharedRedis] })
export class RedisModule {}
