const MAX_LENGTH = 500;
/** Longer than a secret in its longest form: what may be the beginning of one at the end of a text that is cut is dropped. */
const MAX_FORM = 16_384;
const MAX_LOOKED_AT = 3 * MAX_FORM;
/** C0 and C1 controls, zero-width and bidirectional formatting: they forge log lines and disguise one text as another. */
export const DISGUISING = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/u;
const ALL_DISGUISING = new RegExp(DISGUISING, 'gu');

/**
 * Foreign text made fit for a log line or a problem: secrets masked by `redact`, control characters gone, at most 500 characters. Of a very
 * long text only the beginning is looked at.
 */
export function cleanText(text: string, redact: (text: string) => string = (same) => same): string {
  const isLong = text.length > MAX_LOOKED_AT;
  // Masked before it is cut, so that no secret straddles the cut.
  const masked = redact(isLong ? text.slice(0, MAX_LOOKED_AT) : text);
  const clean = (isLong ? masked.slice(0, -MAX_FORM) : masked).toWellFormed();
  return [...clean.replace(ALL_DISGUISING, ' ').trim()].slice(0, MAX_LENGTH).join('');
}

const SECRET_FIELDS = new Set(['password', 'passwords']);

/** The values of a request that must not come back in any text: passwords, licence passwords. */
export function secretValues(value: unknown, found: string[] = [], isSecret = false): string[] {
  if (typeof value === 'string') {
    if (isSecret && value !== '') found.push(value);
  } else if (Array.isArray(value)) {
    for (const item of value) secretValues(item, found, isSecret);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) secretValues(member, found, SECRET_FIELDS.has(key));
  }
  return found;
}
