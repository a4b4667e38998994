import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { Maintenance } from '../control/maintenance.ts';
import { Log } from '../observability/log.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { isSought, type LedgerRecord } from '../order-ledger/ledger-record.ts';
import { taskQueue } from '../redis/job-queue.ts';
import { ReconciliationSchedule } from './schedule.ts';
import { OrderReconciler } from './reconcile-order.ts';
import { edge } from '../shared/edge.ts';
import type { QueuedTask, TaskQueue } from '../kit/task-queue/task-queue.ts';

/** One attempt to find the order of the record of this name. */
interface Attempt {
  readonly write: string;
}

const PAGE = 100;
/**
 * The queue remembers an attempt for this time. Every replica reads the list meanwhile, so that none queues the attempt a second time. A
 * replica that starts later may do so: that costs one search.
 */
const REMEMBERED_S = 2 * 3_600;

/**
 * Starts reconciliation attempts at their times for orders that are in doubt, or that the platform places later, for as long as they
 * are. It reads the order ledger's list instead of listening to moves, because the list is complete also when a replica died. The queue
 * makes each attempt once, in one of the replicas.
 */
@Injectable()
export class ReconciliationJob implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The last attempt of each order, by the name of its record. */
  #queued = new Map<string, string>();
  readonly #queue: TaskQueue<Attempt>;
  #scannedAllAt = -Infinity;
  #scanning = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly ledger: ObservedOrderLedger,
    reconciler: OrderReconciler,
    private readonly times: ReconciliationSchedule,
    config: OrderStoreConfig,
    log: Log,
    private readonly maintenance: Maintenance,
  ) {
    const settings = { room: 'reconciliation', name: 'attempts', concurrency: 1, rememberedS: REMEMBERED_S };
    this.#queue = taskQueue<Attempt>(config, log, settings, async ({ write }, { over }) => {
      if (maintenance.stops('all')) return false;
      await reconciler.reconcile(write, over);
      return !over.aborted;
    });
  }

  onApplicationBootstrap(): void {
    this.#timer = setInterval(
      edge('reconciliation', () => this.#tick()),
      this.times.scan,
    ).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.#queue.close();
  }

  /** One scan at a time. A failure means that the store or the queue is away, which the log says already. */
  async #tick(): Promise<void> {
    if (this.#scanning) return;
    // Afterwards each attempt that was due is queued, once: the queue knows those that it has had.
    if (this.maintenance.stops('all')) return this.#queued.clear();
    this.#scanning = true;
    await this.#queueDue().catch(() => undefined);
    this.#scanning = false;
  }

  async #queueDue(): Promise<void> {
    const at = performance.now();
    const isOfAll = at - this.#scannedAllAt >= this.times.scanOfOlder;
    const young = Date.now() - this.times.listed - this.times.scanOfOlder;
    // An order that the scan leaves out keeps its attempt.
    const due = new Map(isOfAll ? [] : this.#queued);
    for (const record of await this.#open(isOfAll ? undefined : young)) {
      const attempt = this.times.due(Date.now() - record.submittedAt);
      // The id has the time of submission: after a settlement the same number may be sent again.
      if (attempt >= 0) due.set(record.name, `${record.name}@${record.submittedAt}@${attempt}`);
    }
    const attempts: QueuedTask<Attempt>[] = [];
    for (const [write, id] of due) if (this.#queued.get(write) !== id) attempts.push({ id, data: { write } });
    await this.#queue.add(attempts);
    this.#queued = due;
    if (isOfAll) this.#scannedAllAt = at;
  }

  /** Orders in doubt, incomplete or accepted, submitted at this time or later, for which the platform can be searched. */
  async #open(from: number | undefined): Promise<LedgerRecord[]> {
    const query = {
      states: ['in_doubt', 'incomplete', 'accepted'],
      ...(from !== undefined && { from }),
    } as const;
    const found: LedgerRecord[] = [];
    for (let offset = 0, total = 1; offset < total; offset += PAGE) {
      const page = await this.ledger.list(query, offset, PAGE);
      found.push(...page.records.filter(isSought));
      total = page.total;
    }
    return found;
  }
}
