import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Metrics } from '../observability/metrics.ts';
import type { CachedPart, CallContext } from '../request/call-context.ts';
import { ListStore, MAX_LENGTH } from './list-store.ts';
import { ReadKeys } from './read-keys.ts';

interface Body {
  readonly body: string | Buffer;
}

/** A response, its generation, and the lists from which it was made. */
interface Kept<T> {
  response: T;
  readonly generation: string;
  readonly parts: readonly CachedPart[];
}

interface CachedRead {
  readonly operation: string;
  readonly params: object;
  readonly url: string;
  readonly call: CallContext;
}

/** A response. If its oldest list was not read for this request, it has the time of that list, in ms since the epoch. */
export interface Served<T> {
  readonly response: T;
  readonly askedAt: number | undefined;
}

const MAX_RESPONSES = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;
/**
 * The longest text that is kept as text, in UTF-16 units. Node writes a shorter text from its stack, and reserves three bytes a unit for
 * each longer one.
 */
const MAX_SENT_AS_TEXT = 5_000;

/**
 * Keeps the responses to reads in this process, in addition to the lists of the cache. A response is valid as long as its lists are the
 * same.
 */
@Injectable()
export class ResponseCache {
  readonly #kept = new LRUCache<string, Kept<Body>>({
    max: MAX_RESPONSES,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ response }, key) => 2 * (response.body.length + key.length),
  });

  constructor(
    private readonly lists: ListStore,
    private readonly keys: ReadKeys,
    private readonly metrics: Metrics,
  ) {}

  get isOn(): boolean {
    return this.lists.lifeMs > 0;
  }

  /**
   * Returns the response to a read. It is the kept one if its lists are the same. Otherwise `respond` makes it of the result of `handle`.
   */
  async serve<T extends Body>(
    read: CachedRead,
    handle: () => Promise<unknown>,
    respond: (result: unknown) => T,
  ): Promise<Served<T>> {
    const { operation, params, url, call } = read;
    const key = this.keys.of(operation, url, call);
    const asked = this.keys.generationOf(params, call);
    const kept = this.#kept.get(key) as Kept<T> | undefined;
    const keptAt = kept && !call.fresh ? this.#askedAt(kept.parts) : undefined;
    if (kept && keptAt !== undefined && kept.generation === (await asked)) {
      this.metrics.readCache(operation, 'hit');
      return { response: sentAgain(kept), askedAt: keptAt };
    }
    const [result, generation] = await Promise.all([handle(), asked]);
    if (generation === undefined) {
      this.metrics.readCache(operation, 'error');
      return { response: respond(result), askedAt: undefined };
    }
    const { parts, oldestPart: askedAt } = call.progress;
    this.metrics.readCache(operation, call.fresh ? 'bypass' : originOf(parts));
    // The lists may be unchanged, and another reader may have made the response of them already.
    const made = this.#kept.get(key) as Kept<T> | undefined;
    if (made?.generation === generation && isSame(made.parts, parts))
      return { response: sentAgain(made), askedAt };
    const response = respond(result);
    if (parts.length > 0 && response.body.length <= MAX_LENGTH)
      this.#kept.set(key, { response, parts, generation });
    return { response, askedAt };
  }

  /** Returns the time of the oldest of these lists. Undefined if one of the lists is gone or has another version. */
  #askedAt(parts: readonly CachedPart[]): number | undefined {
    let oldest = Infinity;
    for (const { key, version } of parts) {
      const list = this.lists.held(key);
      if (list?.version !== version) return undefined;
      oldest = Math.min(oldest, list.askedAt);
    }
    return oldest;
  }
}

/** Converts a long text to bytes at its second use, so that it is encoded once. */
function sentAgain<T extends Body>(kept: Kept<T>): T {
  const { response } = kept;
  const { body } = response;
  if (typeof body === 'string' && body.length > MAX_SENT_AS_TEXT)
    kept.response = { ...response, body: Buffer.from(body) };
  return kept.response;
}

/** Tells where the data of a new response comes from. */
function originOf(parts: readonly CachedPart[]): 'hit' | 'shared' | 'miss' {
  if (parts.some(({ askedAt }) => askedAt !== undefined)) return 'hit';
  return parts.some(({ isJoined }) => isJoined) ? 'shared' : 'miss';
}

function isSame(some: readonly CachedPart[], others: readonly CachedPart[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ key, version }, at) => others[at]?.key === key && others[at].version === version)
  );
}
