import { Injectable } from '@nestjs/common';
import { Admission, type Overload } from '../http/admission.ts';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import type { StopReason } from '../order-ledger/store-watch.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { TokenManager, type TokenTrouble } from '../token/token.manager.ts';
import { OperationGroups } from '../upstream/resilience/operation-groups.ts';

/** What this process knows of itself and of what it depends on. */
export interface ReplicaState {
  readonly draining: boolean;
  readonly overload: Overload | undefined;
  readonly redis: { readonly status: 'up' | 'down' | 'off'; readonly reason: string | undefined };
  readonly orders: {
    readonly stopped: StopReason;
    readonly reason: string | undefined;
    readonly unreadable: number;
  };
  readonly tokenFailure: TokenTrouble | undefined;
  readonly openCircuits: readonly string[];
}

/** Describes this process for the console. */
@Injectable()
export class Replica {
  constructor(
    private readonly admission: Admission,
    private readonly redis: SharedRedis,
    private readonly ledger: OrderLedgerKeeper,
    private readonly tokens: TokenManager,
    private readonly upstream: OperationGroups,
  ) {}

  get state(): ReplicaState {
    const { admission, redis } = this;
    return {
      draining: admission.draining,
      overload: admission.overload,
      redis: { status: redis.status, reason: redis.reason },
      orders: this.ledger.trouble,
      tokenFailure: this.tokens.failure,
      openCircuits: this.upstream.open,
    };
  }
}
