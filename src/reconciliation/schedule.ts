import { Injectable } from '@nestjs/common';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

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

  /**
   * Returns when the next attempt is due for an order that was sent at this time. Attempts that were missed are not made up for. Times are in
   * ms since the epoch.
   */
  next(sentAt: number, now: number): number {
    const ageMs = now - sentAt;
    let afterMs = this.attempts.find((each) => each > ageMs) ?? this.attempts.at(-1) ?? 0;
    // After the listed attempts, the pauses grow with the age of the order: an hour after a day, ten hours after ten days.
    while (afterMs <= ageMs) afterMs += Math.max(HOUR, afterMs / 24);
    return sentAt + Math.ceil(afterMs);
  }
}
