import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { Database } from '../database/database.ts';
import { CALLER_OF_ORDER, SCHEDULE } from '../order-ledger/search-store.ts';
import { type TaskHold, TaskWorker } from '../tasks/task-worker.ts';
import { DueOrders } from './due-orders.ts';

/** The number of due orders that leave at a time. It is small, so that many orders due at once do not delay the orders of callers. */
const MAX_AT_ONCE = 2;
/**
 * The number of overdue orders that leave at a time. It is larger, because an order must leave within a minute, however slow the platform
 * is.
 */
const OVERDUE = { ms: 10_000, concurrency: 16 };

/**
 * Places orders at their time. The step that schedules an order adds a task that is due at that time by the clock of the database. One replica at
 * a time runs the task.
 */
@Injectable()
export class ScheduledOrders implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  readonly #worker: TaskWorker;

  constructor(database: Database, maintenance: Maintenance, due: DueOrders) {
    this.#worker = new TaskWorker(database, {
      kind: SCHEDULE,
      owner: CALLER_OF_ORDER,
      concurrency: MAX_AT_ONCE,
      overdue: OVERDUE,
      run: ({ name, over }: TaskHold) => due.place(name, over),
      isPaused: () => {
        const isStopped = maintenance.stops('orders');
        if (isStopped) due.stopped();
        return isStopped;
      },
    });
  }

  onApplicationBootstrap(): void {
    this.#worker.start();
  }

  onModuleDestroy(): void {
    this.#worker.stop();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#worker.close();
  }
}
