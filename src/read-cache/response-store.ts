import { hash } from 'node:crypto';
import { Cache } from '@nestjs/cache-manager';
import { Injectable } from '@nestjs/common';
import { CacheConfig } from '../config/app-config.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { BoundedStore } from './bounded-store.ts';
import { etagOf } from './etag.ts';

/** A result as JSON text. Node sends a text together with the headers in one write, and bytes in a second one. */
export interface Content {
  readonly body: string;
  readonly link?: string;
  /** What the text was made of, where readers in this process need it. */
  readonly value?: unknown;
}

/** A response as it is sent: its text, made once. */
export interface ReadAnswer extends Omit<Content, 'value'> {
  readonly etag: string;
  /** What readers in this process have made of the text, once for all of them. */
  readonly parsed: { value?: unknown };
}

export interface Entry extends ReadAnswer {
  /** Date.now() when the platform was asked. */
  readonly askedAt: number;
}

/** An entry in this process; `sharedAt` is the `askedAt` of the copy in Redis. */
interface LocalEntry extends Entry {
  readonly sharedAt: number;
}

const LOCAL_ENTRIES = 1_000;
const LOCAL_BYTES = 32 * 1024 * 1024;
/** Larger responses are rare, slow to seal, and would displace all other entries. */
const MAX_LENGTH = 1024 * 1024;
const JITTER = 0.1;
/** The share of its life after which an unchanged copy in Redis is renewed. */
const RENEWED = 0.1;
/** The version of the stored form. */
const FORMAT = 'r2';

/** Stores responses in the process, then in Redis behind Nest's cache. A failure of Redis is a miss. */
@Injectable()
export class ResponseStore {
  readonly #first = new BoundedStore<LocalEntry>({ entries: LOCAL_ENTRIES, bytes: LOCAL_BYTES, sizeOf });
  readonly #second: Cache | undefined;
  /** Responses that are being written to Redis, each with the one that follows it. */
  readonly #sharing = new Map<string, Entry | undefined>();

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

  /** Reads the first level only, without waiting. */
  getLocal(key: string): Entry | undefined {
    return this.#first.get(key);
  }

  /** Reads the second level and copies the entry into the first. */
  async get(key: string, lifeMs: number): Promise<Entry | undefined> {
    const found = await this.#second?.get<Entry>(sharedKey(key)).catch(() => undefined);
    if (!found) return undefined;
    // The copy lives only for the rest of the entry's life; different clocks of replicas cannot make this longer than a whole life.
    const leftMs = Math.min(lifeMs, found.askedAt + lifeMs - Date.now());
    if (leftMs >= 1) this.#first.set(key, Object.freeze({ ...found, sharedAt: found.askedAt }), leftMs);
    return found;
  }

  /** Ignores a response that was requested earlier than the stored one (a slow read beside a refresh). */
  async keep(key: string, entry: Entry, lifeMs: number): Promise<void> {
    if (entry.body.length > MAX_LENGTH) return;
    const held = this.#first.get(key);
    if (held && held.askedAt > entry.askedAt) return;
    const isShared = held?.body === entry.body && entry.askedAt - held.sharedAt < lifeMs * RENEWED;
    const sharedAt = isShared ? held.sharedAt : entry.askedAt;
    this.#first.set(key, Object.freeze({ ...entry, sharedAt }), jittered(lifeMs));
    if (this.#second && !isShared) await this.#share(this.#second, sharedKey(key), entry, lifeMs);
  }

  /** The content as an entry. Unchanged content, which most refreshes have, is not hashed and shared again. */
  entryOf(key: string, { body, link, value }: Content, askedAt: number): Entry {
    const held = this.#first.get(key);
    if (held && held.link === link && held.body === body) return { ...held, askedAt };
    return { body, etag: etagOf(body), link, askedAt, parsed: { value } };
  }

  /** Writes one entry at a time for each key. Where refreshes are faster than Redis, only the last has to be stored. */
  async #share(second: Cache, key: string, entry: Entry, lifeMs: number): Promise<void> {
    if (this.#sharing.has(key)) {
      this.#sharing.set(key, entry);
      return;
    }
    try {
      for (let next: Entry | undefined = entry; next; next = this.#sharing.get(key)) {
        this.#sharing.set(key, undefined);
        await second.set(key, next, jittered(lifeMs));
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

/** A string takes at most two bytes for each character. */
function sizeOf({ body, etag, link = '' }: ReadAnswer): number {
  return 2 * (body.length + etag.length + link.length);
}
