import { Module } from '@nestjs/common';
import { OrderLedgerKeeper } from './order-ledger-keeper.ts';
import { OrderLedgerRedis } from './order-ledger-redis.ts';
import { OrderLedger } from './order-ledger.service.ts';
import { KeyedWrites } from './keyed-writes.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';
import { StoreMemory } from './store-memory.ts';
import { StoreWatch } from './store-watch.ts';

/** Writes that must not run twice. */
@Module({
  providers: [
    OrderLedgerRedis,
    StoreMemory,
    StoreWatch,
    OrderLedgerKeeper,
    OutcomeRecorder,
    OrderLedger,
    KeyedWrites,
  ],
  exports: [OrderLedgerKeeper, OrderLedgerRedis, OrderLedger, KeyedWrites],
})
export class OrderLedgerModule {}
