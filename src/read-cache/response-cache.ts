import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Metrics } from '../observability/metrics.ts';
import type { CachedPart, CallContext } from '../request/call-context.ts';
import { ListStore, MAX_LENGTH } from './list-store.ts';
import { ReadKeys } from './read-keys.ts';

interface Body {
  readonly body: string | Buffer;
}

/** A response, with the generation and the lists that it was made of. */
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

/** A response, with the time of its oldest list where that was not read for this request, in ms since the epoch. */
export interface Served<T> {
  readonly response: T;
  readonly askedAt: number | undefined;
}

const MAX_RESPONSES = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** In UTF-16 units. Node writes a shorter text from its stack, and reserves three bytes a unit for each longer one. */
const MAX_SENT_AS_TEXT = 5_000;

/** Keeps the responses to reads in this process, beside the lists of the cache that they were made of, for as long as these are the same. */
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

  /** The response to a read: as kept where its lists are the same, else `respond` makes it of what `handle` returns. */
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
    // The lists may not have changed, and another reader may have made it of them meanwhile.
    const made = this.#kept.get(key) as Kept<T> | undefined;
    if (made?.generation === generation && isSame(made.parts, parts))
      return { response: sentAgain(made), askedAt };
    const response = respond(result);
    if (parts.length > 0 && response.body.length <= MAX_LENGTH)
      this.#kept.set(key, { response, parts, generation });
    return { response, askedAt };
  }

  /** The time of the oldest of these lists; undefined where one of them is not held any more, or another version of it. */
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

/** A long text becomes bytes when it is sent again, so that it is encoded once. */
function sentAgain<T extends Body>(kept: Kept<T>): T {
  const { response } = kept;
  const { body } = response;
  if (typeof body === 'string' && body.length > MAX_SENT_AS_TEXT)
    kept.response = { ...response, body: Buffer.from(body) };
  return kept.response;
}

/** Where a response comes from that was made for this request. */
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
