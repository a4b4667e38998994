import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { RedisCommander } from 'ioredis';
import { UpstreamConfig } from '../config/app-config.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import { emptyIfForeign } from '../redis/redis-error.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import { RedisAway, SharedRedis } from '../redis/shared-redis.ts';
import type { AccessToken } from '../token/principal.ts';

/** A logged-in user of the platform, without the password. Its times, in ms since the epoch, are for display only: see {@link StoredSession}. */
export interface SessionRecord {
  readonly username: string;
  /** The caller that opened it. Other callers cannot use it. */
  readonly caller: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly token: AccessToken;
  /** The token ends when the session has this many ms left. It is measured by the life of the key, so that no process' clock matters. */
  readonly leftAtTokenEndMs: number;
}

/** A session in Redis and the rest of its life. Only the clock of Redis decides when a session ends. */
export interface StoredSession {
  readonly record: SessionRecord;
  readonly leftMs: number;
}

const LOCK_MS = 10_000;
const POLL_MS = 30;

// Only its owner releases the lock: after a pause longer than the lock's life, another may own it.
const UNLOCK = new Script(
  `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`,
);

/**
 * Sessions, by the hash of their id, so that a reader of the store cannot use them. With Redis they are sealed there and read on
 * every request, so an ended session is invalid at once on every replica. Without Redis they are in the process. While Redis is
 * away the response is 503 `dependency-unavailable`; memory is not used.
 */
@Injectable()
export class SessionStore {
  /** `endsAt` by performance.now(). */
  readonly #local = new Map<string, { record: SessionRecord; endsAt: number }>();
  readonly #environment: string;

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly metrics: Metrics,
  ) {
    this.#environment = environmentName(config.baseUrl);
  }

  /** The key of this session. */
  keyOf(sessionId: string): string {
    return `${this.#environment}:ses:{${sha256(sessionId)}}`;
  }

  /** Called before a token is requested for a session. Throws where the session could not be stored. */
  assertUsable(): void {
    if (this.redis.status === 'down') unavailable(new RedisAway());
  }

  /** The time by the clock that all replicas share, in ms since the epoch. */
  async now(): Promise<number> {
    if (!this.redis.configured) return Date.now();
    const [seconds, microseconds] = await this.#ask((client) => client.time());
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  }

  async read(key: string): Promise<StoredSession | undefined> {
    const { sealer } = this.redis;
    if (!sealer) return this.#readLocal(key);
    const [value, leftMs] = await this.redis
      .run((client) => Promise.all([client.get(key).catch(emptyIfForeign), client.pttl(key)]))
      .catch(unavailable);
    if (value === null) return undefined;
    const text = sealer.open(value, key);
    // The gateway writes no session without an expiry.
    if (text !== undefined)
      return leftMs < 0 ? undefined : { record: JSON.parse(text) as SessionRecord, leftMs };
    // The value stays: a replica that has more encryption keys may be able to read it.
    this.metrics.count('gateway_redis_unreadable_total', { store: 'sessions' });
    return undefined;
  }

  async open(key: string, record: SessionRecord, lifeMs: number): Promise<void> {
    const { sealer } = this.redis;
    if (!sealer) {
      this.#sweepLocal();
      this.#local.set(key, { record, endsAt: performance.now() + lifeMs });
      return;
    }
    const sealed = sealer.seal(JSON.stringify(record), key);
    await this.#ask((client) => client.set(key, sealed, 'PX', Math.max(1, Math.floor(lifeMs))));
  }

  /** Replaces the record and keeps its expiry. Returns false where the session was ended meanwhile. */
  async replace(key: string, record: SessionRecord): Promise<boolean> {
    const { sealer } = this.redis;
    if (!sealer) {
      const held = this.#readLocal(key) && this.#local.get(key);
      if (held) held.record = record;
      return held !== undefined;
    }
    const sealed = sealer.seal(JSON.stringify(record), key);
    return (await this.#ask((client) => client.set(key, sealed, 'KEEPTTL', 'XX'))) === 'OK';
  }

  async remove(key: string): Promise<void> {
    if (this.redis.configured) await this.#ask((client) => client.del(key));
    else this.#local.delete(key);
  }

  /** Runs `work` while no other replica does so for this session. Waits until `giveUpAt` (performance.now) at most. */
  async exclusively<T>(key: string, giveUpAt: number, work: () => Promise<T>): Promise<T> {
    if (!this.redis.configured) return work();
    const lock = `${key}:lock`;
    const owner = randomBytes(16).toString('hex');
    while ((await this.#ask((client) => client.set(lock, owner, 'PX', LOCK_MS, 'NX'))) !== 'OK') {
      if (performance.now() >= giveUpAt)
        throw new ProblemException('dependency-unavailable', { retryAfter: 1 });
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    try {
      return await work();
    } finally {
      await this.redis.run((client) => UNLOCK.run(client, [lock], [owner])).catch(() => undefined);
    }
  }

  #readLocal(key: string): StoredSession | undefined {
    const held = this.#local.get(key);
    const leftMs = held ? held.endsAt - performance.now() : 0;
    return held && leftMs > 0 ? { record: held.record, leftMs } : undefined;
  }

  #sweepLocal(): void {
    for (const [key, { endsAt }] of this.#local) if (endsAt <= performance.now()) this.#local.delete(key);
  }

  #ask<T>(command: (client: RedisCommander) => Promise<T>): Promise<T> {
    return this.redis.run(command).catch(unavailable);
  }
}

function unavailable(error: unknown): never {
  throw new ProblemException('dependency-unavailable', { retryAfter: 1, cause: error });
}
