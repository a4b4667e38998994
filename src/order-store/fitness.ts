import { createHmac } from 'node:crypto';
import { ConfigError } from '../config/config-error.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import type { EncryptionKey } from '../kit/sealed-store/sealed-store.ts';
import type { Log } from '../observability/log.ts';
import { unsettled } from '../order-ledger/ledger-record.ts';
import type { StoreServer } from '../order-ledger/order-ledger-store.ts';
import { refusalOf } from '../redis/redis-error.ts';
import { orderStoreRights, refusalsOf } from '../redis/rights.ts';
import type { OrderStoreRedis } from './order-store-redis.ts';
import { readStoreState, type StoreState } from './settings.ts';

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

const UNREADABLE =
  'The order store denies the gateway the right to read its settings: orders are refused until it has this right';

/** KEYS: sets of records. ARGV: ids of keys. Returns the number of records that are sealed under another key. */
const SEALED_UNDER_OTHERS = new Script(`
local known, others = {}, 0
for _, kid in ipairs(ARGV) do known[kid] = true end
for _, set in ipairs(KEYS) do
  for _, record in ipairs(redis.call('ZRANGE', set, 0, -1)) do
    local details = redis.pcall('HGET', record, 'details')
    local kid = type(details) == 'string' and string.match(details, '^[^.]*%.([^.]*)%.')
    if kid and not known[kid] then others = others + 1 end
  end
end
return others`);

/** KEYS: the check values. ARGV: id and check value of each key. Keeps those of new ids. Returns the ids under which the store has another. */
const CHECK_KEYS = new Script(`
local others = {}
for i = 1, #ARGV, 2 do
  redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1])
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then table.insert(others, ARGV[i]) end
end
return others`);

/** Why no order may be sent, and what an operator has to do. */
interface Unfit {
  readonly reason: 'rights' | 'settings' | 'keys';
  readonly message: string;
}

/** Whether the server is fit for orders (settings, rights, keys), and how many replicas have to acknowledge a write. */
export class StoreFitness implements StoreServer {
  /** Settings and keys are right. */
  isFit = false;
  lacksRights = false;
  replicated = false;
  acknowledgements = 1;
  /** When enough replicas were connected for the last time, and the history of the server then. */
  #enough = { at: -Infinity, history: '' };
  #warned: readonly string[] = [];
  #replicas: number | undefined;
  #settingsAt = -Infinity;
  #doubtedAt = -Infinity;

  constructor(
    private readonly keys: readonly EncryptionKey[],
    private readonly redis: OrderStoreRedis,
    private readonly log: Log,
  ) {}

  get isDue(): boolean {
    const now = performance.now();
    const isSettling = now - this.#doubtedAt < SETTLING_MS;
    return !this.isFit || isSettling || now - this.#settingsAt >= SETTINGS_MS;
  }

  /**
   * Called when the store replies again: no order is taken before the next check. It may be another server now, or have gone back and lost
   * writes that only another gateway began.
   */
  doubt(): void {
    this.isFit = false;
    this.#doubtedAt = performance.now();
  }

  /** What prevents orders; undefined where nothing does. Throws {@link ConfigError} where it does not allow the start. Rejects while the store is away. */
  async check(atStart: boolean): Promise<Unfit | undefined> {
    const found = await this.#readState();
    const faults = [...(found?.refuse ?? [])];
    if (atStart && faults.length > 0)
      throw new ConfigError(faults.map((fault) => `ORDER_REDIS_URL ${fault}`));
    const denied = faults.length > 0 ? undefined : await this.#deniedCommands();
    this.lacksRights = denied !== undefined;
    this.#settingsAt = performance.now();
    if (denied !== undefined) return { reason: 'rights', message: denied };
    if (!found) return { reason: 'rights', message: UNREADABLE };
    this.#logWeaknesses(found);
    this.replicated = found.replicated;
    this.#countReplicas(found);
    if (found.weakened !== undefined) faults.push(found.weakened);
    if (found.isAlone)
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

  /** Undefined where the user of Redis has no right to read it. */
  async #readState(): Promise<StoreState | undefined> {
    try {
      return await readStoreState(this.redis);
    } catch (error) {
      if (refusalOf(error) !== 'NOPERM') throw error;
      return undefined;
    }
  }

  /** In words, where there are any. Not asked of a replica: it refuses every write, and the client then connects again. */
  async #deniedCommands(): Promise<string | undefined> {
    const rights = orderStoreRights(this.redis.environment);
    const { missing, unknown } = await this.redis.run((client) => refusalsOf(client, rights));
    if (unknown.length > 0)
      return `The order store does not know the commands ${unknown.join(' and ')}: it is no Redis 7, or its configuration renames them. Orders are refused until it knows them`;
    if (missing.length > 0)
      return `The order store denies ${missing.join(' and ')} to the user of ORDER_REDIS_URL: orders are refused until it has these rights`;
    return undefined;
  }

  #countReplicas({ replicas, maxReplicas, history, formerHistory }: StoreState): void {
    const at = performance.now();
    const isPromoted = formerHistory === this.#enough.history;
    // It has started again, or this gateway has: a replica that is missing may be on its way to follow it, or to be promoted.
    if (history !== this.#enough.history && !isPromoted) {
      this.acknowledgements = Math.max(this.acknowledgements, maxReplicas);
      this.#enough = { at, history };
    }
    const isSame = history === this.#enough.history;
    if (isSame && replicas < this.acknowledgements && at - this.#enough.at < GONE_REPLICA_MS) return;
    this.acknowledgements = Math.max(1, replicas);
    this.#enough = { at, history };
  }

  #logWeaknesses({ warn, replicas, replicated }: StoreState): void {
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

  /** An order that the gateway cannot decrypt could be neither shown nor settled (faults O2 and O10). */
  async #checkKeys(atStart: boolean): Promise<Unfit | undefined> {
    const { keys } = this.redis;
    const checks = this.keys.flatMap(({ kid, key }) => [kid, checkValue(key)]);
    const exchanged = await this.redis.run((client) =>
      CHECK_KEYS.run<string[]>(client, [keys.checks], checks),
    );
    if (exchanged.length > 0) {
      const fault = `has another key under the id ${exchanged.join(' and ')} than the order store knows: put the old key back, and give the new one another id`;
      if (atStart) throw new ConfigError([`ENCRYPTION_KEYS ${fault}`]);
      return { reason: 'keys', message: `ENCRYPTION_KEYS ${fault}` };
    }
    const sets = unsettled.map(keys.ordersIn);
    const kids = this.keys.map(({ kid }) => kid);
    const count = await this.redis.run((client) => SEALED_UNDER_OTHERS.run<number>(client, sets, kids));
    if (count === 0) return undefined;
    const fault = `lacks a key under which ${count} orders are sealed that are not settled: add it at the end`;
    if (atStart) throw new ConfigError([`ENCRYPTION_KEYS ${fault}`]);
    this.log.error({ event: 'order-store-keys', count }, `ENCRYPTION_KEYS ${fault}`);
    return undefined;
  }
}

/** Differs for different keys and reveals nothing of them. */
function checkValue(key: EncryptionKey['key']): string {
  return createHmac('sha256', key)
    .update('gateway order ledger: check value')
    .digest('base64url')
    .slice(0, 22);
}
