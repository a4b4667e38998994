import { Module } from '@nestjs/common';
import { GuardKeeper } from './order-ledger-keeper.ts';
import { GuardRedis } from './order-ledger-redis.ts';
import { GuardService } from './order-ledger.service.ts';
import { KeyedWrites } from './keyed-writes.ts';

/** Writes that must not run twice. */
@Module({
  providers: [GuardRedis, GuardKeeper, GuardService, KeyedWrites],
  exports: [GuardKeeper, GuardService, KeyedWrites],
})
export class GuardModule {}
