import { hash } from 'node:crypto';
import { Cache } from '@nestjs/cache-manager';
import { Injectable } from '@nestjs/common';
import { CacheConfig } from '../config/app-config.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { BoundedStore } from './bounded-store.ts';
import { etagOf } from './etag.ts';

/** A result as bytes. */
export interface Content {
  readonly body: Buffer;
  readonly link?: string;
}

/** An answer as it is sent: its bytes, made once. */
export interface ReadAnswer extends Content {
  readonly etag: string;
}

export interface Entry extends ReadAnswer {
  /** Date.now() when the platform was asked. */
  readonly askedAt: number;
}

/** In this process: `sharedAt` is the `askedAt` of what was handed to Redis. */
interface LocalEntry extends Entry {
  readonly sharedAt: number;
}

const LOCAL_ENTRIES = 1_000;
const LOCAL_BYTES = 32 * 1024 * 1024;
/** Larger answers are rare, slow to seal, and would push out everything else. */
const MAX_BYTES = 1024 * 1024;
const JITTER = 0.1;
/** Of its life: what Redis has is renewed no sooner, where nothing changed. */
const RENEWED = 0.1;
/** Changes with the shape of what is stored. */
const FORMAT = 'r2';

/** Where responses are kept: first in the process, then in Redis behind Nest's cache. Redis may fail: then they are missing there. */
@Injectable()
export class ResponseStore {
  readonly #first = new BoundedStore<LocalEntry>({ entries: LOCAL_ENTRIES, bytes: LOCAL_BYTES, sizeOf });
  readonly #second: Cache | undefined;
  /** Answers on their way to Redis, each with the one that is to follow it. */
  readonly #sharing = new Map<string, Entry | undefined>();

  constructor(
    cache: Cache,
    redis: SharedRedis,
    private readonly config: CacheConfig,
  ) {
    if (redis.configured) this.#second = cache;
  }

  /** How long responses of an operation are kept; 0 where none is, or where the cache is off. */
  lifeOf(cacheMs = this.config.ttlMs): number {
    return this.config.ttlMs === 0 ? 0 : cacheMs;
  }

  /** From the first level only, without waiting. */
  getLocal(key: string): Entry | undefined {
    return this.#first.get(key);
  }

  /** From the second level, and into the first. */
  async get(key: string, lifeMs: number): Promise<Entry | undefined> {
    const found = await this.#second?.get<Entry>(sharedKey(key)).catch(() => undefined);
    if (!found) return undefined;
    // Copied for what is left of its life only; the clocks of two replicas cannot make that longer than a life.
    const leftMs = Math.min(lifeMs, found.askedAt + lifeMs - Date.now());
    if (leftMs >= 1) this.#first.set(key, Object.freeze({ ...found, sharedAt: found.askedAt }), leftMs);
    return found;
  }

  /** A response that was asked for earlier than the one that is kept (a slow read beside a refresh) is too late. */
  async keep(key: string, entry: Entry, lifeMs: number): Promise<void> {
    if (entry.body.length > MAX_BYTES) return;
    const held = this.#first.get(key);
    if (held && held.askedAt > entry.askedAt) return;
    const isShared = held?.body === entry.body && entry.askedAt - held.sharedAt < lifeMs * RENEWED;
    const sharedAt = isShared ? held.sharedAt : entry.askedAt;
    this.#first.set(key, Object.freeze({ ...entry, body: ownBytes(entry.body), sharedAt }), jittered(lifeMs));
    if (this.#second && !isShared) await this.#share(this.#second, sharedKey(key), entry, lifeMs);
  }

  /** The content as an entry. What is held already is not tagged, copied and shared again, as most refreshes would have it. */
  entryOf(key: string, { body, link }: Content, askedAt: number): Entry {
    const held = this.#first.get(key);
    if (held && held.link === link && held.body.equals(body))
      return { body: held.body, etag: held.etag, link, askedAt };
    return { body, etag: etagOf(body), link, askedAt };
  }

  /** One at a time under a name: of what is refreshed faster than Redis takes it, only the last has to get there. */
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

/** Small buffers are parts of a larger one, all of which would be held as long as they are. */
function ownBytes(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body;
  const own = Buffer.allocUnsafeSlow(body.length);
  body.copy(own);
  return own;
}

/** Of fixed length, and telling nothing of what was asked. */
function sharedKey(key: string): string {
  return `${FORMAT}:${hash('sha256', key, 'base64url')}`;
}

/** Two bytes a character is the most that a string takes. */
function sizeOf({ body, etag, link = '' }: ReadAnswer): number {
  return body.length + 2 * (etag.length + link.length);
}
