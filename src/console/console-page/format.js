const whole = new Intl.NumberFormat('en');

export function count(value) {
  return whole.format(value);
}

/** Requests a second. */
export function rate(value) {
  if (value === 0) return '0';
  return value < 10 ? value.toFixed(1) : whole.format(Math.round(value));
}

/** @param seconds null where nothing was measured. */
export function latency(seconds) {
  if (seconds === null) return '–';
  const ms = seconds * 1_000;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${seconds.toFixed(1)} s`;
}

export function share(part, all) {
  if (all === 0) return '–';
  const percent = (100 * part) / all;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

export function megabytes(bytes) {
  return `${whole.format(Math.round(bytes / 1_048_576))} MB`;
}

/** A length of time, as `45 s`, `12 min`, `3 h 5 min` or `4 d`. */
export function duration(seconds) {
  if (seconds < 100) return `${Math.max(0, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.round(hours / 24)} d`;
}

/** @param ms since the epoch; the day is left out where it is today. */
export function time(ms, now = Date.now()) {
  const text = new Date(ms).toISOString();
  const day = text.slice(0, 10);
  return day === new Date(now).toISOString().slice(0, 10)
    ? text.slice(11, 19)
    : `${day} ${text.slice(11, 16)}`;
}

export function ago(ms, now) {
  return `${duration((now - ms) / 1_000)} ago`;
}

export function plural(number, one, many = `${one}s`) {
  return `${whole.format(number)} ${number === 1 ? one : many}`;
}
