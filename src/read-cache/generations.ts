import { hash, randomUUID } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { BoundedStore } from './bounded-store.ts';

/** Longer than any cached answer lives. One that ends only costs misses. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** No hash looks like one with a colon, or like the few short ones. */
const PLAIN_TAG = /^([a-z]+:[\w-]{1,64}|[a-z]{1,8})$/;
const LOCAL_ENTRIES = 10_000;
const LOCAL_BYTES = 4 * 1024 * 1024;

/** Generations that are asked for at once, for all readers of a moment. */
interface Lookup {
  readonly keys: Set<string>;
  readonly words: PromiseWithResolvers<ReadonlyMap<string, string | null>>;
}

/**
 * The generation of each tag, part of the keys of cached answers: a write makes a new one, and every answer that was
 * fetched before it is stored where nobody looks any more, on every replica.
 *
 * A generation is a random word and no counter: one that got lost (expiry, eviction, a restarted Redis) comes back as a word
 * that was never used, whereas a counter would start over and bring old answers back.
 */
@Injectable()
export class Generations implements OnModuleInit {
  readonly #local = new BoundedStore<string>({
    entries: LOCAL_ENTRIES,
    bytes: LOCAL_BYTES,
    sizeOf: () => 100,
  });
  /** Tags whose new generation Redis has not taken yet, each with the number of the write that wants it. */
  readonly #owed = new Map<string, number>();
  readonly #prefix: string;
  #writes = 0;
  #isLookingUp = false;
  /** What is asked for once Redis has answered the last lookup. */
  #next: Lookup | undefined;

  constructor(
    upstream: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    // In braces what decides the slot: MGET needs all of them in one.
    this.#prefix = `{${environmentName(upstream.baseUrl)}:gen}:`;
  }

  onModuleInit(): void {
    this.redis.onReady(() => void this.#settle().catch(() => undefined));
  }

  /** In the order of the tags; undefined where they cannot be had, and then nothing may be cached. */
  async current(tags: readonly string[]): Promise<readonly string[] | undefined> {
    if (!this.redis.configured) return tags.map((tag) => this.#localOf(tag));
    try {
      if (this.#owed.size > 0) await this.#settle();
      const keys = tags.map((tag) => this.#key(tag));
      const found = await this.#look(keys);
      if (found.every(isWord)) return found;
      // Two readers may find the same one missing: the first word stands.
      await this.#setAll(keys, 'NX');
      const made = await this.#look(keys);
      if (made.every(isWord)) return made;
      // Something of another type is at the place of one. The next reader finds a word.
      this.metrics.unreadable('cache');
      await this.#setAll(keys.filter((_, index) => !isWord(made[index])));
      return undefined;
    } catch (error) {
      this.log.debug(
        { event: 'cache-generations', reason: (error as Error).name },
        'Redis did not serve the cache; reads go upstream',
      );
      return undefined;
    }
  }

  /**
   * After a write, before its answer. Never fails: while Redis is away this replica reads upstream, and the tags are
   * renewed before it reads from the cache again. Other replicas that still reach Redis see the write at the end of the lifetime.
   */
  async advance(tags: readonly string[]): Promise<void> {
    if (!this.redis.configured) {
      for (const tag of tags) this.#local.set(tag, randomUUID());
      return;
    }
    const write = ++this.#writes;
    for (const tag of tags) this.#owed.set(tag, write);
    await this.#settle().catch((error: unknown) => {
      this.log.warn(
        { event: 'cache-not-advanced', reason: (error as Error).name },
        'Redis did not take a write; other replicas may serve the old answers to the end of their lifetime',
      );
    });
  }

  /** One command for all who ask while another is under way: whoever comes is told what Redis knows afterwards, never before. */
  async #look(keys: readonly string[]): Promise<readonly (string | null)[]> {
    const lookup = (this.#next ??= { keys: new Set(), words: Promise.withResolvers() });
    for (const key of keys) lookup.keys.add(key);
    if (!this.#isLookingUp) void this.#lookUpOn();
    const words = await lookup.words.promise;
    return keys.map((key) => words.get(key) ?? null);
  }

  async #lookUpOn(): Promise<void> {
    this.#isLookingUp = true;
    for (let lookup = this.#next; lookup; lookup = this.#next) {
      this.#next = undefined;
      const keys = [...lookup.keys];
      try {
        const found = await this.redis.run((client) => client.mget(keys));
        lookup.words.resolve(new Map(keys.map((key, index) => [key, found[index] ?? null])));
      } catch (error) {
        lookup.words.reject(error);
      }
    }
    this.#isLookingUp = false;
  }

  async #settle(): Promise<void> {
    if (this.#owed.size === 0) return;
    const owed = [...this.#owed];
    await this.#setAll(owed.map(([tag]) => this.#key(tag)));
    // A write that came in between may have ended upstream after the command: its own is still owed.
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

  /** Tags carry ids as callers sent them, of any length and with any character. */
  #key(tag: string): string {
    return this.#prefix + (PLAIN_TAG.test(tag) ? tag : hash('sha256', tag, 'base64url').slice(0, 22));
  }
}

function isWord(found: string | null | undefined): found is string {
  return typeof found === 'string';
}
