import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Cluster, type Redis } from 'ioredis';
import { RedisConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { inTime } from './in-time.ts';
import { redisClient } from './redis-client.ts';
import { redisErrorReason, type RedisErrorReason } from './redis-error.ts';
import { parseRedisUrl } from '../config/redis-url.ts';
import { Sealer } from './sealer.ts';

/** A start does not wait longer: what needs Redis says so by itself, and the rest works. */
const START_MS = 2_000;
const PROBE_EVERY_MS = 500;
/** Of a cluster, keys are asked for all over it: enough that a master who serves a tenth of it is hardly missed. */
const PROBE_KEYS = 40;

const STUCK: ReadonlySet<string> = new Set(['disconnecting', 'close', 'end']);

/** Redis is not there, and was not asked. */
export class RedisAway extends Error {
  override readonly name = 'RedisAway';
}

/**
 * The one way to the Redis for what may fail open (tokens, sessions, cache, limits). Without a URL there is none, and everything
 * stays in the process. A command takes 250 ms at most, and only the first one does: while Redis is away nobody asks it, until
 * a probe in the background was answered.
 */
@Injectable()
export class SharedRedis implements OnModuleInit, OnApplicationShutdown {
  readonly sealer: Sealer | undefined;
  readonly #client: Redis | Cluster | undefined;
  readonly #listeners: (() => void)[] = [];
  /** Undefined until the first connection was made, or was not. */
  #up: boolean | undefined;
  #stopped = false;
  #evictionChecked = false;
  #lastReason: RedisErrorReason = 'connection';
  #probe: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    config: RedisConfig,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    const address = config.url && parseRedisUrl(config.url.reveal());
    if (!address) return;
    this.sealer = new Sealer(config.encryptionKeys);
    this.metrics.redisUp(this.store, false);
    this.#client = redisClient(address);
    this.#client.on('error', (error: Error & { code?: string }) => {
      this.#lastReason = redisErrorReason(error);
      this.metrics.redisError(this.#lastReason);
      const reason = error.code ?? this.#lastReason;
      this.log.debug({ event: 'redis-error', reason }, 'Redis connection failed');
    });
    this.#client.on('ready', () => void this.#ask());
    this.#client.on('close', () => this.#away(this.#lastReason));
  }

  /** Which of the two it is, for logs and metrics. */
  protected get store(): 'shared' | 'guard' {
    return 'shared';
  }

  async onModuleInit(): Promise<void> {
    if (!this.#client) {
      this.log.warn(
        { event: 'no-redis', store: this.store },
        'No Redis: what is kept there stays in this process, so run one process only',
      );
      return;
    }
    const connected = this.#client.connect().then(() => this.#ask());
    // A server that is away at start is tried again in the background.
    await Promise.race([connected.catch(() => undefined), wait(START_MS, undefined, { ref: false })]);
    if (!this.#up) this.#away(this.#lastReason);
  }

  get configured(): boolean {
    return this.#client !== undefined;
  }

  /** `off` where none is configured. */
  get status(): 'up' | 'down' | 'off' {
    if (!this.#client) return 'off';
    return this.#up ? 'up' : 'down';
  }

  /**
   * Runs a command, or fails at once with {@link RedisAway}. An error that Redis answers is this command's alone; no answer,
   * or one that says that nobody can be served, is everybody's.
   */
  async run<T>(command: (client: Redis | Cluster) => Promise<T>): Promise<T> {
    if (!this.#up || this.#client?.status !== 'ready') throw new RedisAway();
    try {
      return await inTime(command(this.#client));
    } catch (error) {
      const reason = redisErrorReason(error);
      this.metrics.redisError(reason);
      if (isAway(reason)) this.#away(reason);
      throw error;
    }
  }

  /** Called whenever Redis can be used again. */
  onReady(listener: () => void): void {
    this.#listeners.push(listener);
  }

  onApplicationShutdown(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#client?.disconnect();
  }

  #away(reason: RedisErrorReason): void {
    if (this.#up === false || this.#stopped) return;
    this.#up = false;
    this.metrics.redisUp(this.store, false);
    this.log.warn(
      { event: 'redis-away', store: this.store, reason },
      'Redis is away: nothing is asked of it until it answers',
    );
    // At once too: where it was this process that stood still for a moment, the answer is here already.
    void this.#ask();
    this.#timer = setInterval(() => void this.#ask(), PROBE_EVERY_MS).unref();
  }

  #back(): void {
    if (this.#up === true || this.#stopped) return;
    this.#up = true;
    clearInterval(this.#timer);
    this.#lastReason = 'connection';
    this.metrics.redisUp(this.store, true);
    this.log.info({ event: 'redis-ready', store: this.store }, 'Redis is connected');
    for (const listener of this.#listeners) listener();
    void this.#checkEviction().catch(() => undefined);
  }

  /** Whether it can be used. One at a time; never fails. */
  #ask(): Promise<void> {
    this.#probe ??= this.#answers().finally(() => {
      this.#probe = undefined;
    });
    return this.#probe;
  }

  async #answers(): Promise<void> {
    const client = this.#client;
    if (!client || this.#stopped) return;
    // A cluster's client never gets out of these where a command that is redirected opens a connection while all are closed.
    if (STUCK.has(client.status)) void client.connect().catch(() => undefined);
    if (client.status !== 'ready') return;
    try {
      await inTime<unknown>(client instanceof Cluster ? probeCluster(client) : client.ping());
    } catch (error) {
      const reason = redisErrorReason(error);
      if (isAway(reason)) {
        // A new connection asks the name server, the sentinels or the cluster again, where an old one may be dead for hours.
        if (reason !== 'loading' && client.status === 'ready') client.disconnect(true);
        return this.#away(reason);
      }
    }
    this.#back();
  }

  /** Where the server may evict, users are logged out and locks are lost. Not every server says. */
  async #checkEviction(): Promise<void> {
    if (this.#evictionChecked || this.store === 'guard') return;
    const info = await this.run((client) => client.info('memory'));
    this.#evictionChecked = true;
    const policy = /^maxmemory_policy:([\w-]{1,40})/m.exec(info)?.[1];
    if (policy === undefined || policy === 'noeviction') return;
    this.log.warn(
      { event: 'redis-evicts', policy },
      'Redis may evict sessions and locks: set its maxmemory-policy to noeviction',
    );
  }
}

function isAway(reason: RedisErrorReason): boolean {
  return reason === 'timeout' || reason === 'connection' || reason === 'loading';
}

async function probeCluster(cluster: Cluster): Promise<void> {
  await Promise.all(Array.from({ length: PROBE_KEYS }, () => cluster.exists(randomUUID())));
}
