const MAX_LENGTH = 500;
const MASK = '[secret]';
/** C0 and C1 controls, zero-width and bidirectional formatting: they forge log lines and disguise one text as another. */
export const DISGUISING = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/u;
const ALL_DISGUISING = new RegExp(DISGUISING, 'gu');

/** Foreign text made fit for a log line or a problem: known secrets masked, control characters gone, at most 500 characters. */
export function cleanText(text: string, secrets: readonly string[]): string {
  let clean = text;
  // Masked before it is cut, so that no secret straddles the cut; the longest first, since one may begin like another.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    if (secret !== '') clean = clean.replaceAll(secret, MASK);
  }
  clean = clean.toWellFormed().replace(ALL_DISGUISING, ' ').trim();
  return [...clean].slice(0, MAX_LENGTH).join('');
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
