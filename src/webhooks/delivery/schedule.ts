const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The schedule: when a delivery is tried again after each failure. */
const WAITS_MS = [
  ...[5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE],
  ...[2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR],
];
/** The share by which waits vary, so that receivers that failed together are not called again together. */
const JITTER = 0.1;

/** The length of the schedule, about two days. A receiver may postpone a delivery for this time. */
export const SCHEDULE_MS = WAITS_MS.reduce((sum, wait) => sum + wait, 0);

/** No attempt follows another one later than this, unless no gateway could send. A webhook that fails has such pauses only then. */
export const MAX_GAP_MS = Math.max(...WAITS_MS) * (1 + JITTER) + HOUR;

/** The time after which a webhook is switched off if no delivery to it succeeded. */
export const OFF_AFTER_MS = 72 * HOUR;

/** Returns the wait in ms after this many steps of the schedule. Undefined if the schedule is over. */
export function waitAfter(steps: number): number | undefined {
  const wait = WAITS_MS[steps - 1];
  return wait === undefined ? undefined : Math.round(wait * (1 + JITTER * Math.random()));
}
