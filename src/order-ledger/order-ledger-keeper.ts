import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { CARRIED_OUT, type LedgerRecord } from './ledger-record.ts';
import { MemoryOrderLedger } from './memory-order-ledger.ts';
import { OrderLedgerRedis } from './order-ledger-redis.ts';
import { type OrderLedgerStore, isOrder, type Move, type Moved } from './order-ledger-store.ts';
import { RedisOrderLedger } from './redis-order-ledger.ts';
import { stopReasons, StoreWatch } from './store-watch.ts';

/** A write whose lease ended becomes in doubt within a second, also without a request for it. */
const SWEEP_MS = 500;

/** Keeps the order store: twice a second it is looked at, leases that ran out are ended, and records whose time is over are deleted. */
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
    this.store = this.#heard(
      redis.configured ? new RedisOrderLedger(redis, watch.environment, watch) : new MemoryOrderLedger(),
    );
  }

  /** Whether orders can be taken. */
  get status(): 'up' | 'down' {
    return this.watch.stopped === 'none' ? 'up' : 'down';
  }

  /** Called where an order was carried out, or may have been, and no request that sent it is there any more to say so. */
  onCarriedOut(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async onModuleInit(): Promise<void> {
    if (this.redis.configured) {
      await this.watch.start();
      this.redis.onReady(() => void this.watch.reconnected().catch(() => undefined));
      this.#measure();
    } else {
      this.log.warn(
        { event: 'guard-in-process' },
        'No Redis: orders are recorded in this process only, and forgotten with it',
      );
    }
    this.#timer = setInterval(() => void this.tick(), SWEEP_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /** What happens twice a second. Never fails. */
  async tick(): Promise<void> {
    try {
      // Always: a store that is emptied or put back under an open connection does not say so.
      if (this.redis.configured) await this.watch.look();
      const ended = await this.store.sweep();
      for (const name of ended)
        this.log.error({ event: 'order-in-doubt', write: name }, 'The outcome of a write is unknown');
      if (ended.some(isOrder)) this.carriedOut();
      this.metrics.doubts(await this.store.doubts());
    } catch {
      // The store is away or stopped, which has been said; the next turn tries again.
    } finally {
      if (this.redis.configured) this.#measure();
    }
  }

  #measure(): void {
    const { stopped, unreadableRecords } = this.watch;
    this.metrics.orderStore(stopReasons, stopped, unreadableRecords);
  }

  /** The store, with every move counted, reported: owner, operator and reconciliation all come through here. */
  #heard(store: OrderLedgerStore): OrderLedgerStore {
    const move = store.move.bind(store);
    store.move = async (asked: Move): Promise<Moved> => {
      const moved = await move(asked);
      if (moved.kind === 'moved') this.#hear(moved.record, asked);
      return moved;
    };
    return store;
  }

  #hear({ name, state, details }: LedgerRecord, { by }: Move): void {
    this.metrics.writeCameTo(state);
    if (state === 'in_doubt' || state === 'incomplete')
      this.log.error(
        { event: 'order-in-doubt', write: name, state },
        'A write waits for an operator to settle it',
      );
    // The owner records within its request, which drops cached reads itself.
    if (by !== 'owner' && CARRIED_OUT.has(state) && details.order) this.carriedOut();
  }

  /** An order was carried out, or may have been, outside of its request. */
  carriedOut(): void {
    for (const listener of this.#listeners) listener();
  }
}
