import { isJsonText, numberText } from '../../shared/json.ts';

/** Keys that could reach a prototype in a careless client of the gateway. */
const POLLUTING = new Set(['__proto__', 'constructor', 'prototype']);
const MAX_ID = 128;
/** All of Unicode's category Cc. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
/** The largest int64, which some platforms use for "without an end". */
const MAX_LONG = 9223372036854775807n;

/** An id as the platform sends it: text, or a whole number of any size, digit by digit. */
export function idText(value: unknown): string | undefined {
  // Some platforms send an empty text for "none". requiredId refuses it.
  if (isJsonText(value)) return isId(value) ? value : undefined;
  const digits = numberText(value);
  return digits !== undefined && /^\d+$/.test(digits) ? digits : undefined;
}

function isId(text: string): boolean {
  if (CONTROL.test(text)) return false;
  return text.length <= MAX_ID || (text.length <= 2 * MAX_ID && [...text].length <= MAX_ID);
}

/** The digits of a 64-bit integer, which the platform sends as a number or as text. */
export function longText(value: unknown): string | undefined {
  const digits =
    typeof value === 'number' && Number.isSafeInteger(value)
      ? String(value)
      : isJsonText(value)
        ? value
        : numberText(value);
  if (digits === undefined || !/^(0|-?[1-9]\d{0,18})$/.test(digits)) return undefined;
  const long = BigInt(digits);
  return long <= MAX_LONG && long >= -MAX_LONG - 1n ? digits : undefined;
}

/** Undoes the marking of numbers: exact integers beyond 2^53 become strings, other numbers numbers. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([key]) => !POLLUTING.has(key));
    return Object.fromEntries(members.map(([key, member]) => [key, plain(member)]));
  }
  const digits = typeof value === 'string' ? numberText(value) : undefined;
  if (digits === undefined) return value;
  return /^-?\d+$/.test(digits) ? digits : Number(digits);
}
