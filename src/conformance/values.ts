import { isJsonText, numberText } from '../shared/json.ts';

/** An object as the platform sent it. */
export type Row = Readonly<Record<string, unknown>>;

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function itemsOf(list: unknown): readonly Row[] {
  return Array.isArray(list) ? list.filter(isRow) : [];
}

/** Reads a flag: a boolean, or 0 or 1. Undefined for any other value. */
export function flagOf(value: unknown): boolean | undefined {
  if (value === true || numberText(value) === '1') return true;
  return value === false || numberText(value) === '0' ? false : undefined;
}

/** The parts of an answer that questions read. */
interface Came {
  readonly kind: string;
  readonly data: unknown;
}

/** Returns `data` of a success if it is an object, or else an empty object. */
export function objectOf(answer: Came | undefined): Row {
  return answer?.kind === 'success' ? ((answer.data ?? {}) as Row) : {};
}

/** Returns the items of a success whose `data` is a list or a page, or else none. */
export function rowsOf(answer: Came | undefined): readonly Row[] {
  const data = objectOf(answer);
  return itemsOf(Array.isArray(data) ? data : data['list']);
}

/** True for a success with a list, which may be null where it is empty. A list that did not come is not an empty one. */
export function hasList({ kind, data }: Came): boolean {
  return kind === 'success' && (data === null || Array.isArray(data));
}

/** Returns an id as it was sent, a text or a number of any size. Undefined if there is none. */
export function idOf(value: unknown): string | undefined {
  return numberText(value) ?? (isJsonText(value) && value !== '' ? value : undefined);
}

export function countOf(value: unknown): number | undefined {
  const text = numberText(value) ?? (isJsonText(value) ? value : undefined);
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/**
 * Returns the largest accepted number below `refused`, if 1 is accepted. Undefined if an answer does not tell, or if the last two sizes do not
 * get the same answers again: a platform may have refused a call for another reason than its size.
 */
export async function largest(
  refused: number,
  isTaken: (number: number) => Promise<boolean | undefined>,
): Promise<number | undefined> {
  let [taken, beyond] = [1, refused];
  while (beyond - taken > 1) {
    const middle = Math.floor((taken + beyond) / 2);
    const answer = await isTaken(middle);
    if (answer === undefined) return undefined;
    if (answer) taken = middle;
    else beyond = middle;
  }
  return (await isTaken(beyond)) === false && (await isTaken(taken)) === true ? taken : undefined;
}
