import { Module } from '@nestjs/common';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { OrderLedgerModule } from '../order-ledger/order-ledger.module.ts';
import { TenancyModule } from '../tenancy/tenancy.module.ts';
import { TokenModule } from '../token/token.module.ts';
import { AliasUsers } from './alias-users.ts';
import { SessionService } from './session.service.ts';
import { SessionStore } from './session.store.ts';
import { SessionsController } from './sessions.controller.ts';

/** Sessions and configured users of the platform: who is acting. */
@Module({
  imports: [TokenModule, OrderLedgerModule, ReadCacheModule, TenancyModule],
  controllers: [SessionsController],
  providers: [AliasUsers, SessionStore, SessionService],
  exports: [AliasUsers, SessionService],
})
export class SessionModule {}
