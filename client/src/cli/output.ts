import { eastAsianWidth } from 'get-east-asian-width';

export const exitCodes = { done: 0, someFailed: 1, refused: 2, unknown: 3 } as const;

/** What a terminal would obey: control characters but the ends of lines, and characters without a shape, such as turns of direction. */
const OBEYED = /(?!\r?\n)[\p{Cc}\p{Cf}]/gu;

/**
 * Prints on the standard output. With {@link tell} the only way to a terminal, whoever wrote the text: the platform, a caller, the file of a
 * user. It takes out what a terminal would obey.
 */
export function print(text: string): void {
  process.stdout.write(text.replace(OBEYED, '�'));
}

/** Prints what is a file, for a file or another program. */
export function writeAsItIs(text: string): void {
  process.stdout.write(text);
}

/** Prints a line on the standard error in the same way. `start` is of this program, and may move the cursor. */
export function tell(line: string, start = '', end = '\n'): void {
  process.stderr.write(`${start}${line.replace(OBEYED, '�')}${end}`);
}

/** The same JSON, in which what a terminal would obey is written as `\u` and a number. */
export function escaped(json: string): string {
  return json.replace(OBEYED, (character) =>
    // By its units of UTF-16, of which JSON has four digits each.
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** JSON of one line for machines, which may be shown on a terminal too. */
export function jsonOf(thing: unknown): string {
  return escaped(JSON.stringify(thing));
}

/** How a command prints: a table for people, or one line of JSON an item for machines. */
export interface Shown {
  readonly json?: true;
}

/** Prints one thing: a line a field. */
export function show(thing: object, { json }: Shown): void {
  print(json ? `${jsonOf(thing)}\n` : fieldsOf(thing));
}

/** A table is printed at its end, when the widths are known, or in parts of this many rows. */
const ROWS_AT_ONCE = 500;

/** Prints these columns of a list. */
export async function list(
  { json, limit = Infinity }: Shown & { readonly limit?: number },
  columns: readonly string[],
  items: AsyncIterable<object> | Iterable<object>,
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

/** One thing: a line a field. */
export function fieldsOf(thing: object): string {
  return table(Object.entries(thing).map(([name, value]) => [name, cell(value)]));
}

/** `assignment.memberGlobalId` is headed MEMBER GLOBAL ID. */
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

/** Without control characters, ends of lines too: of one cell, or one line. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '�');
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const padded = (text: string, column: number) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text));
  return rows.map((row) => `${row.map(padded).join('  ').trimEnd()}\n`).join('');
}

/** How many columns of a terminal a text takes: a Chinese character two, an accent on the one before none. */
function widthOf(text: string): number {
  return [...text.replace(/[\p{Mn}\p{Me}]/gu, '')].reduce(
    (sum, character) => sum + eastAsianWidth(character.codePointAt(0) ?? 0),
    0,
  );
}
