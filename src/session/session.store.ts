import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { RedisCommander } from 'ioredis';
import { UpstreamConfig } from '../config/app-config.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import { emptyIfForeign } from '../redis/redis-error.ts';
import { Script } from '../redis/script.ts';
import { RedisAway, SharedRedis } from '../redis/shared-redis.ts';
import type { AccessToken } from '../token/principal.ts';

/** A logged-in user of the platform. Times in ms since the epoch; the password is nowhere. */
export interface SessionRecord {
  readonly username: string;
  /** The caller that opened it: nobody else can use it. */
  readonly caller: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly token: AccessToken;
  readonly tokenEndsAt: number;
}

const LOCK_MS = 10_000;
const POLL_MS = 30;

// Released by its owner only: after a pause longer than the lock's life it may be somebody else's.
const UNLOCK = new Script(
  `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`,
);

/**
 * Sessions, by the hash of their id: who reads the store cannot use what is in it. With Redis they are sealed there and read
 * on every request, so a session that was ended is dead at once on every replica; without Redis they live in the process.
 * Nothing is answered from memory while Redis is away: that is 503 `dependency-unavailable`.
 */
@Injectable()
export class SessionStore {
  readonly #local = new Map<string, SessionRecord>();
  readonly #environment: string;

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly metrics: Metrics,
  ) {
    this.#environment = environmentName(config.baseUrl);
  }

  /** Where the session of this id is kept. */
  keyOf(sessionId: string): string {
    return `${this.#environment}:ses:{${sha256(sessionId)}}`;
  }

  /** Before what is done for a session's sake elsewhere: throws where it could not be kept. */
  assertUsable(): void {
    if (this.redis.status === 'down') unavailable(new RedisAway());
  }

  async read(key: string): Promise<SessionRecord | undefined> {
    const { sealer } = this.redis;
    if (!sealer) return this.#readLocal(key);
    const value = await this.redis
      .run((client) => client.get(key))
      .catch(emptyIfForeign)
      .catch(unavailable);
    if (value === null) return undefined;
    const text = sealer.open(value, key);
    if (text !== undefined) return JSON.parse(text) as SessionRecord;
    // It stays: a replica that has more encryption keys than this one may well read it.
    this.metrics.unreadable('sessions');
    return undefined;
  }

  /** Keeps a session to its end. With `onlyIfThere`, a session that was ended meanwhile stays ended; then false. */
  async write(key: string, record: SessionRecord, onlyIfThere = false): Promise<boolean> {
    const { sealer } = this.redis;
    if (!sealer) {
      if (onlyIfThere && !this.#readLocal(key)) return false;
      this.#sweepLocal();
      this.#local.set(key, record);
      return true;
    }
    const sealed = sealer.seal(JSON.stringify(record), key);
    const lifeMs = Math.max(1, record.expiresAt - Date.now());
    const done = await this.#ask((client) =>
      onlyIfThere ? client.set(key, sealed, 'PX', lifeMs, 'XX') : client.set(key, sealed, 'PX', lifeMs),
    );
    return done === 'OK';
  }

  async remove(key: string): Promise<void> {
    if (this.redis.configured) await this.#ask((client) => client.del(key));
    else this.#local.delete(key);
  }

  /** Runs `work` while no other replica does so for this session; waits its turn until `giveUpAt` (performance.now). */
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

  #readLocal(key: string): SessionRecord | undefined {
    const record = this.#local.get(key);
    return record && record.expiresAt > Date.now() ? record : undefined;
  }

  #sweepLocal(): void {
    for (const [key, { expiresAt }] of this.#local) if (expiresAt <= Date.now()) this.#local.delete(key);
  }

  #ask<T>(command: (client: RedisCommander) => Promise<T>): Promise<T> {
    return this.redis.run(command).catch(unavailable);
  }
}

function unavailable(error: unknown): never {
  throw new ProblemException('dependency-unavailable', { retryAfter: 1, cause: error });
}
