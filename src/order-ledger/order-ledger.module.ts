import { Module } from '@nestjs/common';
import { ReadCacheModule } from '../read-cache/read-cache.module.ts';
import { KeyedWrites } from './keyed-writes.ts';
import { OrderLedgerKeeper } from './ledger-keeper.ts';
import { ObservedOrderLedger } from './observed-order-ledger.ts';
import { OrderLedger } from './order-ledger.service.ts';
import { WriteRecorder } from './write-recorder.ts';
import { WriteRecords } from './write-rows.ts';

/** Writes that must not run twice. */
@Module({
  imports: [ReadCacheModule],
  providers: [WriteRecords, ObservedOrderLedger, OrderLedgerKeeper, WriteRecorder, OrderLedger, KeyedWrites],
  exports: [WriteRecords, ObservedOrderLedger, OrderLedger, KeyedWrites],
})
export class OrderLedgerModule {}
