import { Injectable } from '@nestjs/common';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The times of the attempts for an order in doubt, in ms. Tests use another instance. */
@Injectable()
export class ReconciliationSchedule {
  /** Counted from the submission. An order may become visible late, and the platform may be down for hours. */
  readonly attempts: readonly number[] = [
    10 * SECOND,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    ...Array.from({ length: 24 }, (_, index) => (index + 1) * HOUR),
  ];
  /** The last attempt may be this late, in case no replica was running at its time. */
  readonly grace: number = HOUR;
  /** How often the job reads the orders in doubt. */
  readonly scan: number = 2 * SECOND;

  /** The index in `attempts` of the attempt that is due at this age of an order; -1: none. Only the last of several missed attempts is made. */
  due(ageMs: number): number {
    return ageMs > this.oldest ? -1 : this.attempts.findLastIndex((after) => after <= ageMs);
  }

  /** When the next attempt for an order is due that was submitted at this time; undefined: none is. Times in ms since the epoch. */
  next(submittedAt: number, now: number): number | undefined {
    const after = this.attempts.find((each) => each > now - submittedAt);
    return after === undefined ? undefined : submittedAt + after;
  }

  /** No attempts are made for older orders. */
  get oldest(): number {
    return (this.attempts.at(-1) ?? 0) + this.grace;
  }
}
