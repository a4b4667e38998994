/** The characters that replace digits which a platform does not show, such as the full-width star and three kinds of bullets. */
const MASK = /[*\uff0a\u2022\u25cf\u2217]|x{2,}|#{2,}|\.{2,}|-{2,}/i;
const NO_DIGIT = /\D/g;
/** The characters that people write between digits. */
const SEPARATORS = /[\s().+/-]/g;
/** People write one separator between digits. Several in a row replace digits that a platform does not show. */
const GAP = /[\s./-]{2,}/g;
/** The fewest digits of a mobile number. */
const MIN_DIGITS = 6;

export const MASKED = 'must be a whole number: some of its digits are masked';

/** True if a number has masked digits. Written back, it would replace the true number. */
export function isMasked(mobile: string | undefined | null): boolean {
  return typeof mobile === 'string' && MASK.test(mobile);
}

/** True if the platform shows the whole number, or that there is none. */
export function isWhole(shown: string | null): boolean {
  if (shown === null) return true;
  const digits = joined(shown);
  return digits.length >= MIN_DIGITS && !digits.match(NO_DIGIT);
}

/** True if a number may be the one of which the platform shows only a part: its beginning, its end, or both. */
export function mayBe(number: string, shown: string): boolean {
  const digits = number.replace(NO_DIGIT, '');
  const part = joined(shown);
  const [beginning = ''] = /^\d*/.exec(part) ?? [];
  const [end = ''] = /(?<!\d)\d*$/.exec(part) ?? [];
  // The platform may leave out the code of the country.
  return digits !== '' && digits.endsWith(end) && digits.includes(beginning);
}

/** Returns a shown number without separators, and with one `*` for each gap of separators. */
function joined(shown: string): string {
  return shown.trim().replace(GAP, '*').replace(SEPARATORS, '');
}
