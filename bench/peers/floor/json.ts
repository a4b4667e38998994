/** JSON, read strictly and without loss. */

const UTF8 = new TextDecoder('utf-8', { fatal: true });
export const textOf = (bytes: Buffer): string => UTF8.decode(bytes);

const [QUOTE, BACKSLASH, COLON, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [34, 92, 58, 123, 125, 91, 93];
const [ZERO, NINE] = [48, 57];
const MAX_DEPTH = 32;
const MAX_EXACT_DIGITS = 15;

type Lossless = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
/** JSON.parse as Node has it. It passes the text of a number, which the library of TypeScript does not know yet. */
const parse = JSON.parse as (text: string, reviver?: Lossless) => unknown;
const lossless: Lossless = (_, value, { source }) =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? source : value;

/**
 * Parses JSON. An integer beyond 2^53 becomes the text of its digits. Throws if a key is repeated, and if the text is no JSON or too deep.
 */
export function strictJson(bytes: Buffer, text = textOf(bytes)): unknown {
  let [keys, depth, digits, hasLong] = [0, 0, 0, false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte >= ZERO && byte <= NINE) {
      if (++digits > MAX_EXACT_DIGITS) hasLong = true;
      continue;
    }
    digits = 0;
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if (byte === COLON) keys++;
    else if (byte === OPEN || byte === OPEN_LIST) {
      if (++depth > MAX_DEPTH) throw new SyntaxError('too deep');
    } else if (byte === CLOSE || byte === CLOSE_LIST) depth--;
  }
  const value = hasLong ? parse(text, lossless) : parse(text);
  if (keysOf(value) !== keys) throw new SyntaxError('a key is there twice');
  return value;
}

function keysOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let keys = 0;
  if (Array.isArray(value)) for (const item of value) keys += keysOf(item);
  else
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key];
      keys += typeof member === 'object' ? 1 + keysOf(member) : 1;
    }
  return keys;
}
