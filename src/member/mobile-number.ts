/** The characters that stand for digits that a platform does not show. */
const MASK = /[*＊•●∗]|x{2,}|#{2,}/i;
const NO_DIGIT = /\D/g;
/** The characters that people write between digits. */
const SEPARATORS = /[\s().+/-]/g;
/** No mobile number is shorter. */
const MIN_DIGITS = 6;

export const MASKED = 'must be a whole number: some of its digits are masked';

/** A number that is written back like this would replace the true one. */
export function isMasked(mobile: string | undefined | null): boolean {
  return typeof mobile === 'string' && MASK.test(mobile);
}

/** Whether the platform shows all of a number, or that there is none. */
export function isWhole(shown: string | null): boolean {
  if (shown === null) return true;
  const digits = shown.replace(SEPARATORS, '');
  return digits.length >= MIN_DIGITS && !digits.match(NO_DIGIT);
}

/** Whether a number may be the one of which the platform shows only a part: its beginning, its end, or both. */
export function mayBe(number: string, shown: string): boolean {
  const digits = number.replace(NO_DIGIT, '');
  const part = shown.replace(SEPARATORS, '');
  const [beginning = ''] = /^\d*/.exec(part) ?? [];
  const [end = ''] = /\d*$/.exec(part) ?? [];
  // The platform may leave out the code of the country.
  return digits !== '' && digits.endsWith(end) && digits.includes(beginning);
}
