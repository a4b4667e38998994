import type * as AppConfigModule from '../../../src/config/app-config.ts';
import type * as LedgerRecordModule from '../../../src/order-ledger/ledger-record.ts';
import type { Moved } from '../../../src/order-ledger/order-ledger-store.ts';
import type * as RedisOrderLedgerModule from '../../../src/order-ledger/redis-order-ledger.ts';
import type * as OrderStoreRedisModule from '../../../src/order-store/order-store-redis.ts';
import type * as LogModule from '../../../src/observability/log.ts';
import type * as MetricsModule from '../../../src/observability/metrics.ts';
import { knownStore } from '../../support/known-store.ts';
import { built } from '../../support/variant.ts';

/** Direct access to the order ledger's records, for actions that their API does not offer, or not so soon. */
export class Records {
  private readonly store: RedisOrderLedgerModule.RedisOrderLedger;
  private readonly redis: OrderStoreRedisModule.OrderStoreRedis;
  private readonly nameOf: (channelCode: string, channelOrderId: string) => string;

  /** Takes up the epoch that the store has now, as gateways do where an operator confirmed it. */
  readonly refresh: () => Promise<void>;

  private constructor(
    store: Records['store'],
    redis: Records['redis'],
    nameOf: Records['nameOf'],
    refresh: Records['refresh'],
  ) {
    this.store = store;
    this.redis = redis;
    this.nameOf = nameOf;
    this.refresh = refresh;
  }

  /** `environment` is that of a gateway whose store has an epoch. */
  static async open(environment: Record<string, string>): Promise<Records> {
    await import('reflect-metadata');
    const { loadConfig } = await built<typeof AppConfigModule>('config/app-config.js');
    const { OrderStoreRedis } = await built<typeof OrderStoreRedisModule>('order-store/order-store-redis.js');
    const { RedisOrderLedger } = await built<typeof RedisOrderLedgerModule>(
      'order-ledger/redis-order-ledger.js',
    );
    const { orderName } = await built<typeof LedgerRecordModule>('order-ledger/ledger-record.js');
    const { createLog } = await built<typeof LogModule>('observability/log.js');
    const { Metrics } = await built<typeof MetricsModule>('observability/metrics.js');
    const config = loadConfig(environment);
    const redis = new OrderStoreRedis(config.orderStore, createLog('silent'), new Metrics());
    await redis.onModuleInit();
    let epoch: string | null = null;
    const refresh = async () => {
      epoch = await redis.run((client) => client.get(redis.keys.epoch));
    };
    await refresh();
    const store = new RedisOrderLedger(
      redis,
      redis.environment,
      knownStore(() => epoch ?? undefined),
    );
    return new Records(store, redis, orderName, refresh);
  }

  get up(): boolean {
    return this.redis.status === 'up';
  }

  async count(state: LedgerRecordModule.State): Promise<number> {
    return (await this.store.list({ states: [state] }, 0, 1)).total;
  }

  /** Settles as an operator does, without the wait that the API requires. */
  settle(channelOrderId: string, to: 'succeeded' | 'not_placed'): Promise<Moved> {
    return this.store.move({ name: this.nameOf('crm', channelOrderId), by: 'operator', to });
  }

  close(): void {
    this.redis.onApplicationShutdown();
  }
}
