import { Cache } from '@nestjs/cache-manager';
import { HttpException, HttpStatus, Injectable } from '@nestjs/common';
import { CacheConfig } from '../config/app-config.ts';
import { Metrics } from '../observability/metrics.ts';
import { type Read, ReadKeys } from './read-keys.ts';

/** An answer as it is sent: its bytes, made once. */
export interface ReadAnswer {
  readonly body: Buffer;
  readonly etag: string;
  readonly link?: string;
}

export interface Entry extends ReadAnswer {
  /** Date.now() when the platform was asked. */
  readonly askedAt: number;
}

interface Found {
  readonly entry: Entry;
  readonly cached: boolean;
}

type Load = () => Promise<ReadAnswer>;

/** Larger answers are rare, slow to seal, and would push out everything else. */
const MAX_BYTES = 1024 * 1024;
const JITTER = 0.1;

/**
 * Answers of reads, for a few seconds: in the process, then in Redis. Equal reads at the same time share one call.
 * Whatever fails in here is a miss.
 */
@Injectable()
export class ReadCache {
  readonly #flights = new Map<string, Promise<Found>>();
  /** Answers on their way to Redis, each with the one that is to follow it. */
  readonly #sharing = new Map<string, Entry | undefined>();

  constructor(
    private readonly cache: Cache,
    private readonly keys: ReadKeys,
    private readonly config: CacheConfig,
    private readonly metrics: Metrics,
  ) {}

  get enabled(): boolean {
    return this.config.ttlMs > 0;
  }

  /** The answer, with its age where it was not made for this request. `fresh`: past the cache, and into it. */
  async read(read: Read, fresh: boolean, load: Load): Promise<ReadAnswer & { ageSeconds?: number }> {
    const key = await this.keys.of(read);
    if (key === undefined) {
      this.metrics.readCache(read.operation, 'error');
      return load();
    }
    if (fresh) {
      this.metrics.readCache(read.operation, 'bypass');
      return this.#refresh(key, load);
    }
    const running = this.#flights.get(key);
    const flight = running ?? this.#take(key, load);
    const started = performance.now();
    const found = await flight.catch((error: unknown) => {
      if (running && isOfOneCaller(error)) return undefined;
      throw error;
    });
    if (!found) return load();
    if (found.cached) {
      this.metrics.readCache(read.operation, 'hit');
      return { ...found.entry, ageSeconds: ageOf(found.entry) };
    }
    this.metrics.readCache(read.operation, running ? 'shared' : 'miss');
    if (running) read.call.upstreamMs += performance.now() - started;
    return found.entry;
  }

  /** A write on this path has ended, well or not, and its answer is not out yet. */
  async written(params: object): Promise<void> {
    if (this.enabled) await this.keys.written(params);
  }

  /** One look and at most one call for everybody who asks until the answer is kept: there is no gap for a second one. */
  #take(key: string, load: Load): Promise<Found> {
    const flight = this.#find(key, load);
    this.#flights.set(key, flight);
    void flight
      .then(({ entry, cached }) => (cached ? undefined : this.#keep(key, entry)))
      .catch(() => undefined)
      .finally(() => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
      });
    return flight;
  }

  async #find(key: string, load: Load): Promise<Found> {
    const held = await this.#held(key);
    return held ? { entry: held, cached: true } : { entry: await ask(load), cached: false };
  }

  async #refresh(key: string, load: Load): Promise<ReadAnswer> {
    const entry = await ask(load);
    // Nobody may join an older call any more, now that somebody has seen this answer.
    this.#flights.delete(key);
    void this.#keep(key, entry).catch(() => undefined);
    return entry;
  }

  async #held(key: string): Promise<Entry | undefined> {
    const [local, shared] = this.cache.stores;
    const near = await local?.get<Entry>(key);
    if (near) return near;
    const far = await shared?.get<Entry>(key).catch(() => undefined);
    if (!far) return undefined;
    // Copied for what is left of its life only; the clocks of two replicas cannot make that longer than a life.
    const leftMs = Math.min(this.config.ttlMs, far.askedAt + this.config.ttlMs - Date.now());
    if (leftMs >= 1) await local?.set(key, Object.freeze(far), leftMs);
    return far;
  }

  /** An answer that was asked for earlier than the one at its place (a slow read beside a refresh) is too late. */
  async #keep(key: string, entry: Entry): Promise<void> {
    if (entry.body.length > MAX_BYTES) return;
    const [local] = this.cache.stores;
    const held = await local?.get<Entry>(key);
    if (held && held.askedAt > entry.askedAt) return;
    await local?.set(key, Object.freeze(entry), this.#lifeMs());
    await this.#share(key, entry);
  }

  /** One at a time under a name: of what is refreshed faster than Redis takes it, only the last has to get there. */
  async #share(key: string, entry: Entry): Promise<void> {
    const [, shared] = this.cache.stores;
    if (!shared) return;
    if (this.#sharing.has(key)) {
      this.#sharing.set(key, entry);
      return;
    }
    try {
      for (let next: Entry | undefined = entry; next; next = this.#sharing.get(key)) {
        this.#sharing.set(key, undefined);
        await shared.set(key, next, this.#lifeMs());
      }
    } finally {
      this.#sharing.delete(key);
    }
  }

  #lifeMs(): number {
    return this.config.ttlMs * (1 - JITTER + 2 * JITTER * Math.random());
  }
}

async function ask(load: Load): Promise<Entry> {
  const askedAt = Date.now();
  return { ...(await load()), askedAt };
}

/** Of the one who made the call: its session may have ended, and those who joined may have another of the same user. */
function isOfOneCaller(error: unknown): boolean {
  return error instanceof HttpException && error.getStatus() === (HttpStatus.UNAUTHORIZED as number);
}

function ageOf({ askedAt }: Entry): number {
  return Math.max(0, Math.floor((Date.now() - askedAt) / 1000));
}
