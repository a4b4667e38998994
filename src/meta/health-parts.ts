import { Injectable } from '@nestjs/common';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { TokenManager } from '../token/token.manager.ts';
import { OperationGroups } from '../upstream/resilience/operation-groups.ts';

/** What the gateway needs around it, each in a word. */
@Injectable()
export class HealthParts {
  constructor(
    private readonly redis: SharedRedis,
    private readonly guard: OrderLedgerKeeper,
    private readonly tokens: TokenManager,
    private readonly upstream: OperationGroups,
  ) {}

  get words() {
    return {
      redis: this.redis.status,
      orders: this.guard.status,
      tokens: this.tokens.healthy ? 'up' : 'down',
      upstream: this.upstream.health,
    } as const;
  }
}
