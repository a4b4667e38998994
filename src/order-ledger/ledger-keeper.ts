import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { edge } from '../shared/edge.ts';
import { BudgetWatch } from './budget-watch.ts';
import { EventStore } from './event-store.ts';
import { MaintenanceWatch } from './maintenance-watch.ts';
import { ObservedOrderLedger } from './observed-order-ledger.ts';
import { WriteRecords } from './write-rows.ts';

/** A write whose lease ended becomes in doubt within a second, also without a request for it. */
const SWEEP_MS = 500;
/** Moves are kept for days. */
const TRIM_MS = 60_000;
/** Alerts on budgets wait for the morning. */
const BUDGETS_MS = 5_000;

/** Twice a second learns what an operator has stopped, ends leases that have run out, and deletes records that are no longer kept. */
@Injectable()
export class OrderLedgerKeeper implements OnModuleInit, OnApplicationShutdown {
  #timer: NodeJS.Timeout | undefined;
  #trimmedAt = -Infinity;
  #measuredAt = -Infinity;

  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly records: WriteRecords,
    private readonly moves: EventStore,
    private readonly metrics: Metrics,
    private readonly maintenance: MaintenanceWatch,
    private readonly budgets: BudgetWatch,
  ) {}

  async onModuleInit(): Promise<void> {
    this.metrics.follow('gateway_order_records_unreadable', () => [[{}, this.records.unreadable]]);
    await this.maintenance.look().catch(() => undefined);
    this.#timer = setInterval(
      edge('order ledger', () => this.tick()),
      SWEEP_MS,
    ).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /** Never fails: where the database is away or stopped, the log has said so, and the next run tries again. */
  async tick(): Promise<void> {
    await this.#keep().catch(() => undefined);
  }

  async #keep(): Promise<void> {
    await this.maintenance.look();
    await this.ledger.sweep();
    const { inDoubt, accepted } = await this.ledger.waiting();
    this.metrics.set('gateway_orders_in_doubt', {}, inDoubt.count);
    this.metrics.set('gateway_orders_in_doubt_oldest_seconds', {}, inDoubt.oldestMs / 1_000);
    this.metrics.set('gateway_orders_accepted', {}, accepted.count);
    this.metrics.set('gateway_orders_accepted_oldest_seconds', {}, accepted.oldestMs / 1_000);
    if (performance.now() - this.#measuredAt > BUDGETS_MS) {
      this.#measuredAt = performance.now();
      await this.budgets.measure();
    }
    if (performance.now() - this.#trimmedAt > TRIM_MS) {
      this.#trimmedAt = performance.now();
      await this.moves.trim();
    }
  }
}
