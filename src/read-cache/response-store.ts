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
interface NearEntry extends Entry {
  readonly sharedAt: number;
}

const NEAR_ENTRIES = 1_000;
const NEAR_BYTES = 32 * 1024 * 1024;
/** Larger answers are rare, slow to seal, and would push out everything else. */
const MAX_BYTES = 1024 * 1024;
const JITTER = 0.1;
/** Of its life: what Redis has is renewed no sooner, where nothing changed. */
const RENEWED = 0.1;
/** Changes with the shape of what is stored. */
const FORMAT = 'r2';

/** Where answers are kept: in the process, and behind Nest's cache in Redis. The latter may fail: then they are missing there. */
@Injectable()
export class ResponseStore {
  readonly #near = new BoundedStore<NearEntry>({ entries: NEAR_ENTRIES, bytes: NEAR_BYTES, sizeOf });
  readonly #far: Cache | undefined;
  /** Answers on their way to Redis, each with the one that is to follow it. */
  readonly #sharing = new Map<string, Entry | undefined>();

  constructor(
    cache: Cache,
    redis: SharedRedis,
    private readonly config: CacheConfig,
  ) {
    if (redis.configured) this.#far = cache;
  }

  get enabled(): boolean {
    return this.config.ttlMs > 0;
  }

  /** From the process only, without waiting. */
  peek(key: string): Entry | undefined {
    return this.#near.get(key);
  }

  async get(key: string): Promise<Entry | undefined> {
    const far = await this.#far?.get<Entry>(farKey(key)).catch(() => undefined);
    if (!far) return undefined;
    // Copied for what is left of its life only; the clocks of two replicas cannot make that longer than a life.
    const leftMs = Math.min(this.config.ttlMs, far.askedAt + this.config.ttlMs - Date.now());
    if (leftMs >= 1) this.#near.set(key, Object.freeze({ ...far, sharedAt: far.askedAt }), leftMs);
    return far;
  }

  /** An answer that was asked for earlier than the one at its place (a slow read beside a refresh) is too late. */
  async keep(key: string, entry: Entry): Promise<void> {
    if (entry.body.length > MAX_BYTES) return;
    const held = this.#near.get(key);
    if (held && held.askedAt > entry.askedAt) return;
    const isShared = held?.body === entry.body && entry.askedAt - held.sharedAt < this.config.ttlMs * RENEWED;
    const sharedAt = isShared ? held.sharedAt : entry.askedAt;
    this.#near.set(key, Object.freeze({ ...entry, body: ownBytes(entry.body), sharedAt }), this.#lifeMs());
    if (this.#far && !isShared) await this.#share(this.#far, farKey(key), entry);
  }

  /** The content as an entry. What is held already is not tagged, copied and shared again, as most refreshes would have it. */
  entryOf(key: string, { body, link }: Content, askedAt: number): Entry {
    const held = this.#near.get(key);
    if (held && held.link === link && held.body.equals(body))
      return { body: held.body, etag: held.etag, link, askedAt };
    return { body, etag: etagOf(body), link, askedAt };
  }

  /** One at a time under a name: of what is refreshed faster than Redis takes it, only the last has to get there. */
  async #share(far: Cache, key: string, entry: Entry): Promise<void> {
    if (this.#sharing.has(key)) {
      this.#sharing.set(key, entry);
      return;
    }
    try {
      for (let next: Entry | undefined = entry; next; next = this.#sharing.get(key)) {
        this.#sharing.set(key, undefined);
        await far.set(key, next, this.#lifeMs());
      }
    } finally {
      this.#sharing.delete(key);
    }
  }

  #lifeMs(): number {
    return this.config.ttlMs * (1 - JITTER + 2 * JITTER * Math.random());
  }
}

/** Small buffers are parts of a larger one, all of which would be held as long as they are. */
function ownBytes(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body;
  const own = Buffer.allocUnsafeSlow(body.length);
  body.copy(own);
  return own;
}

/** Of fixed length, and telling nothing of what was asked. */
function farKey(key: string): string {
  return `${FORMAT}:${hash('sha256', key, 'base64url')}`;
}

/** Two bytes a character is the most that a string takes. */
function sizeOf({ body, etag, link = '' }: ReadAnswer): number {
  return body.length + 2 * (etag.length + link.length);
}
