import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { inSpan } from '../observability/tracing.ts';
import { CARRIED_OUT, type LedgerRecord } from './ledger-record.ts';
import { MemoryOrderLedger } from './memory-order-ledger.ts';
import { OrderLedgerRedis } from './order-ledger-redis.ts';
import { type OrderLedgerStore, isOrder, type Move, type Moved } from './order-ledger-store.ts';
import { RedisOrderLedger } from './redis-order-ledger.ts';
import { type StopReason, stopReasons, StoreWatch } from './store-watch.ts';
import { edge, inBackground } from '../shared/edge.ts';

/** A write whose lease ended becomes in doubt within a second, also without a request for it. */
const SWEEP_MS = 500;

/** Twice a second checks the order store, ends leases that have run out, and deletes records that are no longer kept. */
@Injectable()
export class OrderLedgerKeeper implements OnModuleInit, OnApplicationShutdown {
  readonly store: OrderLedgerStore;
  readonly #listeners: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly redis: OrderLedgerRedis,
    private readonly watch: StoreWatch,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.store = this.#observed(
      redis.configured ? new RedisOrderLedger(redis, watch.environment, watch) : new MemoryOrderLedger(),
    );
  }

  /** `down`: orders get 503. */
  get status(): 'up' | 'down' {
    return this.watch.stopped === 'none' ? 'up' : 'down';
  }

  /** Why orders are refused, with Redis' own words where there are any, and how many records cannot be read: for an operator. */
  get trouble(): { stopped: StopReason; reason: string | undefined; unreadable: number } {
    const { stopped, reason, unreadableRecords } = this.watch;
    const words = this.redis.reason;
    return {
      stopped,
      reason: reason === undefined || words === undefined ? reason : `${reason} (${words})`,
      unreadable: unreadableRecords,
    };
  }

  /** Calls the listener when an order was, or may have been, carried out after its request ended. */
  onCarriedOut(listener: () => unknown): void {
    this.#listeners.push(edge('order carried out', listener));
  }

  async onModuleInit(): Promise<void> {
    if (this.redis.configured) {
      await this.watch.check(true);
      this.redis.onReady(() => {
        this.watch.reconnected();
        // At once: where the store has lost writes that this gateway has seen, the other gateways learn it from the store.
        inBackground('order store', () => this.tick());
      });
      this.metrics.follow('gateway_order_store_stopped', () =>
        stopReasons.map((reason) => [{ reason }, Number(reason === this.watch.stopped)]),
      );
      this.metrics.follow('gateway_order_records_unreadable', () => [[{}, this.watch.unreadableRecords]]);
    } else {
      this.log.warn(
        { event: 'order-store-in-process' },
        'No Redis: orders are recorded in this process only, and forgotten with it',
      );
    }
    this.#timer = setInterval(
      edge('order store', () => this.tick()),
      SWEEP_MS,
    ).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /** Runs twice a second, and never fails: the store is away or stopped, and the log has said so. The next run tries again. */
  async tick(): Promise<void> {
    await this.#watchStore().catch(() => undefined);
  }

  async #watchStore(): Promise<void> {
    // Each time: Redis does not report that it was emptied or restored under an open connection.
    if (this.redis.configured) await this.watch.check();
    const ended = await this.store.sweep();
    for (const name of ended)
      this.log.error({ event: 'order-in-doubt', write: name }, 'The outcome of a write is unknown');
    if (ended.some(isOrder)) this.carriedOut();
    const { inDoubt, accepted } = await this.store.waiting();
    this.metrics.set('gateway_orders_in_doubt', {}, inDoubt.count);
    this.metrics.set('gateway_orders_in_doubt_oldest_seconds', {}, inDoubt.oldestMs / 1_000);
    this.metrics.set('gateway_orders_accepted', {}, accepted.count);
    this.metrics.set('gateway_orders_accepted_oldest_seconds', {}, accepted.oldestMs / 1_000);
  }

  /** The store, which counts and logs every move: owner, operator and reconciliation all use it. */
  #observed(store: OrderLedgerStore): OrderLedgerStore {
    const begin = store.begin.bind(store);
    store.begin = (write) =>
      inSpan('ledger begin', {}, async (span) => {
        const begun = await begin(write);
        span?.setAttribute('gateway.ledger.result', begun.kind);
        return begun;
      });
    const move = store.move.bind(store);
    store.move = async (asked: Move): Promise<Moved> => {
      const attributes = { 'gateway.ledger.to': asked.to };
      const moved = await inSpan('ledger move', { attributes }, async (span) => {
        const done = await move(asked);
        span?.setAttribute('gateway.ledger.result', done.kind);
        return done;
      });
      if (moved.kind === 'moved') this.#observe(moved.record, asked);
      return moved;
    };
    return store;
  }

  #observe({ name, state, details }: LedgerRecord, { by }: Move): void {
    this.metrics.count('gateway_recorded_writes_total', { state });
    if (state === 'in_doubt' || state === 'incomplete')
      this.log.error(
        { event: 'order-in-doubt', write: name, state },
        'A write waits for an operator to settle it',
      );
    // The owner's own request drops the cached reads.
    if (by !== 'owner' && CARRIED_OUT.has(state) && details.order) this.carriedOut();
  }

  /** An order was carried out, or may have been, outside of its request. */
  carriedOut(): void {
    for (const listener of this.#listeners) listener();
  }
}
