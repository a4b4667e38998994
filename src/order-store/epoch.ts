import { randomBytes } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { OrderStoreConfig, RedisConfig } from '../config/app-config.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { edge } from '../shared/edge.ts';
import { OrderStoreRedis } from './order-store-redis.ts';

/** The beginning of an operator's epoch, `operator:<ms>:<random>`: only a later one may replace a known epoch. */
export const CONFIRMED = 'operator:';

/** Changes within this time are remembered together. */
const COLLECT_MS = 50;

/*
 * One script writes epoch and count, so that both survive or both are lost: Redis logs the writes of a script as one transaction. When
 * its user `default` has no permissions, Redis 7.0 skips every transaction as it reads its log (fault R23). An epoch that was set alone
 * would survive that, and the gateway would trust a store whose records are gone.
 */

/** KEYS: epoch, count. ARGV: epoch. Sets the epoch of a store that has none. */
const MAKE = new Script(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('INCRBY', KEYS[2], 0)
redis.call('SET', KEYS[1], ARGV[1])
return 1`);

/** KEYS: epoch, count, lost. ARGV: epoch, count. */
const CONFIRM = new Script(`
redis.call('SET', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[3])
redis.call('SET', KEYS[1], ARGV[1])
return 1`);

/** KEYS: lost. ARGV: seen, count. */
const LOST = new Script(`
if redis.call('HSETNX', KEYS[1], 'seen', ARGV[1]) == 1 then return redis.call('HSET', KEYS[1], 'count', ARGV[2]) end
if tonumber(redis.call('HGET', KEYS[1], 'seen')) < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'seen', ARGV[1]) end
return 0`);

/** KEYS: the hash in the shared Redis. ARGV: epoch, count. Within one epoch the count never falls. */
const REMEMBER = new Script(`
local epoch, count = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'count'))
if epoch == ARGV[1] and tonumber(count) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'count', ARGV[2])
return 1`);

const UNREADY =
  'The order store was never made ready: orders are refused until `npm run order-store-init` is run';
const EMPTIED =
  'The order store was emptied while orders were kept in it: put its data back first, where there is a copy. Orders are refused until then, or until `npm run order-store-init` confirms the loss';

interface Known {
  readonly epoch: string;
  /** The number of writes that have begun in that epoch, at least. */
  readonly count: number;
}

/**
 * Whether the order store still has what was written in it. Its epoch is a random value: a store that was emptied has lost it. Its count of
 * begun writes only rises: a store with a lower count was restored to an older state. Both are also remembered outside of the store: in the
 * shared Redis, if that is another server. So a gateway that has just started notices it too.
 */
@Injectable()
export class StoreEpoch implements OnApplicationShutdown {
  readonly #rememberedKey: string;
  readonly #isElsewhere: boolean;
  #known: Known | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly config: OrderStoreConfig,
    sharedConfig: RedisConfig,
    private readonly redis: OrderStoreRedis,
    private readonly shared: SharedRedis,
  ) {
    this.#rememberedKey = `${redis.environment}:order-store`;
    this.#isElsewhere = sharedConfig.url !== undefined && sharedConfig.url.reveal() !== config.url?.reveal();
  }

  get epoch(): string | undefined {
    return this.#known?.epoch;
  }

  get count(): number {
    return this.#known?.count ?? 0;
  }

  saw(count: number): void {
    if (this.#known && count > this.#known.count) this.#remember({ ...this.#known, count });
  }

  onApplicationShutdown(): void {
    clearTimeout(this.#timer);
  }

  /** Learns the highest count that any gateway has remembered in the shared Redis; nothing where that is the same server, or away. */
  async recall(): Promise<void> {
    if (!this.#isElsewhere) return;
    const [epoch, text] = await this.shared
      .run((client) => client.hmget(this.#rememberedKey, 'epoch', 'count'))
      .catch(() => []);
    if (!epoch || !text) return;
    const count = Number(text);
    if (!this.#known || isLater(epoch, this.#known.epoch)) this.#known = { epoch, count };
    else if (epoch === this.#known.epoch) this.#known = { epoch, count: Math.max(this.#known.count, count) };
  }

  /** Compares the store with what is known of it. Returns why orders have to be refused; undefined: they may be sent. */
  async compare(): Promise<{ readonly reason: 'epoch' | 'count'; readonly message: string } | undefined> {
    const { keys } = this.redis;
    // Read before the request to Redis: writes may begin while it runs.
    const expected = this.count;
    const read = () => this.redis.run((client) => client.mget(keys.epoch, keys.count));
    let [found = null, count = null] = await read();
    if (found === null && !this.#known && this.config.init === 'auto') {
      const made = `auto:${randomBytes(16).toString('base64url')}`;
      await this.redis.run((client) => MAKE.run(client, [keys.epoch, keys.count], [made]));
      [found = null, count = null] = await read();
    }
    if (found === null) {
      await this.#reportLost(0);
      return { reason: 'epoch', message: this.#known ? EMPTIED : UNREADY };
    }
    if (found !== this.#known?.epoch) {
      if (this.#known && !isLater(found, this.#known.epoch)) {
        await this.#reportLost(Number(count));
        return {
          reason: 'epoch',
          message:
            'The order store is not the one it was: put the former one back first, where it exists. Orders are refused until then, or until an operator confirms this one with `npm run order-store-init`',
        };
      }
      // The count of the former epoch does not apply to this one.
      this.#remember({ epoch: found, count: Math.max(0, Number(count)) });
    }
    if (Number(count) < Math.min(expected, this.count))
      return {
        reason: 'count',
        message:
          'The order store has gone back and lost writes: put its newest data back first, where there is any. Orders are refused until then, or until an operator confirms the loss with `npm run order-store-init`, which says how many are missing',
      };
    return undefined;
  }

  /** Notes for `order-store-init` the count that this gateway knows, and the count that the store has now. */
  async #reportLost(count: number): Promise<void> {
    if (!this.#known) return;
    const values = [this.#known.count, Math.max(0, count)];
    await this.redis.run((client) => LOST.run(client, [this.redis.keys.lost], values));
  }

  /** Writes a little later: no request waits for it. */
  #remember(known: Known): void {
    this.#known = known;
    this.#timer ??= setTimeout(
      edge('order store count', () => this.#write()),
      COLLECT_MS,
    ).unref();
  }

  async #write(): Promise<void> {
    const known = this.#known;
    // After a failure the next order writes it.
    if (known && this.#isElsewhere)
      await this.shared
        .run((client) => REMEMBER.run(client, [this.#rememberedKey], [known.epoch, known.count]))
        .catch(() => undefined);
    this.#timer = undefined;
    if (this.#known && this.#known !== known) this.#remember(this.#known);
  }
}

/** Replaces the epoch by one of an operator, counts on from `count`, and deletes the note of lost writes. */
export async function confirmEpoch(redis: OrderStoreRedis, count: number): Promise<void> {
  const { keys } = redis;
  const made = `${CONFIRMED}${Date.now()}:${randomBytes(16).toString('base64url')}`;
  await redis.run((client) => CONFIRM.run(client, [keys.epoch, keys.count, keys.lost], [made, count]));
}

/** Only an operator may replace the known epoch, and only with a later confirmation. */
function isLater(epoch: string, known: string): boolean {
  if (!epoch.startsWith(CONFIRMED)) return false;
  return !known.startsWith(CONFIRMED) || timeOf(epoch) > timeOf(known);
}

function timeOf(epoch: string): number {
  return Number(epoch.split(':')[1]) || 0;
}
