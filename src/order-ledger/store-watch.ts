import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConfigError, OrderStoreConfig, UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { environmentName } from '../redis/key-names.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import { OrderLedgerRedis } from './order-ledger-redis.ts';
import type { KnownStore } from './redis-order-ledger.ts';
import { makeEpoch, storeKeys } from './store-keys.ts';
import { StoreFitness } from './store-fitness.ts';
import { type Remembered, StoreMemory } from './store-memory.ts';

/** While no order comes, a trial write runs this often. */
const TRIAL_MS = 2_000;
/** The beginning of an operator's epoch, `operator:<ms>:<random>`: only a later one may replace a known epoch. */
export const CONFIRMED = 'operator:';

/** KEYS: what is lost. ARGV: seen, count. */
const LOST = new Script(`
if redis.call('HSETNX', KEYS[1], 'seen', ARGV[1]) == 1 then return redis.call('HSET', KEYS[1], 'count', ARGV[2]) end
if tonumber(redis.call('HGET', KEYS[1], 'seen')) < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'seen', ARGV[1]) end
return 0`);

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

/**
 * Decides whether the order store can be trusted. Its epoch is a random value: a store that was emptied has lost it. Its count of begun
 * writes only rises: a store with a lower count was restored to an older state. It must be fit to keep what is written. Where one of
 * these is wrong, nothing is sent, and one line of the log says why.
 */
@Injectable()
export class StoreWatch implements KnownStore {
  readonly environment: string;
  readonly #fitness: StoreFitness;
  #epoch: string | undefined;
  #count = 0;
  #stopped: StopReason = 'away';
  #reported = '';
  #triedAt = -Infinity;
  readonly #unreadable = new Set<string>();

  constructor(
    private readonly config: OrderStoreConfig,
    upstream: UpstreamConfig,
    private readonly redis: OrderLedgerRedis,
    private readonly memory: StoreMemory,
    private readonly log: Log,
  ) {
    this.environment = environmentName(upstream.baseUrl);
    this.#fitness = new StoreFitness(this.environment, config.encryptionKeys, redis, log);
  }

  get epoch(): string | undefined {
    return this.#fitness.isFit ? this.#epoch : undefined;
  }

  get lacksRights(): boolean {
    return this.#fitness.lacksRights;
  }

  get count(): number {
    return this.#count;
  }

  get replicated(): boolean {
    return this.#fitness.replicated;
  }

  get acknowledgements(): number {
    return this.#fitness.acknowledgements;
  }

  get stopped(): StopReason {
    if (!this.redis.configured) return 'none';
    // After it was away it is not trusted before the next check.
    const isAway = this.redis.status !== 'up' || !this.#fitness.isFit;
    return this.#stopped === 'none' && isAway ? 'away' : this.#stopped;
  }

  /** Why orders are refused, for an operator: the message of the log. */
  get reason(): string | undefined {
    return this.stopped === 'none' ? undefined : this.#reported || 'The order store is away';
  }

  /** The number of records that exist and cannot be read. */
  get unreadableRecords(): number {
    return this.#unreadable.size;
  }

  saw(count: number): void {
    if (count <= this.#count) return;
    this.#count = count;
    if (this.#epoch !== undefined) this.memory.remember({ epoch: this.#epoch, count });
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
      `The order store has replicas and too few acknowledge what is written (${this.acknowledgements} have to): orders are refused until they do`,
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

  /**
   * Called when the store replies again: no order is taken before the next check. The store may have gone back meanwhile, and lost writes
   * that only another gateway began.
   */
  reconnected(): void {
    this.#fitness.doubt();
  }

  /**
   * Checks epoch and count, and every two seconds the settings. Rejects while the store is away. At the start it does not, and throws
   * {@link ConfigError} where the store's settings do not allow the start.
   */
  async check(atStart = false): Promise<void> {
    try {
      const remembered = this.#fitness.isFit ? undefined : await this.memory.ofAll();
      if (remembered) this.#learn(remembered);
      const unfit = atStart || this.#fitness.isDue ? await this.#fitness.check(atStart) : undefined;
      if (unfit) this.#stop(unfit.reason, unfit.message);
      if (this.#fitness.isFit && !this.lacksRights) await this.#findEpoch();
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      this.#stop('away', 'The order store is away: orders are refused until it is back');
      if (!atStart) throw error;
    }
  }

  #learn({ epoch, count }: Remembered): void {
    if (this.#epoch === undefined || isLater(epoch, this.#epoch)) [this.#epoch, this.#count] = [epoch, count];
    else if (epoch === this.#epoch) this.#count = Math.max(this.#count, count);
  }

  async #findEpoch(): Promise<void> {
    const keys = storeKeys(this.environment);
    // Read before the request to Redis: writes may begin while it runs.
    const expected = this.#count;
    const read = () => this.redis.run((client) => client.mget(keys.epoch, keys.count));
    let [found = null, count = null] = await read();
    if (found === null && this.#epoch === undefined && this.config.init === 'auto') {
      const made = `auto:${randomBytes(16).toString('base64url')}`;
      await makeEpoch(this.redis, this.environment, made);
      [found = null, count = null] = await read();
    }
    if (found === null) {
      const why =
        this.#epoch === undefined ? 'was never made ready' : 'was emptied while orders were kept in it';
      await this.#reportLost(0);
      this.#stop(
        'epoch',
        `The order store ${why}: orders are refused until \`npm run order-store-init\` is run`,
      );
      return;
    }
    if (found !== this.#epoch) {
      if (this.#epoch !== undefined && !isLater(found, this.#epoch)) {
        await this.#reportLost(Number(count));
        this.#stop(
          'epoch',
          'The order store is not the one it was: orders are refused until an operator confirms it with `npm run order-store-init`',
        );
        return;
      }
      // The count of the former epoch does not apply to this one.
      this.#epoch = found;
      this.#count = Math.max(0, Number(count));
      this.memory.remember({ epoch: found, count: this.#count });
    }
    const isSame = expected <= this.#count;
    if (Number(count) < (isSame ? expected : this.#count)) {
      this.#stop(
        'count',
        `The order store has gone back and lost writes: orders are refused until an operator confirms it with \`npm run order-store-init\`, which says how many are missing`,
      );
      return;
    }
    // Only a write can show that Redis accepts writes again.
    if (!BY_WRITES.has(this.#stopped)) this.#goOn();
  }

  #goOn(): void {
    this.#stopped = 'none';
    this.#reported = '';
  }

  #refuses(reason: StopReason, message: string): void {
    // A more serious reason stays.
    if (this.#stopped === 'none' || BY_WRITES.has(this.#stopped)) this.#stop(reason, message);
  }

  /** Notes for `order-store-init` the count that this gateway knows, and the count that the store has now. */
  async #reportLost(count: number): Promise<void> {
    if (this.#epoch === undefined) return;
    const key = storeKeys(this.environment).lost;
    await this.redis.run((client) => LOST.run(client, [key], [this.#count, Math.max(0, count)]));
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

/** Only an operator may replace the known epoch, and only with a later confirmation. */
function isLater(epoch: string, known: string): boolean {
  if (!epoch.startsWith(CONFIRMED)) return false;
  return !known.startsWith(CONFIRMED) || timeOf(epoch) > timeOf(known);
}

function timeOf(epoch: string): number {
  return Number(epoch.split(':')[1]) || 0;
}
