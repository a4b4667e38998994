import { Module } from '@nestjs/common';
import { GuardKeeper } from './guard-keeper.ts';
import { GuardRedis } from './guard-redis.ts';
import { GuardService } from './guard.service.ts';
import { KeyedWrites } from './keyed-writes.ts';

/** Writes that must not run twice. */
@Module({
  providers: [GuardRedis, GuardKeeper, GuardService, KeyedWrites],
  exports: [GuardKeeper, GuardService, KeyedWrites],
})
export class GuardModule {}
