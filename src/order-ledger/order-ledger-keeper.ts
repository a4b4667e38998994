import { randomBytes } from 'node:crypto';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ConfigError, GuardConfig, UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { environmentName } from '../redis/key-names.ts';
import { OrderLedgerRedis } from './order-ledger-redis.ts';
import { CARRIED_OUT, type LedgerRecord } from './ledger-record.ts';
import { type OrderLedgerStore, isOrder, type Move, type Moved } from './order-ledger-store.ts';
import { MemoryOrderLedger } from './memory-order-ledger.ts';
import { epochKey, RedisOrderLedger } from './redis-order-ledger.ts';
import { storeFaults, unreadableOrders } from './store-settings.ts';

/** A lease that ran out is in doubt within a second, also where nobody asks. */
const SWEEP_MS = 500;
/** How an operator's epoch begins: only such a one may take the place of one that is known. */
export const CONFIRMED = 'operator:';

/**
 * Keeps the guard's store fit to be believed. The store epoch is a random value that says that the store is the one it was: an emptied
 * store has lost it, and then nothing is sent until an operator says so. Twice a second leases that ran out are ended.
 */
@Injectable()
export class OrderLedgerKeeper implements OnModuleInit, OnApplicationShutdown {
  readonly store: OrderLedgerStore;
  readonly #environment: string;
  readonly #listeners: (() => void)[] = [];
  #epoch: string | undefined;
  /** Its settings are such that it can be believed at all. */
  #fit = false;
  #told = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly config: GuardConfig,
    upstream: UpstreamConfig,
    private readonly redis: OrderLedgerRedis,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.#environment = environmentName(upstream.baseUrl);
    this.store = this.#heard(
      redis.configured
        ? new RedisOrderLedger(redis, this.#environment, () => (this.#fit ? this.#epoch : undefined))
        : new MemoryOrderLedger(),
    );
  }

  /** Whether orders can be taken. */
  get status(): 'up' | 'down' {
    if (!this.redis.configured) return 'up';
    return this.#epoch !== undefined && this.#told === '' && this.redis.status === 'up' ? 'up' : 'down';
  }

  /** Called whenever an order is found to have been carried out, or may have been, whoever finds it. */
  onCarriedOut(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async onModuleInit(): Promise<void> {
    if (this.redis.configured) {
      await this.#check(true);
      this.redis.onReady(() => void this.#check(false));
    } else {
      this.log.warn(
        { event: 'guard-in-process' },
        'No Redis: orders are guarded in this process only, and forgotten with it',
      );
    }
    this.#timer = setInterval(() => void this.tick(), SWEEP_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /** What happens twice a second: the store epoch is looked for, leases end, the gauges are set. Never fails. */
  async tick(): Promise<void> {
    try {
      // Always: a store that is emptied under an open connection tells nobody.
      if (this.redis.configured) await (this.#fit ? this.#findEpoch() : this.#check(false));
      const ended = await this.store.sweep();
      for (const name of ended)
        this.log.error({ event: 'order-in-doubt', write: name }, 'Nobody knows what became of a write');
      if (ended.some(isOrder)) this.#carriedOut();
      this.metrics.doubts(await this.store.doubts());
    } catch {
      // The store is away or stopped, which has been told; the next turn tries again.
    }
  }

  /** The store, with every move counted, told and heard of: owner, operator and evidence all come through here. */
  #heard(store: OrderLedgerStore): OrderLedgerStore {
    const move = store.move.bind(store);
    store.move = async (asked: Move): Promise<Moved> => {
      const moved = await move(asked);
      if (moved.kind === 'moved') this.#hear(moved.record);
      return moved;
    };
    return store;
  }

  #hear({ name, state, details }: LedgerRecord): void {
    this.metrics.guarded(state);
    if (state === 'in_doubt' || state === 'incomplete')
      this.log.error(
        { event: 'order-in-doubt', write: name, state },
        'A write waits for somebody to settle it',
      );
    if (CARRIED_OUT.has(state) && details.order) this.#carriedOut();
  }

  #carriedOut(): void {
    for (const listener of this.#listeners) listener();
  }

  /** A store that cannot keep its promise is no reason to start; one that is away may come back. */
  async #check(atStart: boolean): Promise<void> {
    try {
      const { refuse, warn } = await storeFaults(this.redis);
      if (atStart && refuse.length > 0)
        throw new ConfigError(refuse.map((fault) => `GUARD_REDIS_URL ${fault}`));
      for (const fault of this.#fit ? [] : warn)
        this.log.warn({ event: 'guard-weak', fault }, `The guard store ${fault}`);
      this.#fit = refuse.length === 0;
      if (!this.#fit) {
        this.#tell('stopped', `The guard store ${refuse.join(', and ')}: orders are refused until then`);
        return;
      }
      await this.#findEpoch();
      await this.#checkKeys(atStart);
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      this.#tell('away', 'The guard store is away: orders are refused until it is back');
    }
  }

  /** An order that nobody can read any more could be neither answered nor settled. */
  async #checkKeys(atStart: boolean): Promise<void> {
    const kids = this.config.encryptionKeys.map(({ kid }) => kid);
    const count = await unreadableOrders(this.redis, this.#environment, kids);
    if (count === 0) return;
    const fault = `lacks a key under which ${count} orders are sealed that are not settled: add it at the end`;
    if (atStart) throw new ConfigError([`ENCRYPTION_KEYS ${fault}`]);
    this.log.error({ event: 'guard-keys', count }, `ENCRYPTION_KEYS ${fault}`);
  }

  async #findEpoch(): Promise<void> {
    const key = epochKey(this.#environment);
    let found = await this.redis.run((client) => client.get(key));
    if (found === null && this.#epoch === undefined && this.config.init === 'auto') {
      const made = `auto:${randomBytes(16).toString('base64url')}`;
      await this.redis.run((client) => client.set(key, made, 'NX'));
      found = await this.redis.run((client) => client.get(key));
    }
    if (found === null) {
      const why =
        this.#epoch === undefined ? 'was never made ready' : 'was emptied while orders were kept in it';
      this.#tell('stopped', `The guard store ${why}: orders are refused until \`npm run guard-init\` is run`);
    } else if (this.#epoch === undefined || found === this.#epoch || found.startsWith(CONFIRMED)) {
      this.#epoch = found;
      this.#told = '';
    } else {
      this.#tell(
        'stopped',
        'The guard store is not the one it was: orders are refused until an operator confirms',
      );
    }
  }

  #tell(event: string, message: string): void {
    if (this.#told === message) return;
    this.#told = message;
    this.log.error({ event: `guard-${event}` }, message);
  }
}
