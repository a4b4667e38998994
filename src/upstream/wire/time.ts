import { isJsonText, numberText } from '../../json/parse-json.ts';

/** Times on the wire are longs in a unit that the interface does not show; callers get RFC 3339. */
export type TimestampUnit = 'ms' | 's';

/** A long from the first to before the second is a time from 1973 to 5138 in seconds, and up to March 1973 in milliseconds. */
const SECONDS_FROM = 10 ** 8;
const SECONDS_TO = 10 ** 11;
/** RFC 3339 has years of four digits: 0000 to 9999. */
const FIRST_MS = Date.UTC(-1, 12);
const LAST_MS = Date.UTC(10_000, 0) - 1;
const DAY_MS = 86_400_000;
const MAX_DAYS = 4_096;

interface Time {
  /** Since the epoch. */
  readonly ms: number;
  /** Of that size it would rather be a time in the unit that is not configured. */
  readonly isOtherUnit: boolean;
}

/** A long as number or text; undefined where it is none. */
export function readTime(value: unknown, unit: TimestampUnit): Time | undefined {
  const long = longOf(value);
  if (long === undefined) return undefined;
  const isOtherUnit = unit === 'ms' ? long >= SECONDS_FROM && long < SECONDS_TO : long >= SECONDS_TO;
  return { ms: unit === 's' ? long * 1000 : long, isOtherUnit };
}

/** Beyond 2^53 no long is a time, so that a double need not hold it exactly. */
function longOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  const digits = isJsonText(value) ? value : (numberText(value) ?? '');
  return /^-?\d{1,19}$/.test(digits) ? Number(digits) : undefined;
}

const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
/** The date of a day since the epoch, with what follows it: an answer has the same few days again and again. */
const dates = new Map<number, string>();

/** In UTC with milliseconds; undefined where it has no year of four digits. `Date.toISOString` takes five times as long. */
export function rfc3339(ms: number): string | undefined {
  if (ms < FIRST_MS || ms > LAST_MS) return undefined;
  const day = Math.floor(ms / DAY_MS);
  const ofDay = ms - day * DAY_MS;
  const hours = twoDigits[Math.floor(ofDay / 3_600_000)];
  const minutes = twoDigits[Math.floor(ofDay / 60_000) % 60];
  const seconds = twoDigits[Math.floor(ofDay / 1_000) % 60];
  const rest = String(1_000 + (ofDay % 1_000)).slice(1);
  return `${dateOf(day)}${hours}:${minutes}:${seconds}.${rest}Z`;
}

function dateOf(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  if (dates.size >= MAX_DAYS) dates.clear();
  const date = new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-ddT'.length);
  dates.set(day, date);
  return date;
}
