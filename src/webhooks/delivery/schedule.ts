const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The schedule: when a delivery is tried again after each failure. */
const WAITS_MS = [
  ...[5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE],
  ...[2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR],
];
/** Receivers that failed together are not asked again together. */
const JITTER = 0.1;

/** The length of the schedule, some two days. For so long a receiver may postpone a delivery. */
export const SCHEDULE_MS = WAITS_MS.reduce((sum, wait) => sum + wait, 0);

/** A webhook of which no delivery is taken for this time is switched off. */
export const OFF_AFTER_MS = 72 * HOUR;

/** How long to wait after this many steps of the schedule, in ms; undefined: the schedule is over. */
export function waitAfter(steps: number): number | undefined {
  const wait = WAITS_MS[steps - 1];
  return wait === undefined ? undefined : Math.round(wait * (1 + JITTER * Math.random()));
}
