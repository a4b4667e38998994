import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { EventStore } from './event-store.ts';
import { KeyedWrites } from './keyed-writes.ts';
import { OrderLedgerKeeper } from './ledger-keeper.ts';
import { ObservedOrderLedger } from './observed-order-ledger.ts';
import { OrderLedger } from './order-ledger.service.ts';
import { WriteRecorder } from './write-recorder.ts';
import { WriteRecords } from './write-rows.ts';

/** Writes that must not run twice, what operators stop, and the feed of what has moved. */
@Module({
  imports: [CallerModule, ReadCacheModule],
  providers: [
    WriteRecords,
    ObservedOrderLedger,
    EventStore,
    OrderLedgerKeeper,
    WriteRecorder,
    OrderLedger,
    KeyedWrites,
  ],
  exports: [WriteRecords, EventStore, ObservedOrderLedger, OrderLedger, KeyedWrites],
})
export class OrderLedgerModule {}
