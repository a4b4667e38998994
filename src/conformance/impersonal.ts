/** Mail addresses, and runs of digits such as telephone numbers and ids. */
const PERSONAL = /[^\s@<>"']+@[^\s@<>"']+|\d{6,}/g;
/** Fields whose values are neither names nor ids, so they stay readable. */
const PLAIN = new Set(['pageNum', 'pageSize', 'size', 'sequence', 'defaultCustomer', 'departmentId']);

/** Removes the values of `sent` from the platform's words, because they may be ids and names. Each is replaced by the name of its field. */
export function impersonal(words: string, sent: object): string {
  const values = [...valuesOf(sent)].toSorted(([one], [other]) => other.length - one.length);
  let text = words;
  for (const [value, field] of values) text = text.replace(wholeWord(value), `<${field}>`);
  return text.replace(PERSONAL, '<…>');
}

function* valuesOf(part: unknown, field = ''): Generator<readonly [value: string, field: string]> {
  if (typeof part === 'string' && part.trim() !== '') yield [part, field];
  if (typeof part !== 'object' || part === null) return;
  for (const [name, value] of Object.entries(part))
    if (!PLAIN.has(name)) yield* valuesOf(value, Array.isArray(part) ? field : name);
}

function wholeWord(value: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(value)}(?![\\p{L}\\p{N}])`, 'gu');
}
