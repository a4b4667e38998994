import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { AskedGenerations } from '../upstream/call-context.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { ResponseStore, type Content, type Entry, type ReadAnswer } from './response-store.ts';
import { etagOf } from './etag.ts';
import { type Read, ReadKeys } from './read-keys.ts';

interface Found {
  readonly entry: Entry;
  readonly cached: boolean;
  /** The content was made of parts that are cached themselves. */
  readonly aged?: boolean;
}

/** A response, with its age where it was not made for this request. */
export interface Served {
  readonly answer: ReadAnswer;
  readonly ageSeconds?: number;
  /** When the platform was asked, where the answer was not made for this request. In ms since the epoch. */
  readonly askedAt?: number;
}

export function tagged({ body, link, value }: Content): ReadAnswer {
  return { body, link, etag: etagOf(body), parsed: { value } };
}

/** `askedAt`: that of the oldest part, where the content was made of cached parts. */
type Load = () => Promise<Content & { readonly askedAt?: number | undefined }>;

/**
 * Caches responses to reads for a few seconds: in the process, then in Redis. Equal reads at the same time share one call. Every
 * failure of the cache is a miss.
 */
@Injectable()
export class ReadCache {
  readonly #flights = new Map<string, Promise<Found>>();

  constructor(
    private readonly answers: ResponseStore,
    private readonly keys: ReadKeys,
    private readonly metrics: Metrics,
  ) {}

  /** How long responses of an operation with that `cacheMs` are kept; 0: not at all. */
  lifeOf(cacheMs: number | undefined): number {
    return this.answers.lifeOf(cacheMs);
  }

  /**
   * Asks for the generations of a read that has arrived, before its handler runs, so that Redis replies to this and to the rate of its
   * caller at once. Undefined where the cache is off.
   */
  ask(params: object): AskedGenerations | undefined {
    return this.lifeOf(undefined) > 0 ? this.keys.ask(params) : undefined;
  }

  /** `fresh`: bypasses the cache and stores the new response. */
  async read(read: Read, fresh: boolean, load: Load): Promise<Served> {
    const key = await this.keys.of(read);
    if (key === undefined) {
      this.metrics.readCache(read.operation, 'error');
      return { answer: tagged(await load()) };
    }
    if (fresh) {
      this.metrics.readCache(read.operation, 'bypass');
      return { answer: await this.#refresh(read, key, load) };
    }
    const held = this.answers.getLocal(key);
    return held ? this.#hit(read, held) : this.#join(read, key, load);
  }

  /** Called when a write on this path has succeeded or failed, before its response. */
  async written(params: object): Promise<void> {
    if (this.lifeOf(undefined) > 0) await this.keys.written(params);
  }

  #hit({ operation }: Read, entry: Entry): Served {
    this.metrics.readCache(operation, 'hit');
    return { answer: entry, ageSeconds: ageOf(entry), askedAt: entry.askedAt };
  }

  async #join(read: Read, key: string, load: Load): Promise<Served> {
    const running = this.#flights.get(key);
    const flight = running ?? this.#begin(read, key, load);
    const started = performance.now();
    const found = await flight.catch((error: unknown) => {
      if (running && isOfOneCaller(error)) return undefined;
      throw error;
    });
    if (!found) return { answer: tagged(await load()) };
    if (found.cached) return this.#hit(read, found.entry);
    this.metrics.readCache(read.operation, running ? 'shared' : 'miss');
    if (running) read.call.upstreamMs += performance.now() - started;
    return found.aged ? { answer: found.entry, ageSeconds: ageOf(found.entry) } : { answer: found.entry };
  }

  /** One lookup and at most one call for all readers until the response is stored, so that no second call can start in between. */
  #begin({ lifeMs }: Read, key: string, load: Load): Promise<Found> {
    const flight = this.#find(key, lifeMs, load);
    this.#flights.set(key, flight);
    void flight
      .then((found) => (found.cached ? undefined : this.#keep(key, found, lifeMs)))
      .catch(() => undefined)
      .finally(() => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
      });
    return flight;
  }

  async #find(key: string, lifeMs: number, load: Load): Promise<Found> {
    const held = await this.answers.get(key, lifeMs);
    return held ? { entry: held, cached: true } : { ...(await this.#ask(key, load)), cached: false };
  }

  async #refresh({ lifeMs }: Read, key: string, load: Load): Promise<ReadAnswer> {
    const asked = await this.#ask(key, load);
    // A reader has seen this response now, so no reader may join an older call.
    this.#flights.delete(key);
    void this.#keep(key, asked, lifeMs).catch(() => undefined);
    return asked.entry;
  }

  /** Content that was made of cached parts expires with the oldest of them. */
  async #keep(key: string, { entry, aged }: Pick<Found, 'entry' | 'aged'>, lifeMs: number): Promise<void> {
    const leftMs = aged ? Math.min(lifeMs, lifeMs - (Date.now() - entry.askedAt)) : lifeMs;
    if (leftMs >= 1) await this.answers.keep(key, entry, leftMs);
  }

  async #ask(key: string, load: Load): Promise<{ entry: Entry; aged: boolean }> {
    const now = Date.now();
    const content = await load();
    const { askedAt = now } = content;
    return { entry: this.answers.entryOf(key, content, askedAt), aged: askedAt < now };
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

function ageOf({ askedAt }: Entry): number {
  return Math.max(0, Math.floor((Date.now() - askedAt) / 1000));
}
