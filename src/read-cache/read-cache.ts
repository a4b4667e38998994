import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { ResponseStore, type Content, type Entry, type ReadAnswer } from './response-store.ts';
import { etagOf } from './etag.ts';
import { type Read, ReadKeys } from './read-keys.ts';

interface Found {
  readonly entry: Entry;
  readonly cached: boolean;
  /** It was made of parts that are cached themselves. */
  readonly aged?: boolean;
}

/** An answer, with its age where it was not made for this request. */
export interface Served {
  readonly answer: ReadAnswer;
  readonly ageSeconds?: number;
  /** When the platform was asked, where the answer was not made for this request. In ms since the epoch. */
  readonly askedAt?: number;
}

export function tagged(content: Content): ReadAnswer {
  return { ...content, etag: etagOf(content.body) };
}

/** `askedAt` where the content was made of what is cached: of its oldest part. */
type Load = () => Promise<Content & { readonly askedAt?: number | undefined }>;

/**
 * Answers of reads, for a few seconds: in the process, then in Redis. Equal reads at the same time share one call.
 * Whatever fails in here is a miss.
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

  /** `fresh`: past the cache, and into it. */
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

  /** A write on this path has ended, well or not, and its answer is not out yet. */
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

  /** One look and at most one call for all readers until the response is kept: there is no gap for a second one. */
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
    // No reader may join an older call any more, now that one has seen this response.
    this.#flights.delete(key);
    void this.#keep(key, asked, lifeMs).catch(() => undefined);
    return asked.entry;
  }

  /** What was made of cached parts ends with the oldest of them. */
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

/** Of the one who made the call: its session may have ended, and those who joined may have another of the same user. */
function isOfOneCaller(error: unknown): boolean {
  const problem = asProblem(error);
  return problem instanceof ProblemException && problem.body.status === 401;
}

function ageOf({ askedAt }: Entry): number {
  return Math.max(0, Math.floor((Date.now() - askedAt) / 1000));
}
