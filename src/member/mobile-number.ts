/** Characters in place of digits that a platform does not show. */
const MASK = /[*＊•●∗]/;
const NO_DIGIT = /\D/g;
/** No mobile number is shorter. */
const MIN_DIGITS = 6;

export const MASKED = 'must be a whole number: some of its digits are masked';

/** A number that is written back like this would replace the true one. */
export function isMasked(mobile: string | undefined | null): boolean {
  return typeof mobile === 'string' && MASK.test(mobile);
}

/** Whether the platform shows all of a number, or that there is none. */
export function isWhole(shown: string | null): boolean {
  return shown === null || (!isMasked(shown) && shown.replace(NO_DIGIT, '').length >= MIN_DIGITS);
}

/** Whether a number may be the one of which the platform shows only a part: its beginning, its end, or both. */
export function mayBe(number: string, shown: string): boolean {
  if (number === shown) return true;
  const digits = number.replace(NO_DIGIT, '');
  const parts = shown.split(MASK).map((part) => part.replace(NO_DIGIT, ''));
  const [beginning = '', end = ''] = [parts[0], parts.at(-1)];
  // The platform may leave out the code of the country.
  return digits !== '' && digits.endsWith(end) && digits.includes(beginning);
}
