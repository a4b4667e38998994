import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { MAX_IN_FLIGHT_OF_ONE } from '../caller/caller-limits.ts';
import { Metrics } from '../observability/metrics.ts';
import { AdmissionQueue } from './admission-queue.ts';

/**
 * Requests without an answer. Beyond it they would rather wait than be served; a burst of 1,000 is far below, and what one stalled
 * group of operations can hold (see OperationGroup) is as well.
 */
const MAX_IN_FLIGHT = 2 * MAX_IN_FLIGHT_OF_ONE;
/** By then every answer is late, and health checks fail. No garbage collection takes that long. */
const MAX_LAG_MS = 1_000;
/** Beyond it V8 spends its time on collecting; its end is a crash of everything in flight. */
const MAX_HEAP_SHARE = 0.85;
/** V8's space for young objects, which its limit includes, and which cannot be used for anything else: three semi-spaces. */
const YOUNG_BYTES = 3 * 64 * 1024 * 1024;
const SAMPLE_MS = 250;
/** A pause, whatever its cause, is over when it is seen, a crowd's first moments last for two samples, and a full heap may be garbage. */
const IN_A_ROW = 3;

export type Overload = 'in-flight' | 'event-loop' | 'heap' | 'waiting';

/** Whether the process takes on new work, and why not: it was told to stop, or has more than it can do in time. */
@Injectable()
export class Admission implements BeforeApplicationShutdown {
  /** From then on it is not ready, and finishes what it has and what still arrives. */
  draining = false;
  #inFlight = 0;
  /** Samples in a row that were too late, and too full. */
  #late = 0;
  #full = 0;
  readonly #turns = new AdmissionQueue();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly metrics: Metrics) {
    metrics.inFlight(() => this.#inFlight);
    let expectedAt = performance.now() + SAMPLE_MS;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.sample(now - expectedAt, usedHeapShare());
      expectedAt = now + SAMPLE_MS;
    }, SAMPLE_MS).unref();
  }

  beforeApplicationShutdown(): void {
    this.draining = true;
    clearInterval(this.#timer);
  }

  /** A request arrived; what it gives is to be called once, when its answer is out or its connection gone. */
  arrived(): () => void {
    this.#inFlight++;
    return () => this.#inFlight--;
  }

  /** By how much a timer was late (ms), and which part of the heap's limit is in use. */
  sample(lagMs: number, heapShare: number): void {
    this.#late = lagMs >= MAX_LAG_MS ? this.#late + 1 : 0;
    this.#full = heapShare >= MAX_HEAP_SHARE ? this.#full + 1 : 0;
  }

  get overload(): Overload | undefined {
    return this.#bound ?? (this.#turns.isOverloaded ? 'waiting' : undefined);
  }

  get #bound(): Overload | undefined {
    if (this.#inFlight > MAX_IN_FLIGHT) return 'in-flight';
    if (this.#late >= IN_A_ROW) return 'event-loop';
    if (this.#full >= IN_A_ROW) return 'heap';
    return undefined;
  }

  /** A connection was accepted. */
  connected(): void {
    this.#turns.connected();
  }

  /** Calls `begin`, now or soon; false where new work is refused now, which is counted. */
  takes(begin: () => void): boolean {
    const bound = this.#bound;
    if (bound === undefined && this.#turns.take(begin)) return true;
    this.metrics.requestRefused(bound ?? 'waiting');
    return false;
  }
}

/** Which part of the heap for objects that stay is in use. Beyond 1 the process ends. */
function usedHeapShare(): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  const used = getHeapSpaceStatistics()
    .filter(({ space_name }) => !space_name.startsWith('new_'))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  // Half where somebody made that space smaller: too early is better than never.
  return used / Math.max(limit - YOUNG_BYTES, limit / 2);
}
