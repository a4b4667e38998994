import { Injectable } from '@nestjs/common';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { AskedGenerations } from '../upstream/call-context.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { type Content, type Entry, type Keeping, ResponseStore } from './response-store.ts';
import { type KeyParts, ReadKeys } from './read-keys.ts';

/** One request for a cacheable read. */
export interface Read<T> extends KeyParts, Keeping<T> {}

interface Found<T> {
  readonly entry: Entry<T>;
  readonly cached: boolean;
  /** The value was made of parts that are cached themselves. */
  readonly aged?: boolean;
}

/** A value, with its age where it was not made for this request. */
export interface Served<T> {
  readonly value: T;
  readonly ageSeconds?: number;
  /** When the platform was asked, where the value was not made for this request. In ms since the epoch. */
  readonly askedAt?: number;
}

/** `held`: the cached value that the new one replaces. `askedAt`: that of the oldest part, where the value was made of cached parts. */
type Load<T> = (held: T | undefined) => Promise<Content<T> & { readonly askedAt?: number | undefined }>;

/**
 * Caches what reads give for a few seconds: in the process, then in Redis. Equal reads at the same time share one call. Every
 * failure of the cache is a miss.
 */
@Injectable()
export class ReadCache {
  readonly #flights = new SingleFlight<Found<unknown>>();

  constructor(
    private readonly store: ResponseStore,
    private readonly keys: ReadKeys,
    private readonly metrics: Metrics,
  ) {}

  /** How long responses of an operation with that `cacheMs` are kept; 0: not at all. */
  lifeOf(cacheMs: number | undefined): number {
    return this.store.lifeOf(cacheMs);
  }

  /**
   * Asks for the generations of a read that has arrived, before its handler runs, so that Redis replies to this and to the rate of its
   * caller at once. Undefined where the cache is off.
   */
  ask(params: object): AskedGenerations | undefined {
    return this.lifeOf(undefined) > 0 ? this.keys.ask(params) : undefined;
  }

  /** `fresh`: bypasses the cache and stores the new value. */
  async read<T>(read: Read<T>, fresh: boolean, load: Load<T>): Promise<Served<T>> {
    const key = await this.keys.of(read);
    if (key === undefined) {
      this.metrics.readCache(read.operation, 'error');
      return { value: (await load(undefined)).value };
    }
    if (fresh) {
      this.metrics.readCache(read.operation, 'bypass');
      return { value: await this.#refresh(read, key, load) };
    }
    const held = this.store.getLocal<T>(key);
    return held ? this.#hit(read, held) : this.#join(read, key, load);
  }

  /** Called when a write on this path has succeeded or failed, before its response. */
  async written(params: object): Promise<void> {
    if (this.lifeOf(undefined) > 0) await this.keys.written(params);
  }

  #hit<T>({ operation }: Read<T>, { value, askedAt }: Entry<T>): Served<T> {
    this.metrics.readCache(operation, 'hit');
    return { value, askedAt, ageSeconds: ageOf(askedAt) };
  }

  async #join<T>(read: Read<T>, key: string, load: Load<T>): Promise<Served<T>> {
    const running = this.#flights.get(key) as Promise<Found<T>> | undefined;
    const flight = running ?? this.#begin(read, key, load);
    const started = performance.now();
    const found = await flight.catch((error: unknown) => {
      if (running && isOfOneCaller(error)) return undefined;
      throw error;
    });
    if (!found) return { value: (await load(undefined)).value };
    if (found.cached || found.aged) return this.#hit(read, found.entry);
    this.metrics.readCache(read.operation, running ? 'shared' : 'miss');
    if (running) read.call.progress.upstreamMs += performance.now() - started;
    return { value: found.entry.value };
  }

  /** One lookup and at most one call for all readers until the value is stored, so that no second call can start in between. */
  #begin<T>(read: Read<T>, key: string, load: Load<T>): Promise<Found<T>> {
    const flight = this.#find(read, key, load);
    const kept = flight.then((found) => (found.cached ? undefined : this.#keep(read, key, found)));
    return this.#flights.begin(key, flight, kept) as Promise<Found<T>>;
  }

  async #find<T>(read: Read<T>, key: string, load: Load<T>): Promise<Found<T>> {
    const held = await this.store.get(key, read);
    return held ? { entry: held, cached: true } : { ...(await this.#ask(key, load)), cached: false };
  }

  async #refresh<T>(read: Read<T>, key: string, load: Load<T>): Promise<T> {
    const asked = await this.#ask(key, load);
    // A reader has seen this value now, so no reader may join an older call.
    this.#flights.forget(key);
    void this.#keep(read, key, asked).catch(() => undefined);
    return asked.entry.value;
  }

  /** What was made of cached parts expires with the oldest of them. */
  async #keep<T>(
    { lifeMs, form }: Read<T>,
    key: string,
    { entry, aged }: Pick<Found<T>, 'entry' | 'aged'>,
  ): Promise<void> {
    const leftMs = aged ? Math.min(lifeMs, lifeMs - (Date.now() - entry.askedAt)) : lifeMs;
    if (leftMs >= 1) await this.store.keep(key, entry, { lifeMs: leftMs, form });
  }

  async #ask<T>(key: string, load: Load<T>): Promise<{ entry: Entry<T>; aged: boolean }> {
    const now = Date.now();
    const { value, length, askedAt = now } = await load(this.store.getLocal<T>(key)?.value);
    return { entry: { value, length, askedAt }, aged: askedAt < now };
  }
}

/**
 * Whether an error concerns only the reader that made the call. Its session may have ended, while the others have another session
 * of the same user.
 */
function isOfOneCaller(error: unknown): boolean {
  const problem = asProblem(error);
  return problem instanceof ProblemException && problem.body.status === 401;
}

/** In whole seconds. `askedAt` is in ms since the epoch. */
export function ageOf(askedAt: number): number {
  return Math.max(0, Math.floor((Date.now() - askedAt) / 1000));
}
