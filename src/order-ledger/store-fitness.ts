import { ConfigError } from '../config/app-config.ts';
import type { EncryptionKey } from '../kit/sealed-store/sealer.ts';
import type { Log } from '../observability/log.ts';
import { refusalOf } from '../redis/redis-error.ts';
import { orderStoreRights, refusalsOf } from '../redis/rights.ts';
import type { OrderLedgerRedis } from './order-ledger-redis.ts';
import { exchangedKeys, readStoreState, type StoreState, unreadableOrders } from './store-settings.ts';

/** Settings change rarely, and reading them transfers some kB. */
const SETTINGS_MS = 2_000;
/**
 * For this time after the gateway has connected again it reads them at each check, twice a second: after a failover, replicas follow the
 * next master one by one, and until the gateway knows of one it does not ask for its acknowledgement.
 */
const SETTLING_MS = 15_000;
/**
 * A replica that has just disconnected may have been promoted, for example by sentinels when an operator asks for a failover. Until all
 * replicas follow it, the old master and its other replicas acknowledge writes that will be lost. So for this time the gateway still
 * asks for its acknowledgement.
 */
const GONE_REPLICA_MS = 15_000;

/** Why no order may be sent, and what an operator has to do. */
interface Unfit {
  readonly reason: 'rights' | 'settings' | 'keys';
  readonly message: string;
}

/**
 * Whether the server is fit for orders: its settings keep what is written, the user of Redis has the rights, the gateway has the keys of its
 * records, and how many replicas have to acknowledge a write. Whether it still has what was written is for the store watch.
 */
export class StoreFitness {
  /** Settings and keys are right. */
  isFit = false;
  /** A write begins only with the acknowledgement of a replica. */
  replicated = false;
  /** How many replicas have to acknowledge a write. */
  acknowledgements = 1;
  /** When enough replicas were connected for the last time, and the history of the server then. */
  #enough = { at: -Infinity, history: '' };
  #warned: readonly string[] = [];
  #replicas: number | undefined;
  #settingsAt = -Infinity;
  #doubtedAt = -Infinity;
  /** The rights that an order needs and that the user of Redis lacks. Records can be read all the same. */
  #missingRights: readonly string[] = [];

  constructor(
    private readonly environment: string,
    private readonly keys: readonly EncryptionKey[],
    private readonly redis: OrderLedgerRedis,
    private readonly log: Log,
  ) {}

  get lacksRights(): boolean {
    return this.#missingRights.length > 0;
  }

  get isDue(): boolean {
    const now = performance.now();
    const isSettling = now - this.#doubtedAt < SETTLING_MS;
    return !this.isFit || isSettling || now - this.#settingsAt >= SETTINGS_MS;
  }

  /** The server may be another one now. */
  doubt(): void {
    this.isFit = false;
    this.#doubtedAt = performance.now();
  }

  /** What prevents orders; undefined where nothing does. Throws {@link ConfigError} where it does not allow the start. Rejects while the store is away. */
  async check(atStart: boolean): Promise<Unfit | undefined> {
    const found = await this.#stateOf();
    if (atStart && found && found.refuse.length > 0)
      throw new ConfigError(found.refuse.map((fault) => `ORDER_REDIS_URL ${fault}`));
    this.#missingRights = found && found.refuse.length > 0 ? [] : await this.#rightsThatAreMissing();
    this.#settingsAt = performance.now();
    if (!found || this.lacksRights)
      return {
        reason: 'rights',
        message: `The order store denies ${this.#missingRights.join(' and ')} to the user of ORDER_REDIS_URL: orders are refused until it has these rights`,
      };
    this.#sayWeaknesses(found);
    this.replicated = found.replicated;
    this.#countReplicas(found);
    const isAlone = found.replicated && found.replicas === 0;
    const faults = [...found.refuse, ...(found.weakened === undefined ? [] : [found.weakened])];
    if (isAlone)
      faults.push(
        'had replicas and has none, so it may be one that was left behind by a failover: connect one, or say with `npm run order-store-init` that there are none any more',
      );
    if (faults.length > 0) {
      this.isFit = false;
      return {
        reason: 'settings',
        message: `The order store ${faults.join(', and ')}: orders are refused until then`,
      };
    }
    const unfit = this.isFit ? undefined : await this.#checkKeys(atStart);
    this.isFit = unfit === undefined;
    return unfit;
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

  #countReplicas({ replicas, mostReplicas, history, formerHistory }: StoreState): void {
    const at = performance.now();
    const isPromoted = formerHistory === this.#enough.history;
    // It has started again, or this gateway has: a replica that is missing may be on its way to follow it, or to be promoted.
    if (history !== this.#enough.history && !isPromoted) {
      this.acknowledgements = Math.max(this.acknowledgements, mostReplicas);
      this.#enough = { at, history };
    }
    const isSame = history === this.#enough.history;
    if (isSame && replicas < this.acknowledgements && at - this.#enough.at < GONE_REPLICA_MS) return;
    this.acknowledgements = Math.max(1, replicas);
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
  async #checkKeys(atStart: boolean): Promise<Unfit | undefined> {
    const exchanged = await exchangedKeys(this.redis, this.environment, this.keys);
    if (exchanged.length > 0) {
      const fault = `has another key under the id ${exchanged.join(' and ')} than the order store knows: put the old key back, and give the new one another id`;
      if (atStart) throw new ConfigError([`ENCRYPTION_KEYS ${fault}`]);
      return { reason: 'keys', message: `ENCRYPTION_KEYS ${fault}` };
    }
    const kids = this.keys.map(({ kid }) => kid);
    const count = await unreadableOrders(this.redis, this.environment, kids);
    if (count === 0) return undefined;
    const fault = `lacks a key under which ${count} orders are sealed that are not settled: add it at the end`;
    if (atStart) throw new ConfigError([`ENCRYPTION_KEYS ${fault}`]);
    this.log.error({ event: 'order-store-keys', count }, `ENCRYPTION_KEYS ${fault}`);
    return undefined;
  }
}
