import { HttpException, HttpStatus, Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { ResponseStore, type Content, type Entry, type ReadAnswer } from './response-store.ts';
import { etagOf } from './etag.ts';
import { type Read, ReadKeys } from './read-keys.ts';

interface Found {
  readonly entry: Entry;
  readonly cached: boolean;
}

/** An answer, with its age where it was not made for this request. */
export interface Served {
  readonly answer: ReadAnswer;
  readonly ageSeconds?: number;
}

export function tagged(content: Content): ReadAnswer {
  return { ...content, etag: etagOf(content.body) };
}

type Load = () => Promise<Content>;

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

  get enabled(): boolean {
    return this.answers.enabled;
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
      return { answer: await this.#refresh(key, load) };
    }
    const near = this.answers.peek(key);
    return near ? this.#hit(read, near) : this.#join(read, key, load);
  }

  /** A write on this path has ended, well or not, and its answer is not out yet. */
  async written(params: object): Promise<void> {
    if (this.enabled) await this.keys.written(params);
  }

  #hit({ operation }: Read, entry: Entry): Served {
    this.metrics.readCache(operation, 'hit');
    return { answer: entry, ageSeconds: ageOf(entry) };
  }

  async #join(read: Read, key: string, load: Load): Promise<Served> {
    const running = this.#flights.get(key);
    const flight = running ?? this.#take(key, load);
    const started = performance.now();
    const found = await flight.catch((error: unknown) => {
      if (running && isOfOneCaller(error)) return undefined;
      throw error;
    });
    if (!found) return { answer: tagged(await load()) };
    if (found.cached) return this.#hit(read, found.entry);
    this.metrics.readCache(read.operation, running ? 'shared' : 'miss');
    if (running) read.call.upstreamMs += performance.now() - started;
    return { answer: found.entry };
  }

  /** One look and at most one call for everybody who asks until the answer is kept: there is no gap for a second one. */
  #take(key: string, load: Load): Promise<Found> {
    const flight = this.#find(key, load);
    this.#flights.set(key, flight);
    void flight
      .then(({ entry, cached }) => (cached ? undefined : this.answers.keep(key, entry)))
      .catch(() => undefined)
      .finally(() => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
      });
    return flight;
  }

  async #find(key: string, load: Load): Promise<Found> {
    const held = await this.answers.get(key);
    return held ? { entry: held, cached: true } : { entry: await this.#ask(key, load), cached: false };
  }

  async #refresh(key: string, load: Load): Promise<ReadAnswer> {
    const entry = await this.#ask(key, load);
    // Nobody may join an older call any more, now that somebody has seen this answer.
    this.#flights.delete(key);
    void this.answers.keep(key, entry).catch(() => undefined);
    return entry;
  }

  async #ask(key: string, load: Load): Promise<Entry> {
    const askedAt = Date.now();
    return this.answers.entryOf(key, await load(), askedAt);
  }
}

/** Of the one who made the call: its session may have ended, and those who joined may have another of the same user. */
function isOfOneCaller(error: unknown): boolean {
  return error instanceof HttpException && error.getStatus() === (HttpStatus.UNAUTHORIZED as number);
}

function ageOf({ askedAt }: Entry): number {
  return Math.max(0, Math.floor((Date.now() - askedAt) / 1000));
}
