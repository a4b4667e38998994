import { eastAsianWidth } from 'get-east-asian-width';

export const exitCodes = { done: 0, someFailed: 1, refused: 2, unknown: 3 } as const;

/**
 * Characters that a terminal would obey: control characters except line ends, and characters without a shape, such as changes of direction.
 */
const OBEYED = /(?!\r?\n)[\p{Cc}\p{Cf}]/gu;

/** True if the command ends as soon as nobody reads its output any more. */
export const readers = { areNeeded: true };

/**
 * Prints on the standard output. This function and {@link tell} are the only ways to a terminal, for texts of the platform, a caller or the
 * file of a user. It removes characters that a terminal would obey.
 */
export function print(text: string): void {
  process.stdout.write(text.replace(OBEYED, '�'));
}

/** Prints the content of a file unchanged, for a file or another program. */
export function writeAsItIs(text: string): void {
  process.stdout.write(text);
}

/** Prints a line on the standard error in the same way. `start` comes from this program, and may move the cursor. */
export function tell(line: string, start = '', end = '\n'): void {
  process.stderr.write(`${start}${line.replace(OBEYED, '�')}${end}`);
}

/** Returns the same JSON, with the characters that a terminal would obey written as `\u` and a number. */
export function escaped(json: string): string {
  return json.replace(OBEYED, (character) =>
    // Each unit of UTF-16 is written separately, because JSON has four digits for each.
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** Returns JSON of one line for machines, which may also be shown on a terminal. */
export function jsonOf(thing: unknown): string {
  return escaped(JSON.stringify(thing));
}

/** The form of the output: a table for people, or one line of JSON for each item for machines. */
export interface Shown {
  readonly json?: true;
}

/** Prints one object, with a line for each field. */
export function show(thing: object, { json }: Shown): void {
  print(json ? `${jsonOf(thing)}\n` : fieldsOf(thing));
}

/** The most rows that are printed together. A table is printed at its end, when the widths are known, or in parts of this many rows. */
const ROWS_AT_ONCE = 500;

/** A field of an item, or a field of an object in it: `assignment.memberGlobalId`. */
type ColumnOf<T> = {
  [Name in keyof T & string]:
    | Name
    | (NonNullable<T[Name]> extends object
        ? `${Name}.${Exclude<keyof NonNullable<T[Name]> & string, keyof unknown[]>}`
        : never);
}[keyof T & string];

/** Prints these columns of a list. */
export async function list<T extends object>(
  { json, limit = Infinity }: Shown & { readonly limit?: number },
  columns: readonly NoInfer<ColumnOf<T>>[],
  items: AsyncIterable<T> | Iterable<T>,
): Promise<void> {
  let rows = [columns.map(headingOf)];
  let count = 0;
  for await (const item of items) {
    if (json) print(`${jsonOf(item)}\n`);
    else rows.push(columns.map((name) => cell(at(item, name))));
    if (rows.length >= ROWS_AT_ONCE) {
      print(table(rows));
      rows = [];
    }
    if (++count >= limit) break;
  }
  if (!json) print(table(rows));
}

/** Returns one object as text, with a line for each field, and below them a table for each list of objects. */
export function fieldsOf(thing: object): string {
  let tables = '';
  const lines = pathsOf(thing).flatMap(([name, value]) => {
    if (!isListOfObjects(value)) return [[name, cell(value)]];
    const columns = [...new Set(value.flatMap((item) => Object.keys(item)))];
    const rows = value.map((item) => columns.map((column) => cell(item[column])));
    tables += `\n${name}\n${table([columns.map(headingOf), ...rows])}`;
    return [];
  });
  return table(lines) + tables;
}

/** Returns the fields of an object, and those of objects in it by their paths: `maintenance.until`. */
function pathsOf(thing: object, path = ''): [string, unknown][] {
  return Object.entries(thing).flatMap(([name, value]): [string, unknown][] =>
    isObject(value) && Object.keys(value).length > 0
      ? pathsOf(value, `${path}${name}.`)
      : [[path + name, value]],
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfObjects(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

/** Returns the heading of a path: MEMBER GLOBAL ID for `assignment.memberGlobalId`. */
function headingOf(path: string): string {
  const name = path.slice(path.lastIndexOf('.') + 1);
  return name.replaceAll(/(?=[A-Z])/g, ' ').toUpperCase();
}

function at(item: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], item);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object'))
    return value.length === 0 ? '-' : value.join(', ');
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value as string | number);
  return plain(text);
}

/** Returns the text of one cell or one line without control characters and line ends. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '�');
}

/** Returns a word in quotes, as a shell takes it unchanged. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const padded = (text: string, column: number) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text));
  return rows.map((row) => `${row.map(padded).join('  ').trimEnd()}\n`).join('');
}

/**
 * Returns the number of columns that a text takes on a terminal: two for a Chinese character, none for an accent on the character before
 * it.
 */
function widthOf(text: string): number {
  return [...text.replace(/[\p{Mn}\p{Me}]/gu, '')].reduce(
    (sum, character) => sum + eastAsianWidth(character.codePointAt(0) ?? 0),
    0,
  );
}
