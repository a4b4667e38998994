import { hash } from 'node:crypto';
import { Cache } from '@nestjs/cache-manager';
import { Injectable } from '@nestjs/common';
import { CacheConfig } from '../config/app-config.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { BoundedStore } from './bounded-store.ts';
import type { SharedEntry } from './redis-store.ts';

/** A value that is cached. Readers share it, so they must not change it. */
export interface Content<T> {
  readonly value: T;
  /** The length of the text or of the bytes that it is, or was made of. */
  readonly length: number;
}

export interface Entry<T> extends Content<T> {
  /** Date.now() when the platform was asked. */
  readonly askedAt: number;
}

/** How a value becomes text for Redis, and text a value. */
export interface TextForm<T> {
  readonly toText: (value: T) => string;
  readonly fromText: (text: string) => T;
}

/** How long an entry lives, and its form in Redis; without a form only this process has it. */
export interface Keeping<T> {
  readonly lifeMs: number;
  readonly form?: TextForm<T>;
}

/** An entry in this process; `sharedAt` is the `askedAt` of the copy in Redis. */
interface LocalEntry extends Entry<unknown> {
  readonly sharedAt: number;
}

const LOCAL_ENTRIES = 1_000;
const LOCAL_BYTES = 32 * 1024 * 1024;
/** Larger responses are rare, slow to seal, and would displace all other entries. */
const MAX_LENGTH = 1024 * 1024;
/** A list is kept as bytes and as objects, which take about three times as much. */
const BYTES_FOR_EACH = 4;
const JITTER = 0.1;
/** The share of its life after which an unchanged copy in Redis is renewed. */
const RENEWED = 0.1;
/** The version of the stored form. */
const FORMAT = 'r3';

/** Stores values in the process, and where they have a form for it, in Redis behind Nest's cache. A failure of Redis is a miss. */
@Injectable()
export class ResponseStore {
  readonly #first = new BoundedStore<LocalEntry>({
    entries: LOCAL_ENTRIES,
    bytes: LOCAL_BYTES,
    sizeOf: ({ length }) => BYTES_FOR_EACH * length,
  });
  readonly #second: Cache | undefined;
  /** Entries that are being written to Redis, each with the one that follows it. */
  readonly #sharing = new Map<string, Entry<unknown> | undefined>();

  constructor(
    cache: Cache,
    redis: SharedRedis,
    private readonly config: CacheConfig,
  ) {
    if (redis.configured) this.#second = cache;
  }

  /** How long responses of an operation are kept; 0 where they are not cached, or where the cache is off. */
  lifeOf(cacheMs = this.config.ttlMs): number {
    return this.config.ttlMs === 0 ? 0 : cacheMs;
  }

  /** Reads the first level only, without waiting. The key says of which type the value is. */
  getLocal<T>(key: string): Entry<T> | undefined {
    return this.#first.get(key) as Entry<T> | undefined;
  }

  /** Reads the second level and copies the entry into the first. */
  async get<T>(key: string, { lifeMs, form }: Keeping<T>): Promise<Entry<T> | undefined> {
    if (!this.#second || !form) return undefined;
    const found = await this.#second.get<SharedEntry>(sharedKey(key)).catch(() => undefined);
    if (!found) return undefined;
    const { text, askedAt } = found;
    const entry = { value: form.fromText(text), length: text.length, askedAt };
    // The copy lives only for the rest of the entry's life; different clocks of replicas cannot make this longer than a whole life.
    const leftMs = Math.min(lifeMs, askedAt + lifeMs - Date.now());
    if (leftMs >= 1) this.#first.set(key, { ...entry, sharedAt: askedAt }, leftMs);
    return entry;
  }

  /**
   * Ignores a value that was requested earlier than the stored one (a slow read beside a refresh). A value that is the stored one, as
   * most refreshes find, is not written to Redis again.
   */
  async keep<T>(key: string, entry: Entry<T>, { lifeMs, form }: Keeping<T>): Promise<void> {
    const { value, length, askedAt } = entry;
    if (length > MAX_LENGTH) return;
    const held = this.#first.get(key);
    if (held && held.askedAt > askedAt) return;
    const isShared = held?.value === value && askedAt - held.sharedAt < lifeMs * RENEWED;
    const sharedAt = isShared ? held.sharedAt : askedAt;
    this.#first.set(key, { value, length, askedAt, sharedAt }, jittered(lifeMs));
    if (this.#second && form && !isShared) await this.#share(this.#second, key, entry, { lifeMs, form });
  }

  /** Writes one entry at a time for each key. Where refreshes are faster than Redis, only the last has to be made text and stored. */
  async #share<T>(
    second: Cache,
    key: string,
    entry: Entry<T>,
    { lifeMs, form }: Required<Keeping<T>>,
  ): Promise<void> {
    if (this.#sharing.has(key)) {
      this.#sharing.set(key, entry);
      return;
    }
    try {
      const stored = sharedKey(key);
      for (let next: Entry<T> | undefined = entry; next; next = this.#sharing.get(key) as typeof next) {
        this.#sharing.set(key, undefined);
        const shared: SharedEntry = { text: form.toText(next.value), askedAt: next.askedAt };
        await second.set(stored, shared, jittered(lifeMs));
      }
    } finally {
      this.#sharing.delete(key);
    }
  }
}

function jittered(lifeMs: number): number {
  return lifeMs * (1 - JITTER + 2 * JITTER * Math.random());
}

/** A key of fixed length that does not reveal the request. */
function sharedKey(key: string): string {
  return `${FORMAT}:${hash('sha256', key, 'base64url')}`;
}
