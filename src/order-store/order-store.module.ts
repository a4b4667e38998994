import { Module } from '@nestjs/common';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { KeyedWrites } from '../order-ledger/keyed-writes.ts';
import { MemoryOrderLedger } from '../order-ledger/memory-order-ledger.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { OrderLedger } from '../order-ledger/order-ledger.service.ts';
import { RedisOrderLedger } from '../order-ledger/redis-order-ledger.ts';
import { WriteRecorder } from '../order-ledger/write-recorder.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { Generations } from '../read-cache/read-keys.ts';
import { StoreEpoch } from './epoch.ts';
import { OrderStoreKeeper } from './keeper.ts';
import { OrderStoreRedis } from './order-store-redis.ts';
import { StoreWatch } from './watch.ts';

/** The order ledger on its store, or in the process where there is none: writes that must not run twice. */
@Module({
  imports: [ReadCacheModule],
  providers: [
    OrderStoreRedis,
    StoreEpoch,
    StoreWatch,
    {
      provide: ObservedOrderLedger,
      inject: [OrderStoreRedis, StoreWatch, Log, Metrics, Generations],
      useFactory: (
        redis: OrderStoreRedis,
        watch: StoreWatch,
        log: Log,
        metrics: Metrics,
        generations: Generations,
      ) => {
        const store = redis.configured
          ? new RedisOrderLedger(redis, redis.environment, watch)
          : new MemoryOrderLedger();
        return new ObservedOrderLedger(store, log, metrics, generations);
      },
    },
    OrderStoreKeeper,
    WriteRecorder,
    OrderLedger,
    KeyedWrites,
  ],
  exports: [OrderStoreRedis, StoreWatch, ObservedOrderLedger, OrderLedger, KeyedWrites],
})
export class OrderStoreModule {}
