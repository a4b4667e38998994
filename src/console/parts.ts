import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import { OrderLedgerRedis } from '../order-ledger/order-ledger-redis.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { TokenManager } from '../token/token.manager.ts';
import type { ReplicaState } from './replica-state.ts';

const CIRCUITS = ['closed', 'half-open', 'open'] as const;

/** What the gateway depends on, as this process sees it. */
@Injectable()
export class Parts {
  constructor(
    private readonly redis: SharedRedis,
    private readonly ledger: OrderLedgerKeeper,
    private readonly ledgerRedis: OrderLedgerRedis,
    private readonly tokens: TokenManager,
    private readonly metrics: Metrics,
  ) {}

  async state(): Promise<Pick<ReplicaState, 'redis' | 'orders' | 'tokens' | 'circuits'>> {
    const { held, failure = null } = this.tokens.standing;
    const { stopped, reason, unreadable } = this.ledger.trouble;
    const words = this.ledgerRedis.reason;
    const circuits = await this.metrics.registry.getSingleMetric('gateway_upstream_breaker_state')?.get();
    return {
      redis: { status: this.redis.status, reason: this.redis.reason ?? null },
      orders: {
        status: this.ledgerRedis.configured ? this.ledger.status : 'off',
        reason: reason === undefined ? null : words === undefined ? reason : `${reason} (${words})`,
        ...{ stopped, unreadable },
      },
      tokens: { held, failure },
      circuits: (circuits?.values ?? []).map(({ labels, value }) => [
        String(labels['group']),
        CIRCUITS[value] ?? 'closed',
      ]),
    };
  }
}
