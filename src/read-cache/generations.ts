import { hash, randomUUID } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { BoundedStore } from './bounded-store.ts';
import { edge } from '../shared/edge.ts';

/** Longer than the life of any cached response. The end of a generation only causes misses. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Tags with a colon, and the few short ones, cannot be mistaken for a hash. */
const PLAIN_TAG = /^([a-z]+:[\w-]{1,64}|[a-z]{1,8})$/;
const LOCAL_ENTRIES = 10_000;
const LOCAL_BYTES = 4 * 1024 * 1024;

/** Generations that are read with one command, for all readers of a moment. */
interface Lookup {
  readonly keys: Set<string>;
  readonly words: PromiseWithResolvers<ReadonlyMap<string, string | null>>;
}

/**
 * The generation of each tag, which is part of the keys of cached responses. A write makes a new one, so that no replica finds a
 * response that was fetched before the write.
 *
 * A generation is a random word, not a counter. Where one is lost (expiry, eviction, a restarted Redis), the next is a word that
 * was never used, whereas a counter would start again and return old responses.
 */
@Injectable()
export class Generations implements OnModuleInit {
  readonly #local = new BoundedStore<string>({
    entries: LOCAL_ENTRIES,
    bytes: LOCAL_BYTES,
    sizeOf: () => 100,
  });
  /** Tags whose new generation Redis has not stored yet, each with the number of the write that needs it. */
  readonly #owed = new Map<string, number>();
  readonly #prefix: string;
  #writes = 0;
  #settling: Promise<void> = Promise.resolve();
  /** Begins after {@link #settling}: writes that end until then share it. */
  #nextSettling: Promise<void> | undefined;
  #isLookingUp = false;
  /** The next command, sent once Redis has replied to the current one. */
  #next: Lookup | undefined;

  constructor(
    upstream: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    // The part in braces decides the slot: MGET needs all keys in one.
    this.#prefix = `{${environmentName(upstream.baseUrl)}:gen}:`;
  }

  onModuleInit(): void {
    this.redis.onReady(edge('cache', () => this.#settle().catch(() => undefined)));
  }

  /** The generations in the order of the tags; undefined where Redis is not available, and then nothing may be cached. */
  async current(tags: readonly string[]): Promise<readonly string[] | undefined> {
    if (!this.redis.configured) return tags.map((tag) => this.#localOf(tag));
    try {
      if (this.#owed.size > 0) await this.#settle();
      const keys = tags.map((tag) => this.#key(tag));
      const found = await this.#lookUp(keys);
      if (found.every(isWord)) return found;
      // Two readers may find the same generation missing: the first word stays.
      await this.#setAll(keys, 'NX');
      const made = await this.#lookUp(keys);
      if (made.every(isWord)) return made;
      // A key has a value of another type. The next reader finds a word.
      this.metrics.count('gateway_redis_unreadable_total', { store: 'cache' });
      await this.#setAll(keys.filter((_, index) => !isWord(made[index])));
      return undefined;
    } catch (error) {
      this.log.debug(
        { event: 'cache-generations', reason: (error as Error).name },
        'Redis did not serve the cache; reads go to the platform',
      );
      return undefined;
    }
  }

  /**
   * Called after a write, before its response. Never fails: while Redis is away this replica reads from the platform, and renews
   * the tags before it reads from the cache again. Other replicas that still reach Redis see the write at the end of the lifetime.
   */
  async advance(tags: readonly string[]): Promise<void> {
    if (!this.redis.configured) {
      for (const tag of tags) this.#local.set(tag, randomUUID());
      return;
    }
    const write = ++this.#writes;
    for (const tag of tags) this.#owed.set(tag, write);
    await this.#settleTogether().catch((error: unknown) => {
      this.log.warn(
        { event: 'cache-not-advanced', reason: (error as Error).name },
        'Redis did not store the invalidation of a write; other replicas may serve old responses until the end of their lifetime',
      );
    });
  }

  /**
   * One command serves all readers that come while another command runs. A reader never gets the reply to a command that was sent
   * before it came.
   */
  async #lookUp(keys: readonly string[]): Promise<readonly (string | null)[]> {
    const lookup = (this.#next ??= { keys: new Set(), words: Promise.withResolvers() });
    for (const key of keys) lookup.keys.add(key);
    if (!this.#isLookingUp) this.#lookUpAtEndOfTurn();
    const words = await lookup.words.promise;
    return keys.map((key) => words.get(key) ?? null);
  }

  /** Includes the readers that this turn of the event loop still brings. The rates of their callers are asked in the same write. */
  #lookUpAtEndOfTurn(): void {
    this.#isLookingUp = true;
    const giveUp = () => {
      this.#isLookingUp = false;
      this.#next?.words.reject(new Error('the look-up failed'));
      this.#next = undefined;
    };
    this.redis.atEndOfTurn(edge('cache', () => this.#lookUpNext(), giveUp));
  }

  async #lookUpNext(): Promise<void> {
    const lookup = this.#next;
    this.#next = undefined;
    if (lookup) {
      const keys = [...lookup.keys];
      try {
        const found = await this.redis.run((client) => client.mget(keys));
        lookup.words.resolve(new Map(keys.map((key, index) => [key, found[index] ?? null])));
      } catch (error) {
        lookup.words.reject(error);
      }
    }
    this.#isLookingUp = false;
    if (this.#next) this.#lookUpAtEndOfTurn();
  }

  /**
   * Writes that end in one turn of the event loop, or while Redis stores the generations of others, share their new ones. Redis is asked
   * after the last of them has ended, so no read finds a response that was fetched before it.
   */
  #settleTogether(): Promise<void> {
    this.#nextSettling ??= this.#settling
      .catch(() => undefined)
      .then(() => endOfTurn())
      .then(() => {
        this.#nextSettling = undefined;
        return (this.#settling = this.#settle());
      });
    return this.#nextSettling;
  }

  async #settle(): Promise<void> {
    if (this.#owed.size === 0) return;
    const owed = [...this.#owed];
    await this.#setAll(owed.map(([tag]) => this.#key(tag)));
    // A write that came in between may have ended on the platform after the command, so its tag stays owed.
    for (const [tag, write] of owed) if (this.#owed.get(tag) === write) this.#owed.delete(tag);
  }

  #setAll(keys: readonly string[], onlyNew?: 'NX'): Promise<unknown> {
    return this.redis.run((client) =>
      Promise.all(
        keys.map((key) =>
          onlyNew
            ? client.set(key, randomUUID(), 'PX', KEPT_MS, onlyNew)
            : client.set(key, randomUUID(), 'PX', KEPT_MS),
        ),
      ),
    );
  }

  #localOf(tag: string): string {
    const known = this.#local.get(tag);
    if (known !== undefined) return known;
    const made = randomUUID();
    this.#local.set(tag, made);
    return made;
  }

  /** Tags contain ids as callers sent them, of any length and with any character. */
  #key(tag: string): string {
    return this.#prefix + (PLAIN_TAG.test(tag) ? tag : hash('sha256', tag, 'base64url').slice(0, 22));
  }
}

function isWord(found: string | null | undefined): found is string {
  return typeof found === 'string';
}
