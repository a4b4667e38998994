import { Injectable } from '@nestjs/common';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const DAY = 24 * HOUR;
/** After the listed attempts each pause is longer than the last by this factor: an hour at first, ten hours after ten days. */
const GROWTH = 1 + HOUR / DAY;

/** The times of the attempts for an order whose end is not known, in ms. Tests use another instance. */
@Injectable()
export class ReconciliationSchedule {
  /** The first attempts, counted from the time at which the order was sent. An order may become visible late, and the platform may be down for hours. */
  readonly attempts: readonly number[] = [
    10 * SECOND,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    ...Array.from({ length: 24 }, (_, index) => (index + 1) * HOUR),
  ];
  /** How often the gateway asks whether it is time for a scan. */
  readonly scan: number = 2 * SECOND;
  /** How often the gateway reads all orders of a kind. They may be many, and a scan rarely finds something to do. */
  readonly scanOfAll: number = 5 * MINUTE;

  /** Returns the number of the attempt that is due at this age of an order; -1: none yet. Only the last of several missed attempts is made. */
  due(ageMs: number): number {
    const beyond = ageMs - this.listed;
    if (beyond < 0) return this.attempts.findLastIndex((after) => after <= ageMs);
    return this.attempts.length - 1 + Math.floor(Math.log(1 + beyond / DAY) / Math.log(GROWTH));
  }

  /** Returns when the next attempt is due for an order that was sent at this time. Times are in ms since the epoch. */
  next(sentAt: number, now: number): number {
    const ageMs = now - sentAt;
    const after = this.attempts.find((each) => each > ageMs);
    if (after !== undefined) return sentAt + after;
    const number = this.due(ageMs) + 2 - this.attempts.length;
    return sentAt + this.listed + Math.ceil(DAY * (GROWTH ** number - 1));
  }

  /** The age of an order at the last listed attempt. */
  get listed(): number {
    return this.attempts.at(-1) ?? 0;
  }
}
