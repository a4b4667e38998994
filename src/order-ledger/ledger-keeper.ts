import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { poll } from '../kit/poll/poll.ts';
import { Metrics } from '../observability/metrics.ts';
import { ObservedOrderLedger } from './observed-order-ledger.ts';
import { WriteRecords } from './write-rows.ts';

/**
 * The interval of the search for ended leases. A write whose lease ended becomes in doubt within a second, even if no request names it.
 */
const SWEEP_MS = 500;

/** Ends the leases that have run out, and deletes the records that are no longer kept. */
@Injectable()
export class OrderLedgerKeeper implements OnModuleInit, OnApplicationShutdown {
  #endPoll: (() => void) | undefined;

  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly records: WriteRecords,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    this.metrics.follow('gateway_order_records_unreadable', () => [[{}, this.records.unreadable]]);
    this.#endPoll = poll('order ledger', SWEEP_MS, () => this.tick());
  }

  onApplicationShutdown(): void {
    this.#endPoll?.();
  }

  /** Never fails: where the database is away or stopped, the log has said so, and the next run tries again. */
  async tick(): Promise<void> {
    await this.#keep().catch(() => undefined);
  }

  async #keep(): Promise<void> {
    await this.ledger.sweep();
    const { inDoubt, accepted, scheduled } = await this.ledger.waiting();
    this.metrics.set('gateway_orders_in_doubt', {}, inDoubt.count);
    this.metrics.set('gateway_orders_in_doubt_oldest_seconds', {}, inDoubt.oldestMs / 1_000);
    this.metrics.set('gateway_orders_accepted', {}, accepted.count);
    this.metrics.set('gateway_orders_accepted_oldest_seconds', {}, accepted.oldestMs / 1_000);
    this.metrics.set('gateway_orders_overdue_seconds', {}, scheduled.overdueMs / 1_000);
  }
}
