import { Injectable } from '@nestjs/common';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** When an order in doubt is looked for at the platform. In ms; another instance in tests. */
@Injectable()
export class ReconciliationSchedule {
  /** After the send. An order may become visible late, and a reader of the platform may be down for hours. */
  readonly attempts: readonly number[] = [
    10 * SECOND,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    ...Array.from({ length: 24 }, (_, index) => (index + 1) * HOUR),
  ];
  /** How long the last attempt may be made late, where no replica was running at its time. */
  readonly grace: number = HOUR;
  /** How often the order store is asked which orders are in doubt. */
  readonly scan: number = 2 * SECOND;

  /** Which attempt is due at that age of an order, by its index in `attempts`; -1: none. Of those missed the last one stands for all. */
  due(ageMs: number): number {
    return ageMs > this.oldest ? -1 : this.attempts.findLastIndex((after) => after <= ageMs);
  }

  /** Beyond this age nothing is looked for. */
  get oldest(): number {
    return (this.attempts.at(-1) ?? 0) + this.grace;
  }
}
