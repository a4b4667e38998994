import { Injectable } from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { Log } from '../observability/log.ts';
import type { KnownStore } from '../order-ledger/order-ledger-store.ts';
import { StoreEpoch } from './epoch.ts';
import { StoreFitness } from './fitness.ts';
import { OrderStoreRedis } from './order-store-redis.ts';

/** While no order comes, a trial write runs this often. */
const TRIAL_MS = 2_000;

/** Why the store cannot be trusted; `none`: it can. */
export const stopReasons = [
  'none',
  'away',
  'epoch',
  'count',
  'settings',
  'keys',
  'rights',
  'replicas',
  'writes',
] as const;
export type StopReason = (typeof stopReasons)[number];
/** Only a write finds these, and only a write shows that they are over. */
const BY_WRITES: ReadonlySet<StopReason> = new Set(['replicas', 'writes']);
/** What an operator has to do about an error code of Redis. */
const REFUSALS: Readonly<Record<string, string>> = {
  OOM: 'is full: give it more memory',
  MISCONF: 'cannot write to its disk: see its log',
  NOREPLICAS: 'has fewer replicas than min-replicas-to-write asks for: connect them',
  READONLY: 'is a replica, which takes no writes: name the master',
  NOPERM: 'does not allow the user of ORDER_REDIS_URL to write: see its ACL',
};

/** Whether the store is fit, still has what was written, and takes writes. If not, nothing is sent, and one line of the log says why. */
@Injectable()
export class StoreWatch implements KnownStore {
  readonly server: StoreFitness;
  #stopped: StopReason = 'away';
  #reported = '';
  #triedAt = -Infinity;
  readonly #unreadable = new Set<string>();

  constructor(
    config: OrderStoreConfig,
    private readonly redis: OrderStoreRedis,
    private readonly known: StoreEpoch,
    private readonly log: Log,
  ) {
    this.server = new StoreFitness(config.encryptionKeys, redis, log);
  }

  get epoch(): string | undefined {
    return this.server.isFit ? this.known.epoch : undefined;
  }

  get count(): number {
    return this.known.count;
  }

  get stopped(): StopReason {
    if (!this.redis.configured) return 'none';
    // After it was away it is not trusted before the next check.
    const isAway = this.redis.status !== 'up' || !this.server.isFit;
    return this.#stopped === 'none' && isAway ? 'away' : this.#stopped;
  }

  /** `down`: orders get 503. */
  get status(): 'up' | 'down' {
    return this.stopped === 'none' ? 'up' : 'down';
  }

  /** Why orders are refused, with Redis' own words where there are any, and how many records cannot be read: for an operator. */
  get trouble(): { stopped: StopReason; reason: string | undefined; unreadable: number } {
    const { stopped } = this;
    const words = this.redis.reason;
    const message = this.#reported || 'The order store is away';
    const reason = words === undefined ? message : `${message} (${words})`;
    return { stopped, reason: stopped === 'none' ? undefined : reason, unreadable: this.#unreadable.size };
  }

  saw(count: number): void {
    this.known.saw(count);
  }

  get trial(): boolean {
    return BY_WRITES.has(this.#stopped) || performance.now() - this.#triedAt >= TRIAL_MS;
  }

  wrote(): void {
    this.#triedAt = performance.now();
    if (BY_WRITES.has(this.#stopped)) this.#goOn();
  }

  unacknowledged(): void {
    this.#refuses(
      'replicas',
      `The order store has replicas and too few acknowledge what is written (${this.server.acknowledgements} have to): orders are refused until they do`,
    );
  }

  refused(code: string): void {
    const why = REFUSALS[code] ?? 'refuses writes';
    this.#refuses('writes', `The order store ${why} (${code}): orders are refused until then`);
  }

  unreadable(name: string, reason: 'sealed' | 'broken'): void {
    if (this.#unreadable.has(name)) return;
    this.#unreadable.add(name);
    const why =
      reason === 'sealed'
        ? 'is sealed under a key that ENCRYPTION_KEYS does not have: add it at the end'
        : 'is damaged, or of another version';
    this.log.error({ event: 'order-unreadable', write: name, reason }, `The record of a write ${why}`);
  }

  /** Rejects while the store is away. At the start it does not, and throws {@link ConfigError} where the settings do not allow the start. */
  async check(atStart = false): Promise<void> {
    try {
      if (!this.server.isFit) await this.known.recall();
      const unfit = atStart || this.server.isDue ? await this.server.check(atStart) : undefined;
      if (unfit) this.#stop(unfit.reason, unfit.message);
      if (!this.server.isFit || this.server.lacksRights) return;
      const lost = await this.known.compare();
      if (lost) this.#stop(lost.reason, lost.message);
      // Only a write can show that Redis accepts writes again.
      else if (!BY_WRITES.has(this.#stopped)) this.#goOn();
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      this.#stop('away', 'The order store is away: orders are refused until it is back');
      if (!atStart) throw error;
    }
  }

  #goOn(): void {
    this.#stopped = 'none';
    this.#reported = '';
  }

  #refuses(reason: StopReason, message: string): void {
    // A more serious reason stays.
    if (this.#stopped === 'none' || BY_WRITES.has(this.#stopped)) this.#stop(reason, message);
  }

  #stop(reason: StopReason, message: string): void {
    this.#stopped = reason;
    this.#triedAt = -Infinity;
    if (this.#reported === message) return;
    this.#reported = message;
    this.log.error(
      { event: reason === 'away' ? 'order-store-away' : 'order-store-stopped', reason },
      message,
    );
  }
}
