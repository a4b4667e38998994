import { hash, randomUUID } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { BoundedStore } from './bounded-store.ts';

/** Longer than any cached answer lives. One that ends only costs misses. */
const KEPT_MS = 24 * 60 * 60 * 1000;
const LOCAL_ENTRIES = 10_000;
const LOCAL_BYTES = 4 * 1024 * 1024;
/** A Redis that hangs takes 250 ms a command: reads leave it alone for so long before they try again. */
const PAUSE_MS = 1_000;

/**
 * The generation of each tag, part of the keys of cached answers: a write makes a new one, and every answer that was
 * fetched before it is stored where nobody looks any more, on every replica.
 *
 * A generation is a random word and no counter: one that got lost (expiry, eviction, a restarted Redis) comes back as a word
 * that was never used, whereas a counter would start over and bring old answers back.
 */
@Injectable()
export class Generations implements OnModuleInit {
  readonly #local = new BoundedStore({ entries: LOCAL_ENTRIES, bytes: LOCAL_BYTES, sizeOf: () => 100 });
  /** Tags whose new generation Redis has not taken yet, each with the number of the write that wants it. */
  readonly #owed = new Map<string, number>();
  readonly #prefix: string;
  #writes = 0;
  #pausedUntil = 0;

  constructor(
    upstream: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly log: Log,
  ) {
    // In braces what decides the slot: MGET needs all of them in one.
    this.#prefix = `{${environmentName(upstream.baseUrl)}:gen}:`;
  }

  onModuleInit(): void {
    this.redis.client?.on('ready', () => void this.#settle().catch(() => undefined));
  }

  /** In the order of the tags; undefined where they cannot be had, and then nothing may be cached. */
  async current(tags: readonly string[]): Promise<readonly string[] | undefined> {
    const { client } = this.redis;
    if (!client) return tags.map((tag) => this.#localOf(tag));
    if (performance.now() < this.#pausedUntil) return undefined;
    try {
      await this.#settle();
      const keys = tags.map((tag) => this.#key(tag));
      const found = await client.mget(keys);
      if (found.every((word) => word !== null)) return found;
      // Two readers may find the same one missing: the first word stands.
      await Promise.all(keys.map((key) => client.set(key, randomUUID(), 'PX', KEPT_MS, 'NX')));
      const made = await client.mget(keys);
      return made.every((word) => word !== null) ? made : undefined;
    } catch (error) {
      this.#pausedUntil = performance.now() + PAUSE_MS;
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
    if (!this.redis.client) {
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

  async #settle(): Promise<void> {
    const { client } = this.redis;
    if (!client || this.#owed.size === 0) return;
    const owed = [...this.#owed];
    await Promise.all(owed.map(([tag]) => client.set(this.#key(tag), randomUUID(), 'PX', KEPT_MS)));
    // A write that came in between may have ended upstream after the command: its own is still owed.
    for (const [tag, write] of owed) if (this.#owed.get(tag) === write) this.#owed.delete(tag);
  }

  #localOf(tag: string): string {
    const known = this.#local.get(tag);
    if (typeof known === 'string') return known;
    const made = randomUUID();
    this.#local.set(tag, made);
    return made;
  }

  /** Tags carry ids as callers sent them, of any length. */
  #key(tag: string): string {
    return this.#prefix + hash('sha256', tag, 'base64url').slice(0, 22);
  }
}
