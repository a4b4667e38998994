const MAX_LENGTH = 500;
/**
 * The most characters that one secret can take in any form. When a text is cut, this much is dropped at its end, because it may be the
 * beginning of a secret.
 */
const MAX_FORM = 16_384;
const MAX_LOOKED_AT = 3 * MAX_FORM;
/** C0 and C1 controls, zero-width and bidirectional formatting. Attackers use them to forge log lines and to disguise a text. */
const DISGUISING = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/u;
const ALL_DISGUISING = new RegExp(DISGUISING, 'gu');
/** A joiner between two letters. Persian and many scripts of India write words with it, so it disguises nothing. */
const JOINED =
  /^(?:\p{M}|[^\P{L}\p{ASCII}\p{Script=Latin}])[\u200c\u200d][^\P{L}\p{ASCII}\p{Script=Latin}]$/u;

/**
 * Prepares foreign text for a log line or a problem. `redact` masks secrets, control characters are removed, and at most 500 characters are
 * kept. Only the beginning of a very long text is read.
 */
export function cleanText(text: string, redact: (text: string) => string = (same) => same): string {
  const isLong = text.length > MAX_LOOKED_AT;
  // The text is masked before it is cut, so that no part of a secret remains before the cut.
  const masked = redact(isLong ? text.slice(0, MAX_LOOKED_AT) : text);
  const clean = (isLong ? masked.slice(0, -MAX_FORM) : masked).toWellFormed();
  const plain = clean.replace(ALL_DISGUISING, (found, at: number) =>
    JOINED.test(clean.slice(at - 1, at + 2)) ? found : ' ',
  );
  return [...plain.trim()].slice(0, MAX_LENGTH).join('');
}

/** Joins ids with slashes, for the audit line. A slash in an id is `%2F`, because order numbers may have one. */
export function joinedIds(ids: readonly string[]): string {
  return ids.map((id) => id.replaceAll(/[%/]/g, encodeURIComponent)).join('/');
}
