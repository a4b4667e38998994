import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { Maintenance } from '../control/maintenance.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { KeyedWrites } from '../order-ledger/keyed-writes.ts';
import { type MaintenanceStore, MemoryMaintenanceStore } from '../order-ledger/maintenance-store.ts';
import { MemoryMoveLog } from '../order-ledger/memory-move-log.ts';
import { MemoryOrderLedger } from '../order-ledger/memory-order-ledger.ts';
import { MOVE_LOG, type MoveLog } from '../order-ledger/move-log.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { OrderLedger } from '../order-ledger/order-ledger.service.ts';
import { RedisMaintenanceStore } from '../order-ledger/redis-maintenance-store.ts';
import { RedisMoveLog } from '../order-ledger/redis-move-log.ts';
import { RedisOrderLedger } from '../order-ledger/redis-order-ledger.ts';
import { WriteRecorder } from '../order-ledger/write-recorder.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { Generations } from '../read-cache/read-keys.ts';
import { BudgetWatch } from './budget-watch.ts';
import { StoreEpoch } from './epoch.ts';
import { OrderStoreKeeper } from './keeper.ts';
import { MAINTENANCE_STORE, MaintenanceWatch } from './maintenance-watch.ts';
import { OrderStoreRedis } from './order-store-redis.ts';
import { StoreWatch } from './watch.ts';

/** The order ledger on its store, or in the process where there is none: writes that must not run twice. */
@Module({
  imports: [CallerModule, ReadCacheModule],
  providers: [
    OrderStoreRedis,
    StoreEpoch,
    StoreWatch,
    {
      provide: ObservedOrderLedger,
      inject: [OrderStoreRedis, StoreWatch, MemoryMoveLog, Log, Metrics, Generations, Maintenance],
      useFactory: (
        redis: OrderStoreRedis,
        watch: StoreWatch,
        moves: MemoryMoveLog,
        log: Log,
        metrics: Metrics,
        generations: Generations,
        maintenance: Maintenance,
      ) => {
        const store = redis.configured
          ? new RedisOrderLedger(redis, redis.environment, watch)
          : new MemoryOrderLedger(moves, undefined, () => maintenance.refusal('orders'));
        return new ObservedOrderLedger(store, log, metrics, generations);
      },
    },
    MemoryMoveLog,
    {
      provide: MOVE_LOG,
      inject: [OrderStoreRedis, StoreWatch, MemoryMoveLog],
      useFactory: (redis: OrderStoreRedis, watch: StoreWatch, inProcess: MemoryMoveLog): MoveLog =>
        redis.configured ? new RedisMoveLog(redis, redis.environment, watch) : inProcess,
    },
    {
      provide: MAINTENANCE_STORE,
      inject: [OrderStoreRedis, StoreWatch],
      useFactory: (redis: OrderStoreRedis, watch: StoreWatch): MaintenanceStore =>
        redis.configured
          ? new RedisMaintenanceStore(redis, redis.environment, watch)
          : new MemoryMaintenanceStore(),
    },
    MaintenanceWatch,
    BudgetWatch,
    OrderStoreKeeper,
    WriteRecorder,
    OrderLedger,
    KeyedWrites,
  ],
  exports: [
    OrderStoreRedis,
    StoreWatch,
    MOVE_LOG,
    MemoryMoveLog,
    BudgetWatch,
    MaintenanceWatch,
    ObservedOrderLedger,
    OrderLedger,
    KeyedWrites,
  ],
})
export class OrderStoreModule {}
