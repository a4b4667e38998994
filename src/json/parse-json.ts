/**
 * JSON (RFC 8259) read strictly and without loss, for both directions: what callers send and what upstream answers.
 *
 * `JSON.parse` does the reading. One scan before it adds what it lacks: a depth limit that holds before any recursion,
 * and numbers that a double would change. Such a number (beyond 2^53, a fraction, an exponent, -0) comes out
 * as a string of {@link NUMBER_MARK} and its text as sent; see {@link numberText}. All others are plain numbers.
 */

/** A lone surrogate: no well-formed text begins with it, so a marked number is never mistaken for a string. */
const NUMBER_MARK = '\udfff';
const MARK_ESCAPE = String.raw`"\udfff`;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NUMBER_CHARACTERS = /[\d+\-.eE]+/y;
const COLON = /\s*:/y;
const INTEGER = /^-?(?:0|[1-9]\d{0,15})$/;

export type JsonFaultKind = 'encoding' | 'syntax' | 'depth' | 'values' | 'duplicate-key';

interface Limits {
  readonly maxDepth: number;
  /** Fields and items that follow others: beyond it a text is refused before anything is made of it. */
  readonly maxValues?: number;
}

/** Why a text is not JSON that we accept; `pointer` (RFC 6901) says where a repeated key is. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';

  constructor(
    readonly kind: JsonFaultKind,
    readonly pointer = '',
  ) {
    super(kind);
  }
}

/** Decodes UTF-8 strictly (one byte order mark is dropped) and parses. Throws {@link JsonFault}. */
export function parseJson(bytes: Buffer, limits: Limits): unknown {
  const decoded = decodeUtf8(bytes);
  const { text, keys } = scan(decoded, limits);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonFault('syntax');
  }
  // A repeated key leaves fewer keys than the text has colons; the place is only looked for then.
  if (countKeys(value) !== keys) throw new JsonFault('duplicate-key', findRepeatedKey(text));
  return value;
}

/** The text of a number as it was sent, or undefined where the value is no number. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.startsWith(NUMBER_MARK) ? value.slice(1) : undefined;
}

/** True for text, false for a marked number and everything else. */
export function isJsonText(value: unknown): value is string {
  return typeof value === 'string' && !value.startsWith(NUMBER_MARK);
}

/** RFC 6901: a reference token in a pointer. */
export function pointerToken(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new JsonFault('encoding');
  }
}

function scan(text: string, { maxDepth, maxValues = Infinity }: Limits): { text: string; keys: number } {
  let keys = 0;
  let commas = 0;
  let depth = 0;
  let rewritten = '';
  let copied = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at);
        break;
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maxDepth) throw new JsonFault('depth');
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x3a: // :
        keys++;
        break;
      case 0x2c: // ,
        if (++commas > maxValues) throw new JsonFault('values');
        break;
      case 0x2d: // - and the digits
      case 0x30:
      case 0x31:
      case 0x32:
      case 0x33:
      case 0x34: // prettier-ignore
      case 0x35:
      case 0x36:
      case 0x37:
      case 0x38:
      case 0x39: {
        const token = numberAt(text, at);
        if (NUMBER.test(token) && !isExact(token)) {
          rewritten += `${text.slice(copied, at)}${MARK_ESCAPE}${token}"`;
          copied = at + token.length;
        }
        at += token.length - 1;
      }
    }
  }
  return { text: copied === 0 ? text : rewritten + text.slice(copied), keys };
}

/** Whether a double holds the number and prints as the same text. */
function isExact(token: string): boolean {
  return INTEGER.test(token) && token !== '-0' && (token.length < 16 || Number.isSafeInteger(Number(token)));
}

function numberAt(text: string, at: number): string {
  NUMBER_CHARACTERS.lastIndex = at;
  return NUMBER_CHARACTERS.exec(text)?.[0] ?? '';
}

/** The index of the quote that closes the string opened at `open`; the text's end where none does. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close !== -1; close = text.indexOf('"', close + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(close - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return close;
  }
  return text.length;
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
  } else {
    const members = Object.values(value);
    count = members.length;
    for (const member of members) count += countKeys(member);
  }
  return count;
}

function isFollowedByColon(text: string, at: number): boolean {
  COLON.lastIndex = at;
  return COLON.test(text);
}

/** Where the first repeated key of a valid JSON text is. */
function findRepeatedKey(text: string): string {
  interface Level {
    readonly seen?: Set<string>;
    token: string | number;
  }
  const levels: Level[] = [];
  const pointer = () => levels.map((level) => pointerToken(level.token)).join('');
  for (let at = 0; at < text.length; at++) {
    const level = levels.at(-1);
    switch (text[at]) {
      case '{':
        levels.push({ seen: new Set(), token: '' });
        break;
      case '[':
        levels.push({ token: 0 });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level && typeof level.token === 'number') level.token++;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.seen && isFollowedByColon(text, end + 1)) {
          level.token = JSON.parse(text.slice(at, end + 1)) as string;
          if (level.seen.has(level.token)) return pointer();
          level.seen.add(level.token);
        }
        at = end;
        break;
      }
      default:
    }
  }
  return '';
}
