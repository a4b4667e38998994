import type * as AppConfigModule from '../../../src/config/app-config.ts';
import type { State } from '../../../src/order-ledger/ledger-record.ts';
import type * as OrderLedgerRedisModule from '../../../src/order-ledger/order-ledger-redis.ts';
import type * as OrderLedgerStoreModule from '../../../src/order-ledger/order-ledger-store.ts';
import type * as RedisOrderLedgerModule from '../../../src/order-ledger/redis-order-ledger.ts';
import type * as StoreKeysModule from '../../../src/order-ledger/store-keys.ts';
import type * as LogModule from '../../../src/observability/log.ts';
import type * as MetricsModule from '../../../src/observability/metrics.ts';
import type * as KeyNamesModule from '../../../src/redis/key-names.ts';
import { knownStore } from '../../support/known-store.ts';
import { built } from '../../support/variant.ts';

/** Direct access to the order ledger's records, for actions that their API does not offer, or not so soon. */
export class Records {
  private readonly store: RedisOrderLedgerModule.RedisOrderLedger;
  private readonly redis: OrderLedgerRedisModule.OrderLedgerRedis;
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
    const { OrderLedgerRedis } = await built<typeof OrderLedgerRedisModule>(
      'order-ledger/order-ledger-redis.js',
    );
    const { RedisOrderLedger } = await built<typeof RedisOrderLedgerModule>(
      'order-ledger/redis-order-ledger.js',
    );
    const { storeKeys } = await built<typeof StoreKeysModule>('order-ledger/store-keys.js');
    const { orderName } = await built<typeof OrderLedgerStoreModule>('order-ledger/order-ledger-store.js');
    const { environmentName } = await built<typeof KeyNamesModule>('redis/key-names.js');
    const { createLog } = await built<typeof LogModule>('observability/log.js');
    const { Metrics } = await built<typeof MetricsModule>('observability/metrics.js');
    const config = loadConfig(environment);
    const redis = new OrderLedgerRedis(config.orderStore, createLog('silent'), new Metrics());
    await redis.onModuleInit();
    const name = environmentName(config.upstream.baseUrl);
    let epoch: string | null = null;
    const refresh = async () => {
      epoch = await redis.run((client) => client.get(storeKeys(name).epoch));
    };
    await refresh();
    const store = new RedisOrderLedger(
      redis,
      name,
      knownStore(() => epoch ?? undefined),
    );
    return new Records(store, redis, orderName, refresh);
  }

  get up(): boolean {
    return this.redis.status === 'up';
  }

  async count(state: State): Promise<number> {
    return (await this.store.list({ states: [state] }, 0, 1)).total;
  }

  /** Settles as an operator does, without the wait that the API requires. */
  settle(channelOrderId: string, to: 'succeeded' | 'not_placed'): Promise<OrderLedgerStoreModule.Moved> {
    return this.store.move({ name: this.nameOf('crm', channelOrderId), by: 'operator', to });
  }

  close(): void {
    this.redis.onApplicationShutdown();
  }
}
