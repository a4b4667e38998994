import { hash, randomUUID } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CacheConfig, UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { Batcher } from '../kit/batcher/batcher.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { edge } from '../shared/edge.ts';
import type { AskedGeneration, CallContext, Grants } from '../request/call-context.ts';

/** The life of a generation. It is longer than the life of any cached response, so the end of a generation only causes misses. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** A tag that is used unchanged. Tags with a colon, and the few short ones, cannot be mistaken for a hash. */
const PLAIN_TAG = /^([a-z]+:[\w-]{1,64}|[a-z]{1,8})$/;
const LOCAL_BYTES = 4 * 1024 * 1024;

/**
 * The generation of each tag, which is kept with cached responses. A write makes a new one, so that no replica uses a response that was
 * fetched before the write.
 *
 * A generation is a random word, not a counter. If one is lost (expiry, eviction, a restarted Redis), the next one is a word that was never
 * used. A counter would start again and bring old responses back.
 */
@Injectable()
export class Generations implements OnModuleInit {
  readonly #local = new LRUCache<string, string>({
    maxSize: LOCAL_BYTES,
    sizeCalculation: (_, key) => 100 + 2 * key.length,
  });
  /** Tags whose new generation Redis has not stored yet, each with the number of the write that needs it. */
  readonly #owed = new Map<string, number>();
  readonly #prefix: string;
  readonly #isOn: boolean;
  readonly #watches: ((enterprises: readonly string[], order?: object) => void)[] = [];
  #writes = 0;
  /**
   * Makes new generations for writes. Writes that end in one turn of the event loop, or while Redis stores the generations of other writes,
   * share new ones. Redis is called after the last of them has ended, so no read finds a response that was fetched before it.
   */
  readonly #settling = new Batcher<void, void>(
    'cache',
    (writes) => this.#settle().then(() => writes),
    (send) => this.redis.atEndOfTurn(send),
  );
  /**
   * Looks generations up at the end of a turn of the event loop, for all readers of that turn, in one write with the rates of their
   * callers.
   */
  readonly #words = new Batcher<readonly string[], readonly (string | null)[]>(
    'cache',
    (readers) => this.#lookUp(readers),
    (send) => this.redis.atEndOfTurn(send),
  );

  constructor(
    upstream: UpstreamConfig,
    { ttlMs }: CacheConfig,
    private readonly redis: SharedRedis,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.#isOn = ttlMs > 0;
    // The part in braces decides the slot, because MGET needs all keys in one slot.
    this.#prefix = `{${environmentName(upstream.baseUrl)}:gen}:`;
  }

  onModuleInit(): void {
    this.redis.onReady(edge('cache', () => this.#settle().catch(() => undefined)));
  }

  /**
   * Asks for the generation of a read with this path as soon as the read arrives, before its handler runs, so that Redis replies to this
   * and to the rate of its caller at once. The promise never rejects. Undefined if nothing is cached.
   */
  ask(params: object): AskedGeneration | undefined {
    if (!this.#isOn) return undefined;
    const enterprise = enterpriseOf(params);
    return { enterprise, word: this.current(tagsOfRead(enterprise)).then((words) => words?.join()) };
  }

  /**
   * `watch` is called for each write of this process that has ended, with the enterprises of which it may have changed something, and with
   * the record of an order. It must neither throw nor wait.
   */
  onWrite(watch: (enterprises: readonly string[], order?: object) => void): void {
    this.#watches.push(watch);
  }

  /**
   * Called when a write on this path has succeeded or failed, before its response. `of`: the enterprises of a write whose path names none.
   * `order`: the record of an order that may have been carried out. Never fails.
   */
  async written(params: object, of: readonly string[] = [], order?: object): Promise<void> {
    const enterprises = [...of, enterpriseOf(params) ?? ''].filter((each) => each !== '');
    for (const watch of this.#watches) watch(enterprises, order);
    if (this.#isOn) await this.advance(tagsOfWrite(enterpriseOf(params)));
  }

  /** Returns the generations in the order of the tags. Undefined if Redis is not available; nothing may be cached then. */
  async current(tags: readonly string[]): Promise<readonly string[] | undefined> {
    if (!this.redis.configured) return tags.map((tag) => this.#localOf(tag));
    try {
      if (this.#owed.size > 0) await this.#settle();
      const keys = tags.map((tag) => this.#key(tag));
      const found = await this.#words.add(keys);
      if (found.every(isWord)) return found;
      // Two readers may both find that the generation is missing. NX keeps the first word.
      await this.#setAll(keys, 'NX');
      const made = await this.#words.add(keys);
      if (made.every(isWord)) return made;
      // A key has a value of another type. It is overwritten, so the next reader finds a word.
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
   * Makes a new generation of each tag. While Redis is away, this replica reads from the platform, and makes the generations before it
   * reads from the cache again. Other replicas that still reach Redis see the write at the end of the lifetime.
   */
  async advance(tags: readonly string[]): Promise<void> {
    if (!this.redis.configured) {
      for (const tag of tags) this.#local.set(tag, randomUUID());
      return;
    }
    const write = ++this.#writes;
    for (const tag of tags) this.#owed.set(tag, write);
    await this.#settling.add().catch((error: unknown) => {
      this.log.warn(
        { event: 'cache-not-advanced', reason: (error as Error).name },
        'Redis did not store the invalidation of a write; other replicas may serve old responses until the end of their lifetime',
      );
    });
  }

  async #lookUp(readers: readonly (readonly string[])[]): Promise<(string | null)[][]> {
    const all = [...new Set(readers.flat())];
    const found = await this.redis.run((client) => client.mget(all));
    const words = new Map(all.map((key, index) => [key, found[index] ?? null]));
    return readers.map((keys) => keys.map((key) => words.get(key) ?? null));
  }

  async #settle(): Promise<void> {
    if (this.#owed.size === 0) return;
    const owed = [...this.#owed];
    await this.#setAll(owed.map(([tag]) => this.#key(tag)));
    // A write since the command may have ended on the platform after it, so the tag of that write stays owed.
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

  /** Returns the key of a tag. Tags contain ids as callers sent them, of any length and with any character. */
  #key(tag: string): string {
    return this.#prefix + (PLAIN_TAG.test(tag) ? tag : shortHash(tag));
  }
}

/** Returns 22 characters of base64url, which are 132 bits. */
function shortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

function isWord(found: string | null | undefined): found is string {
  return typeof found === 'string';
}

/**
 * The keys of cached data: platform, operation, query, user and rights. The value contains the generation of the data, which is read before
 * the platform is called. A response that a write overtakes is therefore kept under a generation that no later read has.
 */
@Injectable()
export class ReadKeys {
  readonly #environment: string;
  readonly #rights = new WeakMap<Grants, string>();

  constructor(
    private readonly generations: Generations,
    { baseUrl, appKey, timestampUnit }: UpstreamConfig,
  ) {
    this.#environment = shortHash(JSON.stringify([baseUrl.href, appKey.reveal(), timestampUnit]));
  }

  /** Returns undefined if the generation is not available. */
  generationOf(params: object, { generation: asked }: CallContext): Promise<string | undefined> {
    const isAsked = asked !== undefined && asked.enterprise === enterpriseOf(params);
    return (isAsked ? asked : this.generations.ask(params))?.word ?? Promise.resolve(undefined);
  }

  /** Returns the key of a list. Redis sees the key too, so it has a fixed length and does not reveal the query. */
  ofList(operation: string, query: readonly unknown[], call: CallContext): string {
    return hash('sha256', this.of(operation, query, call), 'base64url');
  }

  /** Returns the key of a read. `what` is the path and query of a request, or the ids and query of a list. */
  of(
    operation: string,
    what: string | readonly unknown[],
    { user, caller: { grants } }: CallContext,
  ): string {
    const { kind, name } = user ?? {};
    return JSON.stringify([this.#environment, operation, what, kind, name, this.#rightsOf(grants)]);
  }

  #rightsOf(grants: Grants): string {
    const known = this.#rights.get(grants);
    if (known !== undefined) return known;
    const granted = JSON.stringify([[...grants.enterprises].sort(), [...grants.channels].sort()]);
    const rights = shortHash(granted);
    this.#rights.set(grants, rights);
    return rights;
  }
}

/** Returns the tags of a read. A read that names no enterprise may show data of any. */
function tagsOfRead(enterprise: string | undefined): string[] {
  return enterprise === undefined ? ['any'] : ['all', `enterprise:${enterprise}`];
}

/** Returns the tags of a write. A write that names no enterprise (orders, customers, asset numbers) may change data of any. */
function tagsOfWrite(enterprise: string | undefined): string[] {
  return ['any', enterprise === undefined ? 'all' : `enterprise:${enterprise}`];
}

function enterpriseOf(params: object): string | undefined {
  return (params as { enterpriseGlobalId?: string }).enterpriseGlobalId;
}
