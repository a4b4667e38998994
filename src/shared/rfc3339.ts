/** The earliest time of RFC 3339, which has years of four digits: 0000 to 9999. */
const FIRST_MS = Date.UTC(-1, 12);
const LAST_MS = Date.UTC(10_000, 0) - 1;
const DAY_MS = 86_400_000;
const MAX_DAYS = 4_096;

const padded = (number: number, digits: number) => String(number).padStart(digits, '0');
const table = (length: number, text: (index: number) => string): readonly string[] =>
  Array.from({ length }, (_, index) => text(index));
/**
 * The texts of each minute of a day, second of a minute and millisecond of a second. They are prepared because a response has hundreds of
 * times.
 */
const minutes = table(1_440, (minute) => `${padded(Math.floor(minute / 60), 2)}:${padded(minute % 60, 2)}:`);
const seconds = table(60, (second) => `${padded(second, 2)}.`);
const milliseconds = table(1_000, (millisecond) => `${padded(millisecond, 3)}Z`);
/** The date of each day since the epoch, with the separator after it. A response repeats the same few days. */
const dates = new Map<number, string>();

/**
 * Formats a time in UTC with milliseconds. Returns undefined if the year does not have four digits. `Date.toISOString` takes five times as
 * long.
 */
export function rfc3339(ms: number): string | undefined {
  if (ms < FIRST_MS || ms > LAST_MS) return undefined;
  const day = Math.floor(ms / DAY_MS);
  const ofDay = ms - day * DAY_MS;
  const minute = Math.trunc(ofDay / 60_000);
  const ofMinute = ofDay - minute * 60_000;
  const second = Math.trunc(ofMinute / 1_000);
  return `${dateOf(day)}${minutes[minute]}${seconds[second]}${milliseconds[ofMinute - second * 1_000]}`;
}

function dateOf(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  if (dates.size >= MAX_DAYS) dates.clear();
  const date = new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-ddT'.length);
  dates.set(day, date);
  return date;
}
