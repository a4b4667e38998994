import { isJsonText, numberText } from '../../shared/json.ts';

/** Keys that could reach a prototype in a careless client of the gateway. */
const POLLUTING = new Set(['__proto__', 'constructor', 'prototype']);
/** The characters of Unicode's category Cc. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
/** The largest int64, which some platforms use for "without an end". */
const MAX_LONG = 9223372036854775807n;

/** Returns an id as the platform sends it: text, or a whole number of any size, digit by digit. */
export function idText(value: unknown): string | undefined {
  // Some platforms send an empty text for "none". requiredId refuses it.
  if (isJsonText(value)) return CONTROL.test(value) ? undefined : value;
  const digits = numberText(value);
  return digits !== undefined && /^\d+$/.test(digits) ? digits : undefined;
}

/** A 64-bit integer in decimal digits. The pattern does not check the ends of the range. */
export const LONG_DIGITS = /^(0|-?[1-9]\d{0,18})$/;

/** Returns the digits of a 64-bit integer, which the platform sends as a number or as text. */
export function longText(value: unknown): string | undefined {
  const digits = isJsonText(value) ? value : numberText(value);
  if (digits === undefined || !LONG_DIGITS.test(digits)) return undefined;
  const long = BigInt(digits);
  return long <= MAX_LONG && long >= -MAX_LONG - 1n ? digits : undefined;
}

/** Removes the marks of numbers: integers and numbers beyond a double become strings, and other numbers become numbers. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([key]) => !POLLUTING.has(key));
    return Object.fromEntries(members.map(([key, member]) => [key, plain(member)]));
  }
  const digits = typeof value === 'string' ? numberText(value) : undefined;
  if (digits === undefined) return value;
  const number = Number(digits);
  return /^-?[1-9]\d*$/.test(digits) || !Number.isFinite(number) ? digits : number;
}

/** A long that is sent with all its digits, even beyond 2^53. */
export type WireLong = object;

const engine = JSON as unknown as { rawJSON(text: string): object };

/** Makes a long. `digits` must be an integer of JSON, without a leading zero. */
export function wireLong(digits: string | undefined): WireLong | undefined {
  return digits === undefined ? undefined : engine.rawJSON(digits);
}

/** The unit of times on the wire. They are longs in a unit that the interface does not show; callers get RFC 3339. */
export type TimestampUnit = 'ms' | 's';

/**
 * The bounds that tell the units apart. A long between them is a time from 1973 to 5138 in seconds, and up to March 1973 in milliseconds.
 */
const SECONDS_FROM = 10 ** 8;
const SECONDS_TO = 10 ** 11;

interface Time {
  /** Milliseconds since the epoch. */
  readonly ms: number;
  /** True if its size suggests a time in the unit that is not configured. */
  readonly isOtherUnit: boolean;
}

/** Reads a long as number or text. Returns undefined if it is no long, and `none` if it means that there is no time. */
export function readTime(value: unknown, unit: TimestampUnit): Time | 'none' | undefined {
  const long = longOf(value);
  if (long === undefined) return undefined;
  if (long === 0 || long >= Number(MAX_LONG)) return 'none';
  const isOtherUnit = unit === 'ms' ? long >= SECONDS_FROM && long < SECONDS_TO : long >= SECONDS_TO;
  return { ms: unit === 's' ? long * 1000 : long, isOtherUnit };
}

/** Returns a long as a double. No long beyond 2^53 is a time, so the double need not be exact. */
function longOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  const digits = isJsonText(value) ? value : (numberText(value) ?? '');
  return /^-?\d{1,19}$/.test(digits) ? Number(digits) : undefined;
}

/** Values that some platforms send in place of booleans. */
export const FLAG_WORDS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ...[1, '1', 'true'].map((word) => [word, true] as const),
  ...[0, '0', 'false'].map((word) => [word, false] as const),
]);
