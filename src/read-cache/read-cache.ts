import { Injectable } from '@nestjs/common';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CachedPart, CallContext } from '../request/call-context.ts';
import type { LastResponse } from '../upstream/classify.ts';
import type { OperationName } from '../upstream/operations.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { type Decode, UpstreamClient } from '../upstream/upstream.client.ts';
import type { UpstreamRequest } from '../upstream/upstream.exchange.ts';
import { type List, ListStore, type TextForm } from './list-store.ts';
import { ReadKeys } from './read-keys.ts';

export interface Source<T> {
  readonly operation: OperationName;
  readonly ids?: UpstreamRequest['ids'];
  readonly query?: UpstreamRequest['query'];
  readonly decode: Decode<T>;
  /** The name of this result, if several results are made of the same operation. */
  readonly result?: string;
  /** The enterprise of the data, if the ids do not tell it. */
  readonly enterpriseGlobalId?: string;
}

export interface ListSpec<T> {
  /** The label of the metric. */
  readonly name: string;
  readonly enterpriseGlobalId: string | undefined;
  readonly query: object;
  readonly form: TextForm<T>;
  /** Loads the list. `held` is the list that the new one replaces. */
  readonly load: (held: List<T> | undefined) => Promise<Loaded<T>>;
}

type Loaded<T> = Pick<List<T>, 'value' | 'length' | 'last'>;

/** A value, and the list of the cache from which it comes. There is no part if the cache was not used. */
export interface Cached<T> {
  readonly value: T;
  readonly part?: CachedPart;
}

const JSON_FORM: TextForm<unknown> = { toText: JSON.stringify, fromText: JSON.parse };

/**
 * Caches the platform's responses to reads for a few seconds. There is one entry for each list, in the process, then in Redis. All
 * operations, filters and pages use it. Equal reads at the same time share one call. Every failure of the cache is a miss.
 */
@Injectable()
export class ReadCache {
  readonly #flights = new SingleFlight<List<unknown>>();

  constructor(
    private readonly lists: ListStore,
    private readonly keys: ReadKeys,
    private readonly upstream: UpstreamClient,
    private readonly metrics: Metrics,
  ) {}

  get isOn(): boolean {
    return this.lists.lifeMs > 0;
  }

  /** Reads a result of which the response is made. `fresh` bypasses the cache and stores the new result. By default the request decides. */
  async read<T>(source: Source<T>, call: CallContext, fresh?: boolean): Promise<T> {
    const { value, part } = await this.list(this.#listOf(source, call), call, fresh);
    call.progress.uses(part);
    return value;
  }

  /** Reads a list that the request needs without returning it. `fresh`: as in {@link read}. */
  async list<T>(spec: ListSpec<T>, call: CallContext, fresh = call.fresh ?? false): Promise<Cached<T>> {
    if (!this.isOn) return { value: (await spec.load(undefined)).value };
    const { name: operation, enterpriseGlobalId } = spec;
    const key = this.#keyOf(spec, call);
    const asked = this.keys.generationOf({ enterpriseGlobalId }, call);
    const held = fresh ? undefined : this.lists.held<T>(key);
    // If the generation is not known yet (a caller without a rate, a lookup of a write), the same write to Redis asks for the list.
    const shared = held || fresh ? undefined : this.lists.find(key, spec.form);
    const generation = await asked;
    if (generation === undefined) {
      this.metrics.readCache(operation, 'error');
      return { value: (await spec.load(undefined)).value };
    }
    if (fresh) {
      this.metrics.readCache(operation, 'bypass');
      return cached(key, await this.#refresh(spec, key, generation));
    }
    if (held?.generation === generation) return this.#hit(operation, key, held);
    const found = await (shared ?? this.lists.find(key, spec.form));
    if (found?.generation === generation) return this.#hit(operation, key, found);
    return this.#join(spec, call, key, generation);
  }

  /** Returns the key under which a result is kept. Calls with the same key find the same results in the cache. */
  keyOf<T>(source: Source<T>, call: CallContext): string {
    return this.#keyOf(this.#listOf(source, call), call);
  }

  #keyOf<T>({ name, enterpriseGlobalId, query }: ListSpec<T>, call: CallContext): string {
    return this.keys.ofList(name, [enterpriseGlobalId, sortedEntries(query)], call);
  }

  #listOf<T>(source: Source<T>, call: CallContext): ListSpec<T> {
    const { operation, ids, query, decode, result = operation } = source;
    // The call continues when this reader hangs up, because other readers may wait for it.
    const shared = this.isOn ? { ...call, abandon: undefined } : call;
    return {
      name: `source:${result}`,
      enterpriseGlobalId: source.enterpriseGlobalId ?? ids?.['enterpriseGlobalId'],
      query: { ...ids, ...query },
      form: JSON_FORM as TextForm<T>,
      load: async (held) => {
        const last: LastResponse = held?.last ?? {};
        const value = await this.upstream.call(operation, shared, { ids, query, last }, decode);
        return { value, length: last.known?.text.length ?? 0, last };
      },
    };
  }

  #hit<T>(operation: string, key: string, list: List<T>): Cached<T> {
    this.metrics.readCache(operation, 'hit');
    return cached(key, list, { askedAt: list.askedAt });
  }

  /** Makes at most one call for all readers of a generation, until the list is kept. */
  async #join<T>(spec: ListSpec<T>, call: CallContext, key: string, generation: string): Promise<Cached<T>> {
    // Another reader may have stored the list while Redis was asked.
    const held = this.lists.held<T>(key);
    if (held?.generation === generation) return this.#hit(spec.name, key, held);
    const flightKey = generation + key;
    const running = this.#flights.get(flightKey) as Promise<List<T>> | undefined;
    const flight = running ?? this.#begin(spec, key, generation);
    const started = performance.now();
    const list = await flight.catch((error: unknown) => {
      if (running && isOfOneCaller(error)) return undefined;
      throw error;
    });
    if (!list) return { value: (await spec.load(undefined)).value };
    this.metrics.readCache(spec.name, running ? 'shared' : 'miss');
    if (running) call.progress.upstreamMs += performance.now() - started;
    return cached(key, list, { isJoined: running !== undefined });
  }

  #begin<T>(spec: ListSpec<T>, key: string, generation: string): Promise<List<T>> {
    const flight = this.#load(spec, key, generation);
    const kept = flight.then((list) => this.lists.keep(key, list, spec.form));
    return this.#flights.begin(generation + key, flight, kept) as Promise<List<T>>;
  }

  async #refresh<T>(spec: ListSpec<T>, key: string, generation: string): Promise<List<T>> {
    const list = await this.#load(spec, key, generation);
    // A reader has seen this list now, so no later reader may join an older call.
    this.#flights.forget(generation + key);
    void this.lists.keep(key, list, spec.form).catch(() => undefined);
    return list;
  }

  async #load<T>(spec: ListSpec<T>, key: string, generation: string): Promise<List<T>> {
    const held = this.lists.held<T>(key);
    const askedAt = Date.now();
    const loaded = await spec.load(held);
    const version = held?.value === loaded.value ? held.version : this.lists.newVersion();
    return { ...loaded, askedAt, generation, version };
  }
}

/** Returns a value with its part. `askedAt` is set if the list was not read for this request. */
function cached<T>(
  key: string,
  { value, version }: List<T>,
  { askedAt, isJoined = false }: Partial<CachedPart> = {},
): Cached<T> {
  return { value, part: { key, version, askedAt, isJoined } };
}

function sortedEntries(record: object): [string, unknown][] {
  return Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1));
}

/**
 * True if an error concerns only the reader that made the call. Its session may have ended, while other readers have another session of the
 * same user.
 */
function isOfOneCaller(error: unknown): boolean {
  const problem = asProblem(error);
  return problem instanceof ProblemException && problem.body.status === 401;
}
