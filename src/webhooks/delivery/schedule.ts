const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** After each failure: when the delivery is tried again. */
const WAITS_MS = [
  ...[5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE],
  ...[2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR],
];
/** Receivers that failed together are not asked again together. */
const JITTER = 0.1;

/** Also for a receiver that asks to be called again at once. */
const SHORTEST_WAIT_MS = 250;

/** A webhook of which no delivery is taken for this time is switched off. */
export const OFF_AFTER_MS = 72 * HOUR;

/** How long to wait after this many failures, in ms; undefined: it was tried often enough. What the receiver asks for counts. */
export function waitAfter(failures: number, retryAfterS: number | undefined): number | undefined {
  const wait = WAITS_MS[failures - 1];
  if (wait === undefined) return undefined;
  return retryAfterS === undefined
    ? wait * (1 + JITTER * Math.random())
    : Math.max(retryAfterS * SECOND, SHORTEST_WAIT_MS);
}
