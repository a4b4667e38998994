import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { CallerLimits } from '../caller/caller-limits.ts';
import {
  added,
  addedBuckets,
  type Buckets,
  readCounts,
  sumOfBuckets,
  type TrafficAmounts,
  type TrafficCounts,
} from './counts.ts';
import { edge } from '../shared/edge.ts';

/** Every replica takes its samples at whole multiples of this time, so that samples of replicas can be added. */
export const SAMPLE_MS = 5_000;
/** Five minutes. */
export const SAMPLES = 60;
const MINUTE = 60_000 / SAMPLE_MS;

/** Probes of load balancers and Kubernetes: without them an idle gateway looks idle. */
const PROBES: ReadonlySet<string> = new Set(['live', 'ready']);

type Calls = ReadonlyMap<string, readonly [requests: number, refused: number]>;

/** The requests that got a response between two samples. */
export interface Beat {
  /** The end of the time, in ms since the epoch. */
  readonly at: number;
  readonly requests: number;
  /** With a status of 500 or more. */
  readonly failed: number;
  readonly latency: Buckets;
}

/** What this process did lately: caches, refusals, tokens and calls of the last five minutes, the rest of the last one. */
export interface Traffic extends TrafficAmounts {
  /** The seconds that the last minute covers: fewer after the start. */
  readonly seconds: number;
  readonly beats: readonly Beat[];
  readonly calls: Calls;
}

interface Taken {
  readonly counts: TrafficCounts;
  readonly calls: Calls;
}

/** Remembers the metrics of the last five minutes, so that the console shows rates at once when an operator opens it. */
@Injectable()
export class TrafficHistory implements OnModuleInit, OnApplicationShutdown {
  /** The oldest first. */
  readonly #taken: Taken[] = [];
  readonly #beats: Beat[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly metrics: Metrics,
    private readonly limits: CallerLimits,
  ) {}

  async onModuleInit(): Promise<void> {
    this.#taken.push(await this.#take());
    this.#wait();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async lately(): Promise<Traffic> {
    const now = await this.#take();
    const minute = this.#taken.at(-MINUTE) ?? (this.#taken[0] as Taken);
    const first = this.#taken[0] as Taken;
    return {
      seconds: Math.max((now.counts.at - minute.counts.at) / 1_000, 1),
      beats: this.#beats,
      requests: withoutProbes(added(now.counts.requests, minute.counts.requests)),
      latency: withoutProbes(addedBuckets(now.counts.latency, minute.counts.latency)),
      attempts: added(now.counts.attempts, minute.counts.attempts),
      attemptLatency: addedBuckets(now.counts.attemptLatency, minute.counts.attemptLatency),
      cache: added(now.counts.cache, first.counts.cache),
      refused: added(now.counts.refused, first.counts.refused),
      tokens: added(now.counts.tokens, first.counts.tokens),
      calls: moreCalls(now.calls, first.calls),
    };
  }

  #wait(): void {
    const sample = edge(
      'traffic',
      () => this.#sample(),
      () => this.#wait(),
    );
    this.#timer = setTimeout(sample, SAMPLE_MS - (Date.now() % SAMPLE_MS)).unref();
  }

  async #sample(): Promise<void> {
    const before = this.#taken.at(-1) as Taken;
    const now = await this.#take();
    const requests = withoutProbes(added(now.counts.requests, before.counts.requests));
    this.#taken.push(now);
    this.#beats.push({
      at: Math.round(Date.now() / SAMPLE_MS) * SAMPLE_MS,
      requests: sum(requests.values()),
      failed: sum([...requests].filter(([key]) => isFailed(key)).map(([, count]) => count)),
      latency: sumOfBuckets(withoutProbes(addedBuckets(now.counts.latency, before.counts.latency)).values()),
    });
    if (this.#taken.length > SAMPLES) this.#taken.shift();
    if (this.#beats.length > SAMPLES) this.#beats.shift();
    if (this.#timer) this.#wait();
  }

  async #take(): Promise<Taken> {
    const calls = this.limits
      .standings()
      .map(({ name, requests, refused }) => [name, [requests, refused]] as const);
    return { counts: await readCounts(this.metrics.registry), calls: new Map(calls) };
  }
}

/** `key`: operation and status. */
export function isFailed(key: string): boolean {
  return key.split(' ')[1]?.startsWith('5') ?? false;
}

export function sum(values: Iterable<number>): number {
  return [...values].reduce((one, other) => one + other, 0);
}

function withoutProbes<T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  return new Map([...all].filter(([key]) => !PROBES.has(key.split(' ')[0] as string)));
}

function moreCalls(now: Calls, before: Calls): Calls {
  return new Map(
    [...now].map(([name, [requests, refused]]) => {
      const [knownRequests, knownRefused] = before.get(name) ?? [0, 0];
      return [name, [requests - knownRequests, refused - knownRefused]] as const;
    }),
  );
}
