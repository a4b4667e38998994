import { Injectable } from '@nestjs/common';
import { PresentCallers } from '../caller/present-callers.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';

/** Statuses with which the gateway itself refuses a wrong request. The platform's refusals and what is not found are normal results. */
const REFUSALS = new Set([400, 403, 405, 406, 411, 413, 414, 415, 431]);
/** One refusal in this time, for as long as a caller likes. */
const EVERY_MS = 10;
/** A caller may be ahead of that rhythm by this time: a hundred refusals at once. */
const AHEAD_MS = 1_000;
/** A request that would wait for longer is refused. */
const MAX_WAIT_MS = 1_000;

/**
 * A caller whose requests are refused again and again waits, so that the work of refusing takes a small part of the process: a refusal
 * costs half a millisecond, and its caller may ask again at once. A caller that is alone does not wait, since it delays no other.
 */
@Injectable()
export class RefusalPace {
  /** Up to when the refusals of each caller fill the rhythm. */
  readonly #filledUntil = new Map<string, number>();

  constructor(
    private readonly metrics: Metrics,
    private readonly present: PresentCallers,
  ) {}

  /** For how long (ms) a request of this caller waits before it begins, or the problem with which it is refused. */
  arrived(caller: string, now = performance.now()): number | ProblemException {
    this.present.arrived(caller, now);
    const filledUntil = this.#filledUntil.get(caller);
    if (filledUntil === undefined) return 0;
    const waitMs = filledUntil - now - AHEAD_MS;
    if (waitMs <= 0 || !this.present.areBeside(caller, now)) return 0;
    if (waitMs > MAX_WAIT_MS) {
      this.metrics.requestRefused('caller-refusals');
      const detail =
        'Too many requests of the caller are wrong: the gateway refuses them before it reads them.';
      return new ProblemException('too-many-requests', { detail, retryAfter: 1 });
    }
    this.#filledUntil.set(caller, filledUntil + EVERY_MS);
    return waitMs;
  }

  /** A request of this caller gets a response with this status. */
  answered(caller: string, status: number, now = performance.now()): void {
    if (!REFUSALS.has(status)) return;
    const filledUntil = Math.max(this.#filledUntil.get(caller) ?? 0, now);
    // Beyond it each request has counted when it arrived.
    if (filledUntil - now <= AHEAD_MS) this.#filledUntil.set(caller, filledUntil + EVERY_MS);
  }
}
