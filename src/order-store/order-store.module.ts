import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { DatabaseConfig, OrderStoreConfig } from '../config/app-config.ts';
import { Database } from '../database/database.ts';
import { SealedTexts } from '../database/sealed-texts.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { KeyedWrites } from '../order-ledger/keyed-writes.ts';
import { EventStore } from '../order-ledger/event-store.ts';
import type { MaintenanceStore } from '../order-ledger/maintenance-store.ts';
import { MemoryMoveLog } from '../order-ledger/memory-move-log.ts';
import { MOVE_LOG, type MoveLog } from '../order-ledger/move-log.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { OrderLedger } from '../order-ledger/order-ledger.service.ts';
import { WindowStore } from '../order-ledger/window-store.ts';
import { WriteRecorder } from '../order-ledger/write-recorder.ts';
import { WriteRecords } from '../order-ledger/write-rows.ts';
import { WriteStore } from '../order-ledger/write-store.ts';
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
      provide: WriteStore,
      inject: [Database, DatabaseConfig, OrderStoreConfig, StoreWatch],
      useFactory: (
        database: Database,
        { platform }: DatabaseConfig,
        { encryptionKeys }: OrderStoreConfig,
        watch: StoreWatch,
      ) => {
        const texts = new SealedTexts(encryptionKeys, platform);
        return new WriteStore(
          database,
          new WriteRecords(texts, (name, reason) => watch.unreadable(name, reason)),
        );
      },
    },
    {
      provide: ObservedOrderLedger,
      inject: [WriteStore, Log, Metrics, Generations],
      useFactory: (store: WriteStore, log: Log, metrics: Metrics, generations: Generations) =>
        new ObservedOrderLedger(store, log, metrics, generations),
    },
    MemoryMoveLog,
    {
      provide: MOVE_LOG,
      inject: [Database],
      useFactory: (database: Database): MoveLog => new EventStore(database),
    },
    {
      provide: MAINTENANCE_STORE,
      inject: [Database],
      useFactory: (database: Database): MaintenanceStore => new WindowStore(database),
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
