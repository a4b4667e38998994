import { accessSync, constants, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ConfigError, GuardConfig, RedisConfig, UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { environmentName } from '../redis/key-names.ts';
import { Script } from '../redis/script.ts';
import { SharedRedis } from '../redis/shared-redis.ts';

/** Which order store this is, and how many writes have begun in it. */
export interface Remembered {
  readonly epoch: string;
  readonly count: number;
}

/** Changes of so long are written together. */
const COLLECT_MS = 50;
const OPTIONS = { mode: 0o600, flush: true } as const;

/** KEYS: where it stands. ARGV: epoch, count. Of one epoch the highest count stays. */
const REMEMBER = new Script(`
local epoch, count = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'count'))
if epoch == ARGV[1] and tonumber(count) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'count', ARGV[2])
return 1`);

/**
 * What is known of the order store, kept where the store cannot lose it: in the other Redis, where there is one, and in a file, where one is
 * configured. With it a gateway that starts also notices a store that was emptied or put back to an older state.
 */
@Injectable()
export class StoreMemory implements OnApplicationShutdown {
  readonly #file: string | undefined;
  readonly #key: string;
  readonly #isElsewhere: boolean;
  #latest: Remembered | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFileTold = false;

  constructor(
    guard: GuardConfig,
    shared: RedisConfig,
    upstream: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly log: Log,
  ) {
    this.#file = guard.countFile;
    this.#key = `${environmentName(upstream.baseUrl)}:order-store`;
    this.#isElsewhere = shared.url !== undefined && shared.url.reveal() !== guard.url?.reveal();
  }

  /** What was remembered, by each place that has it. Throws {@link ConfigError} where the file cannot be used. */
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

  /** Soon, not now: no request waits for it. */
  remember(known: Remembered): void {
    this.#latest = known;
    this.#timer ??= setTimeout(() => void this.#write(known), COLLECT_MS).unref();
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
    // What cannot be told now is told with the next order.
    if (this.#isElsewhere)
      await this.redis
        .run((client) => REMEMBER.run(client, [this.#key], [known.epoch, known.count]))
        .catch(() => undefined);
    if (this.#file !== undefined) await this.#writeFile(this.#file, known);
    this.#timer = undefined;
    if (this.#latest && this.#latest !== known) this.remember(this.#latest);
  }

  /** Whole or not at all: a process may be killed at any moment. */
  async #writeFile(file: string, known: Remembered): Promise<void> {
    try {
      await writeFile(`${file}.new`, JSON.stringify(known), OPTIONS);
      await rename(`${file}.new`, file);
      this.#isFileTold = false;
    } catch (error) {
      if (this.#isFileTold) return;
      this.#isFileTold = true;
      const { code } = error as { code?: string };
      this.log.error({ event: 'guard-count-file', code }, 'GUARD_COUNT_FILE could not be written');
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
      // Told below.
    }
    throw new ConfigError([
      'GUARD_COUNT_FILE is not what the gateway wrote there: put it back, or delete it',
    ]);
  }
}
