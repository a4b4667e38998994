/**
 * Reads JSON (RFC 8259) strictly and without loss, for requests of callers and responses of the platform.
 *
 * `JSON.parse` does the reading. A scan of the bytes before it adds two things: a depth limit before any recursion, and the search for
 * numbers that a double would change. Such a number (beyond 2^53, a fraction, an exponent, -0) becomes a string of {@link NUMBER_MARK} and
 * its text as sent; see {@link numberText}. All other numbers are plain numbers.
 */

import { pointerToken, repeatedKey } from './json-syntax.ts';

/** A lone surrogate: no well-formed text begins with it, so a marked number is never mistaken for a string. */
const NUMBER_MARK = '\udfff';
const MARK_ESCAPE = String.raw`"\udfff`;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?(?:0|[1-9]\d{0,15})$/;
/** Every integer with at most this many digits is exact in a double. */
const MAX_EXACT_DIGITS = 15;
const MAX_SAFE = String(Number.MAX_SAFE_INTEGER);

const [QUOTE, OPEN, CLOSE, COLON, COMMA, DIGIT, MINUS, IN_NUMBER] = [1, 2, 3, 4, 5, 6, 7, 8] as const;
/** The kind of each byte outside of a string. A byte of kind {@link DIGIT} or higher may be part of a number. */
const KINDS = kindsOf({
  '"': QUOTE,
  '{[': OPEN,
  '}]': CLOSE,
  ':': COLON,
  ',': COMMA,
  '0123456789': DIGIT,
  '-': MINUS,
  '+.eE': IN_NUMBER,
});
/** The bytes that matter within a string. */
const [CLOSING, BACKSLASH] = [0x22, 0x5c];
const UTF8 = new TextDecoder('utf-8', { fatal: true });

export type JsonFaultKind =
  | 'encoding'
  | 'syntax'
  | 'depth'
  | 'values'
  | 'keys'
  | 'duplicate-key'
  | 'refused-key';

interface Limits {
  readonly maxDepth: number;
  /** The limit of fields and items. A text with more of them is refused before it is parsed. */
  readonly maxValues?: number;
  /** The limit of fields of one object. Distinct names cost far more to parse than repeated names. */
  readonly maxKeys?: number;
  /** True for a name that no field may have. */
  readonly refuses?: (key: string) => boolean;
}

/** Why the gateway does not accept a text as JSON. `pointer` (RFC 6901) is the location of a repeated or refused key. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';

  constructor(
    readonly kind: JsonFaultKind,
    readonly pointer = '',
  ) {
    super(kind);
  }
}

/** Parses bytes. `decoded` is their text, if the caller has it already. Throws {@link JsonFault}. */
export function parseJson(bytes: Buffer, limits: Limits, decoded = decodeUtf8(bytes)): unknown {
  const { keys, numbers } = scan(bytes, limits);
  const text = numbers.length === 0 ? decoded : withMarks(bytes, decoded, numbers);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonFault('syntax');
  }
  // A value with fewer keys than the text has colons has a repeated key. Only then its location is searched.
  if (isObject(value) && countKeys(value, limits.refuses) !== keys)
    throw new JsonFault('duplicate-key', repeatedKey(text));
  return value;
}

/** Returns the text of a number as it was sent, or undefined if the value is not a number. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.startsWith(NUMBER_MARK) ? value.slice(1) : undefined;
}

/** The most digits of an integer. No integer of the interface has more. */
const MAX_DIGITS = 40;
/** The last zeros of a number. A match begins at the first zero of a row only: otherwise each zero would search the row's end again. */
const LAST_ZEROS = /(?<!0)0+$/;
const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Returns the digits of a number that is an integer, also if it is spelled with a fraction of zeros or an exponent: `5.0`, `5e0`, `-0`. */
export function integerText(value: unknown): string | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(numberText(value) ?? '') ?? [];
  const significant = (whole + fraction).replace(LAST_ZEROS, '');
  if (whole === '' || significant === '') return whole === '' ? undefined : '0';
  const length = whole.length + Number(exponent);
  if (length < significant.length || length > MAX_DIGITS) return undefined;
  const digits = significant.padEnd(length, '0').replace(/^0+/, '');
  return digits === '' ? undefined : sign + digits;
}

/** True for text, false for a marked number and everything else. */
export function isJsonText(value: unknown): value is string {
  return typeof value === 'string' && !value.startsWith(NUMBER_MARK);
}

function kindsOf(characters: Readonly<Record<string, number>>): Uint8Array {
  const kinds = new Uint8Array(256);
  for (const [all, kind] of Object.entries(characters))
    for (const byte of Buffer.from(all)) kinds[byte] = kind;
  return kinds;
}

/** Decodes UTF-8 strictly. One byte order mark is dropped. Throws {@link JsonFault}. */
export function decodeUtf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new JsonFault('encoding');
  }
}

function kindAt(bytes: Buffer, at: number): number {
  return KINDS[bytes[at] as number] as number;
}

/** The location of a number that a double might change, and whether the number consists of digits only. */
type OddNumber = readonly [from: number, to: number, isPlain: boolean];

/** Scans bytes, which is twice as fast as scanning text: every byte of a character beyond ASCII is above 0x7f. */
function scan(bytes: Buffer, { maxDepth, maxValues = Infinity, maxKeys = Infinity }: Limits) {
  const numbers: OddNumber[] = [];
  const { length } = bytes;
  /** The number of keys of each open object, by its depth. */
  const keysAt = [0];
  /** The number of colons outside of strings. */
  let keys = 0;
  let commas = 0;
  let depth = 0;
  for (let at = 0; at < length; at++) {
    switch (kindAt(bytes, at)) {
      case QUOTE:
        for (at++; at < length; at++) {
          const byte = bytes[at];
          if (byte === BACKSLASH) at++;
          else if (byte === CLOSING) break;
        }
        break;
      case OPEN:
        if (++depth > maxDepth) throw new JsonFault('depth');
        keysAt[depth] = 0;
        break;
      case CLOSE:
        if (--depth < 0) throw new JsonFault('syntax');
        break;
      case COLON:
        keys++;
        if ((keysAt[depth] = (keysAt[depth] ?? 0) + 1) > maxKeys) throw new JsonFault('keys');
        break;
      case COMMA:
        if (++commas > maxValues) throw new JsonFault('values');
        break;
      case DIGIT:
      case MINUS: {
        const from = at;
        let isPlain = true;
        for (; at < length; at++) {
          const kind = kindAt(bytes, at);
          if (kind < DIGIT) break;
          if (kind !== DIGIT) isPlain = false;
        }
        if (!isPlain || at - from > MAX_EXACT_DIGITS) {
          // Numbers without commas between them are not JSON, and must not fill the memory.
          if (numbers.length > maxValues) throw new JsonFault('values');
          numbers.push([from, at, isPlain]);
        }
        at--;
        break;
      }
      default:
    }
  }
  return { keys, numbers };
}

/** Replaces the numbers that a double would change by marked strings. */
function withMarks(bytes: Buffer, decoded: string, numbers: readonly OddNumber[]): string {
  // Locations are counted in bytes, so each byte must be one character. In ASCII it is.
  const isAscii = decoded.length === bytes.length;
  const source = isAscii ? decoded : bytes.toString('latin1');
  let text = '';
  let copied = 0;
  for (const [from, to, isPlain] of numbers) {
    const token = source.slice(from, to);
    if (!isChanged(token, isPlain)) continue;
    text += `${source.slice(copied, from)}${MARK_ESCAPE}${token}"`;
    copied = to;
  }
  text += source.slice(copied);
  return isAscii ? text : decodeUtf8(Buffer.from(text, 'latin1'));
}

/** True if a double prints a different text. `JSON.parse` refuses a token that is not a number. */
function isChanged(token: string, isPlain: boolean): boolean {
  // Nearly all such numbers are ids of 16 digits or more, whose texts compare like numbers. Any other comparison costs ten times as much.
  if (isPlain && !token.startsWith('0')) return token.length > 16 || token > MAX_SAFE;
  if (!NUMBER.test(token)) return false;
  return !INTEGER.test(token) || token === '-0' || !Number.isSafeInteger(Number(token));
}

/**
 * Counts the keys of a value from `JSON.parse`, which has no inherited keys that `for…in` would find. Throws at the first refused key,
 * depth first, with its location in the value.
 */
function countKeys(value: object, refuses: Limits['refuses']): number {
  let count = 0;
  let at: string | number = 0;
  try {
    if (Array.isArray(value)) {
      for (; at < value.length; at++)
        if (isObject(value[at])) count += countKeys(value[at] as object, refuses);
      return count;
    }
    for (at in value) {
      if (refuses?.(at)) throw new JsonFault('refused-key');
      count++;
      const member = (value as Record<string, unknown>)[at];
      if (isObject(member)) count += countKeys(member, refuses);
    }
    return count;
  } catch (error) {
    throw error instanceof JsonFault ? new JsonFault(error.kind, pointerToken(at) + error.pointer) : error;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
