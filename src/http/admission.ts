import { totalmem } from 'node:os';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { MAX_IN_FLIGHT_OF_ONE } from '../caller/caller-limits.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';

/**
 * The limit of callers' requests that wait for a response. A burst of 1,000, and the calls of one stalled group of operations (see
 * OperationGroup), are far below.
 */
const MAX_IN_FLIGHT = 2 * MAX_IN_FLIGHT_OF_ONE;
/** The largest accepted delay. With it every response is late, and health checks fail. No garbage collection takes that long. */
const MAX_LAG_MS = 1_000;
/**
 * The largest accepted share of the heap. Beyond it V8 spends its time on garbage collection, and then crashes with all requests in flight.
 */
const MAX_HEAP_SHARE = 0.85;
/**
 * The largest accepted share of the memory: buffers, connections and V8's heap together. Beyond it the next burst may make the system end
 * the process.
 */
const MAX_MEMORY_SHARE = 0.85;
const SAMPLE_MS = 250;
/**
 * The number of samples in a row that count. One sample is not enough: a pause has ended when it is seen, the start of a burst lasts for
 * two samples, and a full heap may be garbage.
 */
const IN_A_ROW = 3;

const MIB = 1024 * 1024;
const OPTIONS = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
/** The limit of V8's semi-spaces that the options of Node set (src/start.sh), or else V8's own maximum. */
const SEMI_SPACE_MIB = Number(/--max-semi-space-size=(\d+)/.exec(OPTIONS)?.[1] ?? 64);
/** V8's space for young objects: three semi-spaces. V8's heap limit includes it, and old objects cannot use it. */
const YOUNG_BYTES = 3 * SEMI_SPACE_MIB * MIB;

/** All refusals share one object, because thousands of requests a second may need it. */
const OVERLOADED = new ProblemException('overloaded', { retryAfter: 1 });

export type Overload = 'in-flight' | 'event-loop' | 'heap' | 'memory';

/** Decides whether the process admits new work. It refuses work after a signal to stop, or while the process is overloaded. */
@Injectable()
export class Admission implements OnModuleDestroy {
  /** True after the signal to stop. The process is not ready then, and serves only requests that have arrived or still arrive. */
  draining = false;
  #inFlight = 0;
  #inFlightOfCallers = 0;
  /** The numbers of samples in a row above the limits of delay, heap and memory. */
  #late = 0;
  #full = 0;
  #fullMemory = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly metrics: Metrics) {
    metrics.follow('gateway_requests_in_flight', () => [[{}, this.#inFlight]]);
    let expectedAt = performance.now() + SAMPLE_MS;
    this.#timer = setInterval(
      edge('overload', () => {
        const now = performance.now();
        this.sample(now - expectedAt, usedHeapShare(), usedMemoryShare());
        expectedAt = now + SAMPLE_MS;
      }),
      SAMPLE_MS,
    ).unref();
  }

  onModuleDestroy(): void {
    this.draining = true;
    clearInterval(this.#timer);
  }

  /** Counts a request that arrived. Call the returned function once, when its response is sent or its connection is closed. */
  enter(): () => void {
    this.#inFlight++;
    return () => this.#inFlight--;
  }

  /**
   * Counts a request of a known caller as {@link enter} does. Only these requests count for the limit, so that unknown clients cannot use
   * it up.
   */
  enterFromCaller(): () => void {
    this.#inFlightOfCallers++;
    return () => this.#inFlightOfCallers--;
  }

  /** Evaluates a sample: the delay of a timer in ms, and the used shares of the heap's limit and of the process's memory. */
  sample(lagMs: number, heapShare: number, memoryShare: number): void {
    this.#late = lagMs >= MAX_LAG_MS ? this.#late + 1 : 0;
    this.#full = heapShare >= MAX_HEAP_SHARE ? this.#full + 1 : 0;
    this.#fullMemory = memoryShare >= MAX_MEMORY_SHARE ? this.#fullMemory + 1 : 0;
  }

  get overload(): Overload | undefined {
    if (this.#inFlightOfCallers > MAX_IN_FLIGHT) return 'in-flight';
    if (this.#late >= IN_A_ROW) return 'event-loop';
    if (this.#full >= IN_A_ROW) return 'heap';
    if (this.#fullMemory >= IN_A_ROW) return 'memory';
    return undefined;
  }

  /**
   * Returns the problem with which a request is refused now, and counts it. Undefined if the request may begin. Do not call it for a health
   * request.
   */
  refusal(): ProblemException | undefined {
    const { overload } = this;
    if (overload === undefined) return undefined;
    this.metrics.count('gateway_requests_refused_total', { reason: overload });
    return OVERLOADED;
  }
}

/** Returns the memory limit of the process: the limit of its cgroup, or else all memory of the machine. */
export function memoryLimit(): number {
  // Without a limit Node returns 0, or a number larger than any machine has.
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}

/** The settings that the start derived from its memory, for the log. */
export const memorySettings = () => ({
  memoryMiB: Math.floor(memoryLimit() / MIB),
  heapMiB: Math.floor(getHeapStatistics().heap_size_limit / MIB),
  semiSpaceMiB: SEMI_SPACE_MIB,
});

/** Returns the used share of the heap for old objects. Beyond 1 the process ends. */
function usedHeapShare(): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  const used = getHeapSpaceStatistics()
    .filter(({ space_name }) => !space_name.startsWith('new_'))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  // If the operator made the space for young objects smaller, this is half of the limit: a refusal too early is better than a crash.
  return used / Math.max(limit - YOUNG_BYTES, limit / 2);
}

/**
 * Returns the share of its memory that the process uses: all resident memory, with buffers and V8's garbage, but without the free pages
 * that V8 keeps for new objects. Beyond 1 the system ends the process.
 */
function usedMemoryShare(): number {
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return (rss - (heapTotal - heapUsed)) / memoryLimit();
}
