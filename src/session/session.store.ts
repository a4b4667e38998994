import { Injectable } from '@nestjs/common';
import type { RedisCommander } from 'ioredis';
import { ProblemException } from '../problem/problem.exception.ts';
import { sha256 } from '../redis/key-names.ts';
import { replaceValue } from '../kit/compare-and-set/compare-and-set.ts';
import { underLease } from '../kit/lease/lease.ts';
import { emptyIfForeign, type StoreSealer } from '../kit/sealed-store/sealed-store.ts';
import { RedisAway, SharedRedis } from '../redis/shared-redis.ts';
import type { AccessToken } from '../token/principal.ts';

/** A logged-in user of the platform, without the password. Its times, in ms since the epoch, are for display only: see {@link StoredSession}. */
export interface SessionRecord {
  readonly username: string;
  /** The caller that opened the session. Other callers cannot use it. */
  readonly caller: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly token: AccessToken;
  /**
   * The rest of the session's life, in ms, when the token ends. It is measured by the life of the key, so that no clock of a process
   * matters.
   */
  readonly leftAtTokenEndMs: number;
}

/** A session in Redis and the rest of its life. Only the clock of Redis decides when a session ends. */
export interface StoredSession {
  readonly record: SessionRecord;
  readonly leftMs: number;
  /** The sealed text in Redis. Undefined without Redis. */
  readonly sealed?: string;
}

const LEASE_MS = 10_000;
/** The most sessions of one caller in the process. Beyond it the oldest ends, so that no caller fills the memory. */
export const MAX_SESSIONS = 10_000;

const AWAY =
  'The store in which the gateway keeps sessions does not respond. Nothing was sent to the platform.';
const NOT_STORED =
  'The platform accepted the login, but the store in which the gateway keeps sessions does not respond, so there is no session. Log in again.';
const BUSY =
  'Another request renews the token of this session and has not ended in time. Nothing was sent to the platform.';

/**
 * Keeps sessions by the hash of their id, so that a reader of the store cannot use them. With Redis they are sealed there and read on every
 * request, so an ended session is invalid at once on every replica. Without Redis they are in the process. While a configured Redis is
 * away, the store throws `dependency-unavailable` and does not use the process' memory.
 */
@Injectable()
export class SessionStore {
  /** `endsAt` is a time of performance.now(). */
  readonly #local = new Map<string, { record: SessionRecord; endsAt: number }>();
  /** The keys of each caller's sessions in the process, the oldest first. */
  readonly #ofCallers = new Map<string, Set<string>>();
  /** Undefined without Redis. */
  readonly #sealed: StoreSealer | undefined;

  constructor(private readonly redis: SharedRedis) {
    this.#sealed = redis.sealed('sessions');
  }

  keyOf(sessionId: string): string {
    return `${this.redis.environment}:ses:{${sha256(sessionId)}}`;
  }

  /** Throws if a session could not be stored. Call it before a token is requested for a session. */
  assertUsable(): void {
    if (this.redis.status === 'down') unavailable(new RedisAway());
  }

  /** Returns the time by the clock that all replicas share, in ms since the epoch. */
  async now(): Promise<number> {
    if (!this.redis.configured) return Date.now();
    const [seconds, microseconds] = await this.#ask((client) => client.time());
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  }

  async read(key: string): Promise<StoredSession | undefined> {
    if (!this.#sealed) return this.#readLocal(key);
    const [value, leftMs] = await this.redis
      .run((client) => Promise.all([client.get(key).catch(emptyIfForeign), client.pttl(key)]))
      .catch(unavailable);
    const text = this.#sealed.open(value, key);
    // The gateway writes no session without an expiry.
    if (text === undefined || value === null || leftMs < 0) return undefined;
    return { record: JSON.parse(text) as SessionRecord, leftMs, sealed: value };
  }

  async open(key: string, record: SessionRecord, lifeMs: number): Promise<void> {
    if (this.#sealed) {
      const sealed = this.#sealed.seal(JSON.stringify(record), key);
      const wholeMs = Math.max(1, Math.floor(lifeMs));
      await this.redis
        .run((client) => client.set(key, sealed, 'PX', wholeMs))
        .catch((error: unknown) => unavailable(error, NOT_STORED));
      return;
    }
    const own = this.#ofCallers.get(record.caller) ?? new Set<string>();
    this.#ofCallers.set(record.caller, own);
    for (const oldest of own) {
      if (own.size < MAX_SESSIONS && this.#readLocal(oldest)) break;
      this.#forget(oldest);
    }
    own.add(key);
    this.#local.set(key, { record, endsAt: performance.now() + lifeMs });
  }

  /**
   * Replaces the record and keeps its expiry. A record of undefined ends the session. Returns false if another replica has ended or changed the
   * session since it was read, because a replica that was suspended for longer than its lease must not undo a later renewal.
   */
  async replace(
    key: string,
    { record: last, sealed: read }: StoredSession,
    record: SessionRecord | undefined,
  ): Promise<boolean> {
    if (!this.#sealed || read === undefined) {
      const held = this.#readLocal(key) && this.#local.get(key);
      if (held?.record !== last) return false;
      if (record) held.record = record;
      else this.#forget(key);
      return true;
    }
    const sealed = record && this.#sealed.seal(JSON.stringify(record), key);
    return replaceValue((command) => this.#ask(command), key, read, sealed);
  }

  async remove(key: string): Promise<void> {
    if (this.redis.configured) await this.#ask((client) => client.del(key));
    else this.#forget(key);
  }

  /** Runs `work` while no other replica does so for this session. It waits until `giveUpAt` (performance.now) at most. */
  async exclusively<T extends object>(key: string, giveUpAt: number, work: () => Promise<T>): Promise<T> {
    if (!this.redis.configured) return work();
    const run = this.#ask.bind(this);
    const result = await underLease(run, `${key}:lock`, { lifeMs: LEASE_MS, giveUpAt }, work);
    if (!result) throw new ProblemException('dependency-unavailable', { detail: BUSY, retryAfter: 1 });
    return result;
  }

  #forget(key: string): void {
    const { caller = '' } = this.#local.get(key)?.record ?? {};
    this.#ofCallers.get(caller)?.delete(key);
    this.#local.delete(key);
  }

  #readLocal(key: string): StoredSession | undefined {
    const held = this.#local.get(key);
    const leftMs = held ? held.endsAt - performance.now() : 0;
    return held && leftMs > 0 ? { record: held.record, leftMs } : undefined;
  }

  #ask<T>(command: (client: RedisCommander) => Promise<T>): Promise<T> {
    return this.redis.run(command).catch(unavailable);
  }
}

function unavailable(error: unknown, detail = AWAY): never {
  throw new ProblemException('dependency-unavailable', { detail, retryAfter: 1, cause: error });
}
