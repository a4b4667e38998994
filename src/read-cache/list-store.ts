import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CacheConfig } from '../config/app-config.ts';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { inBackground } from '../shared/edge.ts';
import { RedisLists, type SharedList } from './redis-store.ts';
import type { LastResponse } from '../upstream/classify.ts';

/** A list of the platform, or another result of a read. Readers share it, so they must not change it. */
export interface List<T> {
  readonly value: T;
  /** The length of the text that the platform sent. */
  readonly length: number;
  /** The Date.now() at which the platform was asked. */
  readonly askedAt: number;
  /** The generation of the data when the platform was asked. A reader with another generation must not use the list. */
  readonly generation: string;
  /** The number of the value. Each value that this process has received has its own number, and an unchanged list keeps it. */
  readonly version: number;
  /** The platform's response, if this process received it. */
  readonly last?: LastResponse | undefined;
}

export interface TextForm<T> {
  readonly toText: (value: T) => string;
  readonly fromText: (text: string) => T;
}

/** A list in this process; `sharedAt` is the time of the copy in Redis, or of the one that is to be written there in a moment. */
interface LocalList extends List<unknown> {
  readonly sharedAt: number;
}

const LOCAL_LISTS = 1_000;
/** A share of the heap, so that a small process has memory for requests. Further lists are in Redis. */
const LOCAL_BYTES = Math.floor(Math.min(24 * 1024 * 1024, getHeapStatistics().heap_size_limit / 16));
/** The longest response that is cached. Longer ones are rare, slow to seal, and would displace all other lists. */
export const MAX_LENGTH = 1024 * 1024;
/** The bytes in memory for each byte of text. A list is kept as text and as objects, which take about three times as much. */
const BYTES_FOR_EACH = 4;
const JITTER = 0.1;
/** The share of its life after which an unchanged copy in Redis is renewed. */
const RENEWED = 0.1;
/**
 * The shortest time between two writes of a list to Redis, in ms. Sealing and storing a list is a seventh of what a read past the cache
 * costs, and some callers read one list past the cache many times a second.
 */
const SHARE_GAP_MS = 100;
/** The beginning of every key in Redis, which names the format of its value. */
const FORMAT = 'r5:';

/** Stores lists in the process and in Redis. A failure of Redis is a miss. */
@Injectable()
export class ListStore {
  readonly #first = new LRUCache<string, LocalList>({
    max: LOCAL_LISTS,
    maxSize: LOCAL_BYTES,
    sizeCalculation: ({ length }, key) => BYTES_FOR_EACH * length + 2 * key.length,
    ttlResolution: 0,
  });
  readonly #second: RedisLists | undefined;
  /** Lists for which Redis is asked at the moment. */
  readonly #asked = new SingleFlight<List<unknown> | undefined>();
  /** Lists that are written to Redis now or in a moment, each with the list that is to be written next. */
  readonly #sharing = new Map<string, List<unknown> | undefined>();
  /** The life of a list in ms. 0 if nothing is cached. */
  readonly lifeMs: number;
  #versions = 0;

  constructor(redis: SharedRedis, { ttlMs }: CacheConfig) {
    const sealer = redis.sealed('cache');
    this.#second = sealer && new RedisLists(redis, sealer);
    this.lifeMs = ttlMs;
  }

  newVersion(): number {
    return ++this.#versions;
  }

  /** Reads the first level only, without waiting. The key tells the type of the value. */
  held<T>(key: string): List<T> | undefined {
    return this.#first.get(key) as List<T> | undefined;
  }

  /** Reads the second level and copies the list into the first. Never fails. */
  find<T>(key: string, form: TextForm<T>): Promise<List<T> | undefined> {
    return this.#asked.run(key, () => this.#find(key, form)) as Promise<List<T> | undefined>;
  }

  async #find<T>(key: string, form: TextForm<T>): Promise<List<T> | undefined> {
    const found = await this.#second?.get(FORMAT + key).catch(() => undefined);
    if (!found) return undefined;
    const { text, generation } = found;
    // The clock of the replica that asked may be ahead: a list that this process asks for from now on is newer all the same.
    const askedAt = Math.min(found.askedAt, Date.now());
    const held = this.#first.get(key);
    const isNewer = held !== undefined && held.askedAt >= askedAt;
    if (isNewer && held.generation === generation) return held as List<T>;
    const version = this.newVersion();
    const list = { value: form.fromText(text), length: text.length, askedAt, generation, version };
    // The copy lives only for the rest of the list's life. Different clocks of replicas cannot make this longer than a whole life.
    const leftMs = Math.min(this.lifeMs, askedAt + this.lifeMs - Date.now());
    if (leftMs >= 1 && !isNewer) this.#first.set(key, { ...list, sharedAt: askedAt }, { ttl: leftMs });
    return list;
  }

  /**
   * Stores a list, unless it was requested earlier than the stored one (a slow read during a refresh). Most refreshes find an unchanged
   * list, which is not written to Redis again.
   */
  async keep<T>(key: string, list: List<T>, form: TextForm<T>): Promise<void> {
    const { length, askedAt, version, generation } = list;
    if (length > MAX_LENGTH) return;
    const found = this.#first.get(key);
    // A list with a time to come is from before the clock stepped back.
    const held = found && found.askedAt <= Date.now() ? found : undefined;
    if (held && held.askedAt > askedAt) return;
    const isSame = held?.version === version && held.generation === generation;
    const isShared = isSame && askedAt - held.sharedAt < this.lifeMs * RENEWED;
    const sharedAt = isShared ? held.sharedAt : this.#nextShareAt(list, held);
    this.#first.set(key, { ...list, sharedAt }, { ttl: this.#jitteredLifeMs() });
    if (!this.#second || isShared) return;
    const share = this.#share(this.#second, key, list, form, sharedAt - askedAt);
    // The call, which other readers join until this promise is settled, must not outlast the life of the list.
    if (sharedAt === askedAt) await share;
  }

  /** Returns when a list is to be written to Redis: at once, unless that was done or planned a moment ago for the same generation. */
  #nextShareAt({ askedAt, generation }: List<unknown>, held: LocalList | undefined): number {
    if (held?.generation !== generation || askedAt - held.sharedAt >= SHARE_GAP_MS) return askedAt;
    return held.sharedAt > askedAt ? held.sharedAt : held.sharedAt + SHARE_GAP_MS;
  }

  /**
   * Writes a list to Redis after `waitMs`. If the list is refreshed in the meantime, only the last one is written. Never fails: for other
   * replicas a failure of Redis is a miss.
   */
  async #share<T>(second: RedisLists, key: string, list: List<T>, form: TextForm<T>, waitMs: number) {
    const isUnderWay = this.#sharing.has(key);
    this.#sharing.set(key, list);
    if (isUnderWay) return;
    if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
    const { askedAt, generation, value } = this.#sharing.get(key) as List<T>;
    this.#sharing.set(key, undefined);
    const shared: SharedList = { text: form.toText(value), askedAt, generation };
    await second.set(FORMAT + key, shared, this.#jitteredLifeMs()).catch(() => undefined);
    const next = this.#sharing.get(key) as List<T> | undefined;
    this.#sharing.delete(key);
    if (next) inBackground('list for replicas', () => this.#share(second, key, next, form, SHARE_GAP_MS));
  }

  #jitteredLifeMs(): number {
    return this.lifeMs * (1 - JITTER + 2 * JITTER * Math.random());
  }
}
