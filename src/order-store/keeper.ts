import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { MOVE_LOG, type MoveLog } from '../order-ledger/move-log.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { edge, inBackground } from '../shared/edge.ts';
import { OrderStoreRedis } from './order-store-redis.ts';
import { BudgetWatch } from './budget-watch.ts';
import { MaintenanceWatch } from './maintenance-watch.ts';
import { stopReasons, StoreWatch } from './watch.ts';

/** A write whose lease ended becomes in doubt within a second, also without a request for it. */
const SWEEP_MS = 500;
/** Moves are kept for days. */
const TRIM_MS = 60_000;
/** Alerts on budgets wait for the morning. */
const BUDGETS_MS = 5_000;

/** Twice a second checks the order store, learns what an operator has stopped, ends leases that have run out, and deletes records that are no longer kept. */
@Injectable()
export class OrderStoreKeeper implements OnModuleInit, OnApplicationShutdown {
  #timer: NodeJS.Timeout | undefined;
  #trimmedAt = -Infinity;
  #measuredAt = -Infinity;

  constructor(
    private readonly redis: OrderStoreRedis,
    private readonly watch: StoreWatch,
    private readonly ledger: ObservedOrderLedger,
    @Inject(MOVE_LOG) private readonly moves: MoveLog,
    private readonly log: Log,
    private readonly metrics: Metrics,
    private readonly maintenance: MaintenanceWatch,
    private readonly budgets: BudgetWatch,
  ) {}

  async onModuleInit(): Promise<void> {
    if (this.redis.configured) {
      await this.watch.check(true);
      this.redis.onReady(() => {
        this.watch.server.doubt();
        // At once: where the store has lost writes that this gateway has seen, the other gateways learn it from the store.
        inBackground('order store', () => this.tick());
      });
      this.metrics.follow('gateway_order_store_stopped', () =>
        stopReasons.map((reason) => [{ reason }, Number(reason === this.watch.stopped)]),
      );
      this.metrics.follow('gateway_order_records_unreadable', () => [[{}, this.watch.trouble.unreadable]]);
    } else {
      this.log.warn(
        { event: 'order-store-in-process' },
        'No Redis: orders are recorded in this process only, and forgotten with it',
      );
    }
    await this.maintenance.look().catch(() => undefined);
    this.#timer = setInterval(
      edge('order store', () => this.tick()),
      SWEEP_MS,
    ).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /** Runs twice a second. Never fails: where the store is away or stopped, the log has said so, and the next run tries again. */
  async tick(): Promise<void> {
    await this.#keep().catch(() => undefined);
  }

  async #keep(): Promise<void> {
    // Each time: Redis does not report that it was emptied or restored under an open connection.
    if (this.redis.configured) await this.watch.check();
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
