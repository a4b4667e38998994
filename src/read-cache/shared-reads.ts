import { Injectable } from '@nestjs/common';
import type { CallContext } from '../upstream/call-context.ts';
import type { LastAnswer } from '../upstream/classify.ts';
import type { OperationName } from '../upstream/operations.ts';
import { type Decode, UpstreamClient } from '../upstream/upstream.client.ts';
import type { UpstreamRequest } from '../upstream/upstream-path.ts';
import { ReadCache } from './read-cache.ts';
import type { TextForm } from './response-store.ts';

/** A read of the platform, and how its answer is read. */
export interface Source<T> {
  readonly operation: OperationName;
  readonly ids?: UpstreamRequest['ids'];
  readonly query?: UpstreamRequest['query'];
  readonly decode: Decode<T>;
  /** Where several results are made of the same operation: which of them. */
  readonly result?: string;
  /** The enterprise whose data it has, where the ids do not say it. */
  readonly enterpriseGlobalId?: string;
}

/** A result, with the time at which the platform was asked where it is cached, in ms since the epoch. */
interface Aged<T> {
  readonly value: T;
  readonly askedAt: number | undefined;
}

/** The result of a read, with the platform's answer where this process has received it. */
interface SharedResult<T> {
  readonly result: T;
  readonly last: LastAnswer;
}

const FORM: TextForm<SharedResult<unknown>> = {
  toText: ({ result }) => JSON.stringify(result),
  fromText: (text) => ({ result: JSON.parse(text), last: {} }),
};

/**
 * Caches what the platform answers to reads, in the process and in Redis. Several operations, filters and pages use one answer, and it is
 * fetched once for all of them. Results must not be changed, because readers share them.
 */
@Injectable()
export class SharedReads {
  constructor(
    private readonly cache: ReadCache,
    private readonly upstream: UpstreamClient,
  ) {}

  /** `fresh`: bypasses the cache and stores the new result; by default as the request asks. The response is made of this result. */
  async read<T>(source: Source<T>, call: CallContext, fresh?: boolean): Promise<T> {
    const { value, askedAt } = await this.#aged(source, call, fresh);
    call.progress.uses(askedAt);
    return value;
  }

  async #aged<T>(source: Source<T>, call: CallContext, fresh = call.fresh ?? false): Promise<Aged<T>> {
    const { operation, ids, query, decode, result = operation } = source;
    const lifeMs = this.cache.lifeOf(undefined);
    if (lifeMs === 0) return { value: await this.readUncached(source, call), askedAt: undefined };
    const { enterpriseGlobalId = ids?.['enterpriseGlobalId'] } = source;
    const read = {
      operation: `source:${result}`,
      params: { enterpriseGlobalId },
      query: { ...ids, ...query },
      call,
      lifeMs,
      form: FORM as TextForm<SharedResult<T>>,
    };
    const { value, askedAt } = await this.cache.read(read, fresh, async (held) => {
      const last: LastAnswer = held?.last ?? {};
      const made = await this.upstream.call(operation, call, { ids, query, last }, decode);
      const length = last.known?.body.length ?? 0;
      return { value: held?.result === made ? held : { result: made, last }, length };
    });
    return { value: value.result, askedAt };
  }

  /** Asks the platform itself: the result is neither taken from the cache nor kept in it. */
  readUncached<T>({ operation, ids, query, decode }: Source<T>, call: CallContext): Promise<T> {
    return this.upstream.call(operation, call, { ids, query }, decode);
  }

  /**
   * Returns what `find` finds in the result. Where a cached result lacks it, the result is read again past the cache, because the item may be new.
   */
  async find<T, Item>(
    source: Source<T>,
    call: CallContext,
    find: (result: T) => Item | undefined,
  ): Promise<Item | undefined> {
    const { value, askedAt } = await this.#aged(source, call);
    const found = find(value);
    if (found === undefined && askedAt !== undefined) return find(await this.read(source, call, true));
    call.progress.uses(askedAt);
    return found;
  }
}
