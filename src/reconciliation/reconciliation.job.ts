import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { isMaintenance, Maintenance } from '../maintenance/state/maintenance.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { Database } from '../database/database.ts';
import { poll } from '../kit/poll/poll.ts';
import { isSought, sentAt, SOUGHT } from '../order-ledger/ledger-record.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { CALLER_OF_ORDER, ordersWithoutSearch, SEARCH } from '../order-ledger/search-store.ts';
import { add } from '../tasks/task-store.ts';
import { type TaskHold, TaskWorker } from '../tasks/task-worker.ts';
import { OrderReconciler } from './reconcile-order.ts';
import { ReconciliationSchedule } from './schedule.ts';
import { TaughtOrders } from './taught-orders.ts';

/** A record that could not be read is read again after this time. */
const UNREAD_MS = 60_000;
/** A search that a maintenance has stopped begins anew after this time, once the maintenance is over. */
const STOPPED_MS = 1_000;

/**
 * Searches the platform at the scheduled times for orders that are in doubt, incomplete or accepted for later, for as long as they are. The step
 * that moves an order into such a state adds its task, and one replica at a time has the task.
 */
@Injectable()
export class ReconciliationJob implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  readonly #worker: TaskWorker;
  #endPoll: (() => void) | undefined;
  #scannedAt = -Infinity;

  constructor(
    private readonly database: Database,
    private readonly ledger: ObservedOrderLedger,
    private readonly reconciler: OrderReconciler,
    private readonly times: ReconciliationSchedule,
    private readonly taught: TaughtOrders,
    maintenance: Maintenance,
  ) {
    this.#worker = new TaskWorker(database, {
      kind: SEARCH,
      owner: CALLER_OF_ORDER,
      concurrency: 1,
      run: (hold) => this.#run(hold),
      isPaused: () => maintenance.stops('all'),
    });
  }

  onApplicationBootstrap(): void {
    this.#worker.start();
    this.#endPoll = poll('reconciliation', this.times.scan, () => this.#tick());
  }

  onModuleDestroy(): void {
    this.#endPoll?.();
    this.#worker.stop();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#worker.close();
  }

  /** Resolves to the ms until the next attempt; undefined: the order is settled, or being sent again. */
  async #run({ name, over }: TaskHold): Promise<number | undefined> {
    try {
      const record = await this.ledger.read(name);
      if (!record || !SOUGHT.has(record.state)) return undefined;
      const sent = sentAt(record);
      const now = await this.database.clock();
      // A task is due at once when it is added, which is earlier than the first attempt.
      const isDue = this.times.next(sent, sent) <= now();
      if (isDue && isSought(record) && (await this.reconciler.reconcile(name, { abandon: over, now })))
        return undefined;
      const at = now();
      return this.times.next(sent, at) - at;
    } catch (error) {
      if (isMaintenance(error)) return STOPPED_MS;
      if (!(error instanceof DatabaseUnavailable)) throw error;
      return UNREAD_MS;
    }
  }

  /** A failure means that the database is away, which the log says already. The next tick tries it again. */
  async #tick(): Promise<void> {
    await this.#scan().catch(() => undefined);
    await this.taught.settleAll().catch(() => undefined);
  }

  /** Adds the tasks that are missing, as after a restored backup or a mistake by hand. */
  async #scan(): Promise<void> {
    if (performance.now() - this.#scannedAt < this.times.scanOfAll) return;
    const found = await this.database.read<{ name: string }>(ordersWithoutSearch());
    await Promise.all(found.map(({ name }) => this.database.step(add, { kind: SEARCH, name })));
    this.#scannedAt = performance.now();
  }
}
