/** The difference between the clocks of the gateway and of the browser. `performance.now()` would stand still while a laptop sleeps. */
let aheadMs = 0;

/** The clock of the browser may be wrong: the pages count with that of the gateway, in ms since 1970. */
export const serverNow = () => Date.now() + aheadMs;

export function learnServerTime(at) {
  aheadMs = at - Date.now();
}

export const count = (value) => value.toLocaleString('en');

export const plural = (number, one) => `${count(number)} ${one}${number === 1 ? '' : 's'}`;

/** A length of time, as `45 s`, `12 min`, `3 h` or `4 d`. */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} d`;
}

export const ago = (ms, now = serverNow()) => `${duration(now - ms)} ago`;

/** @param ms since the epoch; the day is left out where it is today. */
export function time(ms, now = serverNow()) {
  const [day, clock] = new Date(ms).toISOString().split(/[T.]/);
  return new Date(now).toISOString().startsWith(day) ? clock : `${day} ${clock.slice(0, 5)}`;
}
