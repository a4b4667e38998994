import { INVISIBLE } from '../shared/invisible.ts';
import { isJsonText } from '../shared/json.ts';

/** The characters that values of requests may contain: texts for people, secrets and ids. */

/** True if the percent-encoded characters in a URL, or in a part of it, are UTF-8. */
export function isDecodable(url: string): boolean {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

/**
 * The bounds of a text in characters (code points), as JSON Schema counts them. Without `max`, only the size of the whole body is limited.
 */
export interface Length {
  readonly min?: number;
  readonly max?: number;
}

export function hasLength(value: string, { min = 1, max = Infinity }: Length): boolean {
  if (value.length < min) return false;
  return value.length <= max || (value.length <= 2 * max && [...value].length <= max);
}

/**
 * The characters that no text may contain. Names in many scripts need invisible characters: joiners within a word, marks and isolates of
 * the direction. Only these are refused: control characters, except tabs and line ends; and U+202D and U+202E, which no name needs, and
 * which show the letters of a text in another order.
 */
const UNFIT_IN_TEXT = /[^\P{Cc}\t\n\r]|[\u202d\u202e]/u;
const UNFIT_IN_SECRET = /\p{Cc}/u;
export const BLANK_AROUND = /^\s|\s$/;
/** The form of nearly all texts and ids. They have normal form C and no blanks around them, and need no further check. */
const SIMPLE_TEXT = /^[!-~](?:[ -~]*[!-~])?$/;
/**
 * The pattern matches more marks on one letter than any script uses. Sorting them takes a time that grows with the square of their number.
 */
const MANY_MARKS = /(?:^|\P{M})\p{M}{32}/u;

function isTextWithout(unfit: RegExp, value: unknown, length: Length = {}): boolean {
  if (!isJsonText(value) || !hasLength(value, length)) return false;
  return SIMPLE_TEXT.test(value) || (value.isWellFormed() && !unfit.test(value));
}

/** Returns normal form C, without blanks around it. A text that is too long in any form stays unchanged, and is refused. */
export function tidied(value: unknown, max = Infinity): unknown {
  if (!isJsonText(value) || value.length > 4 * max || SIMPLE_TEXT.test(value)) return value;
  return (MANY_MARKS.test(value) ? value : value.normalize('NFC')).trim();
}

export function isText(value: unknown, length: Length): boolean {
  return isTextWithout(UNFIT_IN_TEXT, value, length);
}

export function isSecret(value: unknown): boolean {
  return isTextWithout(UNFIT_IN_SECRET, value);
}

/**
 * The characters that no id may contain: anything invisible, and blanks at its ends. A blank within an id is allowed, because the platform
 * does not define a form of ids.
 */
const UNFIT_IN_ID = new RegExp(String.raw`^\p{Zs}|\p{Zs}$|[${INVISIBLE}]`, 'u');

export function isIdentifier(value: unknown): boolean {
  return isTextWithout(UNFIT_IN_ID, value);
}
