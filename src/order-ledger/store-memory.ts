import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { OrderStoreConfig, RedisConfig, UpstreamConfig } from '../config/app-config.ts';
import { environmentName } from '../redis/key-names.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { edge } from '../shared/edge.ts';

/** The epoch of an order store, and the number of writes that have begun in it. */
export interface Remembered {
  readonly epoch: string;
  readonly count: number;
}

/** Changes within this time are written together. */
const COLLECT_MS = 50;

/** KEYS: the hash. ARGV: epoch, count. Within one epoch the count never falls. */
const REMEMBER = new Script(`
local epoch, count = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'count'))
if epoch == ARGV[1] and tonumber(count) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'count', ARGV[2])
return 1`);

/**
 * Keeps what is known of the order store outside of it: in the shared Redis, if that is another server. So a gateway that has just
 * started also notices that the store was emptied or restored to an older state.
 */
@Injectable()
export class StoreMemory implements OnApplicationShutdown {
  readonly #key: string;
  readonly #isElsewhere: boolean;
  #latest: Remembered | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    orderStore: OrderStoreConfig,
    shared: RedisConfig,
    upstream: UpstreamConfig,
    private readonly redis: SharedRedis,
  ) {
    this.#key = `${environmentName(upstream.baseUrl)}:order-store`;
    this.#isElsewhere = shared.url !== undefined && shared.url.reveal() !== orderStore.url?.reveal();
  }

  /** The highest count that any gateway has told the other Redis; undefined where there is none, or it is away. */
  async ofAll(): Promise<Remembered | undefined> {
    if (!this.#isElsewhere) return undefined;
    const [epoch, count] = await this.redis
      .run((client) => client.hmget(this.#key, 'epoch', 'count'))
      .catch(() => []);
    return epoch && count ? { epoch, count: Number(count) } : undefined;
  }

  /** Writes a little later: no request waits for it. */
  remember(known: Remembered): void {
    this.#latest = known;
    this.#timer ??= setTimeout(
      edge('order store count', () => this.#write(known)),
      COLLECT_MS,
    ).unref();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.#timer);
  }

  async #write(first: Remembered): Promise<void> {
    const known = this.#latest ?? first;
    // After a failure the next order writes it.
    if (this.#isElsewhere)
      await this.redis
        .run((client) => REMEMBER.run(client, [this.#key], [known.epoch, known.count]))
        .catch(() => undefined);
    this.#timer = undefined;
    if (this.#latest && this.#latest !== known) this.remember(this.#latest);
  }
}
