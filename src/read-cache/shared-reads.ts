import { Injectable } from '@nestjs/common';
import type { CallContext } from '../upstream/call-context.ts';
import { ReadCache } from './read-cache.ts';

/** A read of the platform and the parameters of its cache key. */
export interface Source {
  readonly name: string;
  readonly enterpriseGlobalId?: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

/**
 * Caches lists that the platform sends whole as one entry. Several operations, filters and pages use it, and it is fetched once for
 * all of them. Values must not be changed, because readers share them.
 */
@Injectable()
export class SharedReads {
  constructor(private readonly cache: ReadCache) {}

  /** `fresh`: bypasses the cache and stores the new value; by default as the request asks. */
  async read<T>(
    { name, enterpriseGlobalId, query = {} }: Source,
    call: CallContext,
    load: () => Promise<T>,
    fresh = call.fresh ?? false,
  ): Promise<T> {
    const lifeMs = this.cache.lifeOf(undefined);
    if (lifeMs === 0) return load();
    const read = { operation: `source:${name}`, params: { enterpriseGlobalId }, query, call, lifeMs };
    const { answer, askedAt } = await this.cache.read(read, fresh, async () => {
      const value = await load();
      return { body: JSON.stringify(value), value };
    });
    call.cachedAt = oldest(call.cachedAt, askedAt);
    return (answer.parsed.value ??= JSON.parse(answer.body)) as T;
  }

  /**
   * Returns what `find` finds in the value. Where a cached value lacks it, the value is read again past the cache, because the item may be new.
   */
  async find<T, Item>(
    source: Source,
    call: CallContext,
    load: () => Promise<T>,
    find: (value: T) => Item | undefined,
  ): Promise<Item | undefined> {
    const before = call.cachedAt;
    call.cachedAt = undefined;
    const found = find(await this.read(source, call, load));
    const isCached = call.cachedAt !== undefined;
    if (found !== undefined || !isCached) {
      call.cachedAt = oldest(before, call.cachedAt);
      return found;
    }
    call.cachedAt = before;
    return find(await this.read(source, call, load, true));
  }
}

function oldest(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
