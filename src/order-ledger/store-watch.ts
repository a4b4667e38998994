import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConfigError, OrderStoreConfig, UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { environmentName } from '../redis/key-names.ts';
import { refusalOf } from '../redis/redis-error.ts';
import { orderStoreRights, refusalsOf } from '../redis/rights.ts';
import { Script } from '../redis/script.ts';
import { OrderLedgerRedis } from './order-ledger-redis.ts';
import type { KnownStore } from './redis-order-ledger.ts';
import { storeKeys } from './store-keys.ts';
import { makeEpoch } from './store-epoch.ts';
import { type Remembered, StoreMemory } from './store-memory.ts';
import { exchangedKeys, readStoreState, type StoreState, unreadableOrders } from './store-settings.ts';

/** Settings change rarely, and reading them transfers some kB. */
const SETTINGS_MS = 2_000;
/** While no order comes, a trial write runs this often. */
const TRIAL_MS = 2_000;
/**
 * A replica that has just disconnected may have been promoted, for example by sentinels when an operator asks for a failover. Until all
 * replicas follow it, the old master and its other replicas acknowledge writes that will be lost. So for this time the gateway still
 * asks for its acknowledgement.
 */
const GONE_REPLICA_MS = 15_000;
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
  NOPERM: 'does not allow the user of GUARD_REDIS_URL to write: see its ACL',
};

/**
 * Decides whether the order store can be trusted. Its epoch is a random value: a store that was emptied has lost it. Its count of begun
 * writes only rises: a store with a lower count was restored to an older state. Its settings must keep what is written. Where one of
 * these is wrong, nothing is sent, and one line of the log says why.
 */
@Injectable()
export class StoreWatch implements KnownStore {
  readonly environment: string;
  #epoch: string | undefined;
  #count = 0;
  #replicated = false;
  #acknowledgements = 1;
  /** When enough replicas were connected for the last time, and the history of the server then. */
  #enough = { at: -Infinity, history: '' };
  #stopped: StopReason = 'away';
  #reported = '';
  #warned: readonly string[] = [];
  #replicas: number | undefined;
  #settingsAt = -Infinity;
  #triedAt = -Infinity;
  /** The rights that an order needs and that the user of Redis lacks. Records can be read all the same. */
  #missingRights: readonly string[] = [];
  /** Settings and keys are right. */
  #isFit = false;
  readonly #unreadable = new Set<string>();

  constructor(
    private readonly config: OrderStoreConfig,
    upstream: UpstreamConfig,
    private readonly redis: OrderLedgerRedis,
    private readonly memory: StoreMemory,
    private readonly log: Log,
  ) {
    this.environment = environmentName(upstream.baseUrl);
  }

  get epoch(): string | undefined {
    return this.#isFit ? this.#epoch : undefined;
  }

  get lacksRights(): boolean {
    return this.#missingRights.length > 0;
  }

  get count(): number {
    return this.#count;
  }

  get replicated(): boolean {
    return this.#replicated;
  }

  get acknowledgements(): number {
    return this.#acknowledgements;
  }

  get stopped(): StopReason {
    if (!this.redis.configured) return 'none';
    return this.#stopped === 'none' && this.redis.status !== 'up' ? 'away' : this.#stopped;
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
      `The order store has replicas and too few acknowledge what is written (${this.#acknowledgements} have to): orders are refused until they do`,
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

  /** Throws {@link ConfigError} where the store's settings, or the file that remembers it, do not allow the start. */
  async start(): Promise<void> {
    for (const remembered of await this.memory.load()) this.#learn(remembered);
    await this.check(true);
  }

  /**
   * Called when the store replies again, before any order. It may have gone back meanwhile, and lost writes that only another gateway
   * began: their count is read before an order is taken.
   */
  async reconnected(): Promise<void> {
    this.#isFit = false;
    await this.check();
  }

  /** Checks epoch and count, and every {@link SETTINGS_MS} the settings. Rejects while the store is away. */
  async check(atStart = false): Promise<void> {
    try {
      const remembered = atStart || this.#isFit ? undefined : await this.memory.ofAll();
      if (remembered) this.#learn(remembered);
      if (atStart || !this.#isFit || performance.now() - this.#settingsAt >= SETTINGS_MS)
        await this.#checkSettings(atStart);
      if (this.#isFit && !this.lacksRights) await this.#findEpoch();
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

  async #checkSettings(atStart: boolean): Promise<void> {
    const found = await this.#stateOf();
    if (atStart && found && found.refuse.length > 0)
      throw new ConfigError(found.refuse.map((fault) => `GUARD_REDIS_URL ${fault}`));
    this.#missingRights = found && found.refuse.length > 0 ? [] : await this.#rightsThatAreMissing();
    this.#settingsAt = performance.now();
    if (!found || this.lacksRights) {
      this.#stop(
        'rights',
        `The order store denies ${this.#missingRights.join(' and ')} to the user of GUARD_REDIS_URL: orders are refused until it has these rights`,
      );
      return;
    }
    this.#sayWeaknesses(found);
    this.#replicated = found.replicated;
    this.#countReplicas(found);
    const isAlone = found.replicated && found.replicas === 0;
    const faults = isAlone
      ? [
          ...found.refuse,
          'had replicas and has none, so it may be one that was left behind by a failover: connect one, or say with `npm run guard-init` that there are none any more',
        ]
      : found.refuse;
    if (faults.length > 0) {
      this.#isFit = false;
      this.#stop('settings', `The order store ${faults.join(', and ')}: orders are refused until then`);
      return;
    }
    if (!this.#isFit) this.#isFit = await this.#checkKeys(atStart);
  }

  /** undefined: the user of Redis has no right to read it. */
  async #stateOf(): Promise<StoreState | undefined> {
    try {
      return await readStoreState(this.redis, this.environment);
    } catch (error) {
      if (refusalOf(error) !== 'NOPERM') throw error;
      return undefined;
    }
  }

  /** Not asked of a replica: it refuses every write, and the client then connects again. */
  async #rightsThatAreMissing(): Promise<readonly string[]> {
    const rights = orderStoreRights(this.environment);
    return (await this.redis.run((client) => refusalsOf(client, rights))).missing;
  }

  #countReplicas({ replicas, history }: StoreState): void {
    const at = performance.now();
    const isSame = history === this.#enough.history;
    if (isSame && replicas < this.#acknowledgements && at - this.#enough.at < GONE_REPLICA_MS) return;
    this.#acknowledgements = Math.max(1, replicas);
    this.#enough = { at, history };
  }

  #sayWeaknesses({ warn, replicas, replicated }: StoreState): void {
    for (const fault of warn.filter((each) => !this.#warned.includes(each)))
      this.log.warn({ event: 'order-store-weak', fault }, `The order store ${fault}`);
    this.#warned = warn;
    if (replicas === this.#replicas) return;
    this.#replicas = replicas;
    const what = replicated
      ? 'an order is sent once a replica has its record, and refused where none answers within 150 ms'
      : 'an order is sent once this one server has its record, and what the server loses is lost';
    this.log.info(
      { event: 'order-store-replicas', replicas },
      `The order store has ${replicas} replicas: ${what}`,
    );
  }

  /** An order that the gateway cannot decrypt could be neither answered nor settled. */
  async #checkKeys(atStart: boolean): Promise<boolean> {
    const keys = this.config.encryptionKeys;
    const exchanged = await exchangedKeys(this.redis, this.environment, keys);
    if (exchanged.length > 0) {
      const fault = `has another key under the id ${exchanged.join(' and ')} than the order store knows: put the old key back, and give the new one another id`;
      if (atStart) throw new ConfigError([`ENCRYPTION_KEYS ${fault}`]);
      this.#stop('keys', `ENCRYPTION_KEYS ${fault}`);
      return false;
    }
    const kids = keys.map(({ kid }) => kid);
    const count = await unreadableOrders(this.redis, this.environment, kids);
    if (count === 0) return true;
    const fault = `lacks a key under which ${count} orders are sealed that are not settled: add it at the end`;
    if (atStart) throw new ConfigError([`ENCRYPTION_KEYS ${fault}`]);
    this.log.error({ event: 'order-store-keys', count }, `ENCRYPTION_KEYS ${fault}`);
    return true;
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
      this.#stop('epoch', `The order store ${why}: orders are refused until \`npm run guard-init\` is run`);
      return;
    }
    if (found !== this.#epoch) {
      if (this.#epoch !== undefined && !isLater(found, this.#epoch)) {
        await this.#reportLost(Number(count));
        this.#stop(
          'epoch',
          'The order store is not the one it was: orders are refused until an operator confirms it with `npm run guard-init`',
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
        `The order store has gone back and lost writes: orders are refused until an operator confirms it with \`npm run guard-init\`, which says how many are missing`,
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

  /** Notes for `guard-init` the count that this gateway knows, and the count that the store has now. */
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
