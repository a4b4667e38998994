import { accessSync, constants, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ConfigError, OrderStoreConfig, RedisConfig, UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { environmentName } from '../redis/key-names.ts';
import { Script } from '../redis/script.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { edge } from '../shared/edge.ts';

/** The epoch of an order store, and the number of writes that have begun in it. */
export interface Remembered {
  readonly epoch: string;
  readonly count: number;
}

/** Changes within this time are written together. */
const COLLECT_MS = 50;
const OPTIONS = { mode: 0o600, flush: true } as const;

/** KEYS: the hash. ARGV: epoch, count. Within one epoch the count never falls. */
const REMEMBER = new Script(`
local epoch, count = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'count'))
if epoch == ARGV[1] and tonumber(count) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'count', ARGV[2])
return 1`);

/**
 * Keeps what is known of the order store outside of it: in the shared Redis, if that is another server, and in a file, if one is
 * configured. So a gateway that has just started also notices that the store was emptied or restored to an older state.
 */
@Injectable()
export class StoreMemory implements OnApplicationShutdown {
  readonly #file: string | undefined;
  readonly #key: string;
  readonly #isElsewhere: boolean;
  #latest: Remembered | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFileReported = false;

  constructor(
    orderStore: OrderStoreConfig,
    shared: RedisConfig,
    upstream: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly log: Log,
  ) {
    this.#file = orderStore.countFile;
    this.#key = `${environmentName(upstream.baseUrl)}:order-store`;
    this.#isElsewhere = shared.url !== undefined && shared.url.reveal() !== orderStore.url?.reveal();
  }

  /** Reads the file and the shared Redis. Throws {@link ConfigError} where the file cannot be used. */
  async load(): Promise<readonly Remembered[]> {
    return [this.#fromFile(), await this.ofAll()].filter((each) => each !== undefined);
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
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    if (this.#file === undefined) return;
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#latest), OPTIONS);
    renameSync(`${this.#file}.new`, this.#file);
  }

  async #write(first: Remembered): Promise<void> {
    const known = this.#latest ?? first;
    // After a failure the next order writes it.
    if (this.#isElsewhere)
      await this.redis
        .run((client) => REMEMBER.run(client, [this.#key], [known.epoch, known.count]))
        .catch(() => undefined);
    if (this.#file !== undefined) await this.#writeFile(this.#file, known);
    this.#timer = undefined;
    if (this.#latest && this.#latest !== known) this.remember(this.#latest);
  }

  /** Replaces the file as a whole: the process may be killed at any moment. */
  async #writeFile(file: string, known: Remembered): Promise<void> {
    try {
      await writeFile(`${file}.new`, JSON.stringify(known), OPTIONS);
      await rename(`${file}.new`, file);
      this.#isFileReported = false;
    } catch (error) {
      if (this.#isFileReported) return;
      this.#isFileReported = true;
      const { code } = error as { code?: string };
      this.log.error({ event: 'order-store-count-file', code }, 'GUARD_COUNT_FILE could not be written');
    }
  }

  #fromFile(): Remembered | undefined {
    const file = this.#file;
    if (file === undefined) return undefined;
    try {
      accessSync(dirname(file), constants.W_OK);
    } catch {
      throw new ConfigError(['GUARD_COUNT_FILE must be in a folder that the gateway may write to']);
    }
    if (!existsSync(file)) return undefined;
    try {
      const { epoch, count } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Remembered>;
      if (typeof epoch === 'string' && Number.isSafeInteger(count)) return { epoch, count: Number(count) };
    } catch {
      // Reported below.
    }
    throw new ConfigError([
      'GUARD_COUNT_FILE is not what the gateway wrote there: put it back, or delete it',
    ]);
  }
}
