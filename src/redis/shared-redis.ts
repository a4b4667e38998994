import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RedisConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Sealer } from './sealer.ts';

const MAX_RECONNECT_DELAY_MS = 2_000;

/** Redis is not there, and was not asked. */
export class RedisAway extends Error {
  override readonly name = 'RedisAway';
}

/**
 * The connection for what may fail open (tokens now; cache and limits later). Without a URL there is none, and everything
 * stays in the process. A command fails within 250 ms instead of waiting for a server that is away: with the defaults of
 * the client it would hang for more than a minute.
 */
@Injectable()
export class SharedRedis implements OnModuleInit, OnApplicationShutdown {
  readonly client: Redis | undefined;
  readonly sealer: Sealer | undefined;

  constructor(
    config: RedisConfig,
    private readonly log: Log,
  ) {
    if (!config.url) return;
    this.sealer = new Sealer(config.encryptionKeys);
    this.client = new Redis(config.url.reveal(), {
      lazyConnect: true,
      commandTimeout: 250,
      connectTimeout: 1_000,
      // Otherwise the process lives on for 2 s when it stops while Redis is away.
      disconnectTimeout: 100,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      retryStrategy: (attempt) => Math.random() * Math.min(100 * 2 ** attempt, MAX_RECONNECT_DELAY_MS),
    });
    this.client.on('error', (error: Error & { code?: string }) => {
      this.log.debug({ event: 'redis-error', reason: error.code ?? error.name }, 'Redis connection failed');
    });
    this.client.on('ready', () => this.log.info({ event: 'redis-ready' }, 'Redis is connected'));
    this.client.on('close', () => this.log.warn({ event: 'redis-closed' }, 'Redis connection closed'));
  }

  async onModuleInit(): Promise<void> {
    if (!this.client) {
      this.log.warn(
        { event: 'no-redis' },
        'No REDIS_URL: tokens are kept in this process, so run one process only',
      );
      return;
    }
    // A server that is away at start is tried again in the background.
    await this.client.connect().catch(() => undefined);
  }

  get configured(): boolean {
    return this.client !== undefined;
  }

  /** Runs a command, or fails at once with {@link RedisAway} while Redis cannot be reached. */
  async run<T>(command: (client: Redis) => Promise<T>): Promise<T> {
    if (this.client?.status !== 'ready') throw new RedisAway();
    return command(this.client);
  }

  /** `off` where none is configured. */
  get status(): 'up' | 'down' | 'off' {
    if (!this.client) return 'off';
    return this.client.status === 'ready' ? 'up' : 'down';
  }

  onApplicationShutdown(): void {
    this.client?.disconnect();
  }
}
