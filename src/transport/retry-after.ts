const MAX_RETRY_AFTER_SECONDS = 60;
/** The three forms of an HTTP date (RFC 9110 5.6.7). `Date.parse` alone also accepts words and bare years. */
const HTTP_DATE =
  /^[A-Z][a-z]{2,8},? (\d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} [\d:]{8} GMT|[A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

/**
 * Reads `Retry-After` (RFC 9110 10.2.3): seconds or a date. Any other value counts as absent. The result is limited, so that no route is
 * closed for years. `now` is in ms since the epoch.
 */
export function retryAfterSeconds(
  given: string | string[] | undefined,
  now = Date.now(),
  max = MAX_RETRY_AFTER_SECONDS,
): number | undefined {
  if (typeof given !== 'string') return undefined;
  const header = given.trim();
  const isDate = HTTP_DATE.test(header);
  if (!isDate && !/^\d+$/.test(header)) return undefined;
  // The oldest form has no zone, and is in GMT too.
  const date = header.endsWith('GMT') ? header : `${header} GMT`;
  const seconds = isDate ? Math.ceil((Date.parse(date) - now) / 1000) : Number(header);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), max);
}
