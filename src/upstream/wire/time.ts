import { isJsonText, numberText } from '../../shared/json.ts';

/** Times on the wire are longs in a unit that the interface does not show; callers get RFC 3339. */
export type TimestampUnit = 'ms' | 's';

/** A long between these two bounds is a time from 1973 to 5138 in seconds, and up to March 1973 in milliseconds. */
const SECONDS_FROM = 10 ** 8;
const SECONDS_TO = 10 ** 11;

interface Time {
  /** Since the epoch. */
  readonly ms: number;
  /** By its size it is more likely a time in the unit that is not configured. */
  readonly isOtherUnit: boolean;
}

/** The largest long, as a double holds it. */
const ENDLESS = 2 ** 63;

/** Reads a long as number or text; undefined where it is no long, `none` where it means that there is no time. */
export function readTime(value: unknown, unit: TimestampUnit): Time | 'none' | undefined {
  const long = longOf(value);
  if (long === undefined) return undefined;
  if (long === 0 || long >= ENDLESS) return 'none';
  const isOtherUnit = unit === 'ms' ? long >= SECONDS_FROM && long < SECONDS_TO : long >= SECONDS_TO;
  return { ms: unit === 's' ? long * 1000 : long, isOtherUnit };
}

/** Beyond 2^53 no long is a time, so that a double need not hold it exactly. */
function longOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  const digits = isJsonText(value) ? value : (numberText(value) ?? '');
  return /^-?\d{1,19}$/.test(digits) ? Number(digits) : undefined;
}
