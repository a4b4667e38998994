import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { OrderStoreRedis } from '../order-store/order-store-redis.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import { Script } from '../kit/redis-script/redis-script.ts';

const KEPT_MS = 30 * 24 * 3_600_000;
/** The limit for one caller, about 8 MB in Redis; the oldest numbers are forgotten first. */
const MAX_KEPT = 100_000;

/** Says that several orders used a number, so that none of them alone may free it. */
const SEVERAL = '*';

/** A number that an order puts on an asset, and the enterprise that gets it. */
export interface NumberUse {
  readonly assetNum: string;
  readonly enterprise: string;
}

/** KEYS: numbers. ARGV: life in ms, order, then the enterprise of each number. Binds all or none. */
const BIND = new Script(`
local bound = {}
for i, key in ipairs(KEYS) do
  local known = bound[key] or redis.call('HMGET', key, 'enterprise', 'order')
  if known[1] and known[1] ~= ARGV[i + 2] then return 0 end
  local isShared = known[1] and known[2] ~= ARGV[2]
  bound[key] = {ARGV[i + 2], isShared and '${SEVERAL}' or ARGV[2]}
end
for key, known in pairs(bound) do
  redis.call('HSET', key, 'enterprise', known[1], 'order', known[2])
  redis.call('PEXPIRE', key, ARGV[1])
end
return 1`);

/** KEYS: numbers. ARGV: order. */
const RELEASE = new Script(`
for _, key in ipairs(KEYS) do
  if redis.call('HGET', key, 'order') == ARGV[1] then redis.call('DEL', key) end
end
return 1`);

/** KEYS: numbers. The enterprise of each, or an empty text. */
const BOUND_TO = new Script(`
local found = {}
for i, key in ipairs(KEYS) do found[i] = redis.call('HGET', key, 'enterprise') or '' end
return found`);

/**
 * Asset numbers that a caller reserved and may use in a purchase before an enterprise has them. They are in the Redis of the order
 * ledger, because an operator may empty the shared one, and then no caller could use the numbers that the platform has used up.
 * Without that Redis they stay in the process, as orders do. The first order with a number binds it to its enterprise: from then on
 * the number is an asset of that enterprise, and its caller may lose the grant of it.
 */
@Injectable()
export class Reservations {
  readonly #local = new Map<string, Map<string, number>>();
  /** The enterprise and the order of each number by its key, where there is no Redis. */
  readonly #bound = new Map<string, { readonly enterprise: string; readonly order: string }>();
  readonly #prefix: string;

  constructor(
    config: UpstreamConfig,
    private readonly redis: OrderStoreRedis,
    private readonly log: Log,
  ) {
    this.#prefix = `${environmentName(config.baseUrl)}:reserved:`;
  }

  /** Never fails: the platform has used up the numbers, so the caller must get them. */
  async add(caller: string, assetNums: readonly string[]): Promise<void> {
    if (assetNums.length === 0) return;
    const now = Date.now();
    const endsAt = now + KEPT_MS;
    if (this.redis.configured) {
      try {
        const key = this.#keyOf(caller);
        await this.redis.run((client) =>
          client.zadd(key, ...assetNums.flatMap((assetNum) => [endsAt, assetNum])),
        );
        await this.redis.run((client) => client.zremrangebyscore(key, '-inf', now));
        await this.redis.run((client) => client.zremrangebyrank(key, 0, -MAX_KEPT - 1));
        await this.redis.run((client) => client.pexpire(key, KEPT_MS));
        return;
      } catch (error) {
        this.log.warn(
          { event: 'reservation-not-shared', reason: (error as Error).name, numbers: assetNums.length },
          'Redis did not store reserved asset numbers: only this process knows their caller',
        );
      }
    }
    const own = this.#local.get(caller) ?? new Map<string, number>();
    for (const assetNum of assetNums) own.set(assetNum, endsAt);
    for (const oldest of own.keys()) {
      if (own.size <= MAX_KEPT) break;
      own.delete(oldest);
    }
    this.#local.set(caller, own);
  }

  /** The numbers that this caller reserved and that no order has used for another enterprise. */
  async findOwn(
    caller: string,
    enterprise: string,
    assetNums: ReadonlySet<string>,
  ): Promise<ReadonlySet<string>> {
    const now = Date.now();
    const local = this.#local.get(caller);
    const reserved = new Set([...assetNums].filter((assetNum) => (local?.get(assetNum) ?? 0) > now));
    const unknown = [...assetNums.difference(reserved)];
    try {
      if (unknown.length > 0 && this.redis.configured) {
        const ends = await this.redis.run((client) => client.zmscore(this.#keyOf(caller), ...unknown));
        for (const [index, assetNum] of unknown.entries())
          if (Number(ends[index] ?? 0) > now) reserved.add(assetNum);
      }
      const numbers = [...reserved];
      const boundTo = await this.#boundTo(numbers.map((assetNum) => this.#numberKey(caller, assetNum)));
      return new Set(numbers.filter((_, index) => ['', enterprise].includes(boundTo[index] ?? '')));
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Called before an order is sent. Returns false, and binds nothing, where a number was used for another enterprise before. */
  async bind(caller: string, order: string, uses: readonly NumberUse[]): Promise<boolean> {
    const keys = uses.map(({ assetNum }) => this.#numberKey(caller, assetNum));
    const enterprises = uses.map(({ enterprise }) => enterprise);
    if (!this.redis.configured) return this.#bindLocal(keys, enterprises, order);
    try {
      const values = [KEPT_MS, order, ...enterprises];
      return (await this.redis.run((client) => BIND.run<number>(client, keys, values))) === 1;
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Called where the platform did not carry out the order: its numbers are free for any enterprise again. Never fails. */
  async release(caller: string, order: string, uses: readonly NumberUse[]): Promise<void> {
    const keys = uses.map(({ assetNum }) => this.#numberKey(caller, assetNum));
    if (!this.redis.configured) {
      for (const key of keys) if (this.#bound.get(key)?.order === order) this.#bound.delete(key);
      return;
    }
    try {
      await this.redis.run((client) => RELEASE.run(client, keys, [order]));
    } catch (error) {
      this.log.warn(
        { event: 'reservation-not-released', reason: (error as Error).name, numbers: keys.length },
        'Reserved asset numbers of an order that was not carried out stay bound to its enterprise',
      );
    }
  }

  #boundTo(keys: readonly string[]): Promise<readonly string[]> {
    if (keys.length === 0) return Promise.resolve([]);
    if (!this.redis.configured)
      return Promise.resolve(keys.map((key) => this.#bound.get(key)?.enterprise ?? ''));
    return this.redis.run((client) => BOUND_TO.run<string[]>(client, keys, []));
  }

  #bindLocal(keys: readonly string[], enterprises: readonly string[], order: string): boolean {
    const bound = new Map<string, { enterprise: string; order: string }>();
    for (const [index, key] of keys.entries()) {
      const enterprise = enterprises[index] as string;
      const known = bound.get(key) ?? this.#bound.get(key);
      if (known && known.enterprise !== enterprise) return false;
      bound.set(key, { enterprise, order: known && known.order !== order ? SEVERAL : order });
    }
    for (const [key, known] of bound) this.#bound.set(key, known);
    return true;
  }

  /** The caller stands in braces, so that a cluster has all numbers of an order in one slot. */
  #numberKey(caller: string, assetNum: string): string {
    return `${this.#prefix}{${sha256(caller)}}:${assetNum}`;
  }

  #keyOf(caller: string): string {
    return this.#prefix + sha256(caller);
  }
}

function unavailable(error: unknown): ProblemException {
  const detail =
    'The store in which the gateway keeps reserved asset numbers does not respond. Nothing was sent to the platform.';
  return new ProblemException('dependency-unavailable', { detail, retryAfter: 1, cause: error });
}
