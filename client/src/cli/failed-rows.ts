/**
 * The file of the failed rows: the rows of the input, each with its result in further columns. It can be corrected and passed to a command
 * again, which ignores the further columns.
 */
import type { JobRow, RowFormat } from '../licensing.ts';

const REASON = ['status', 'code', 'message'] as const;
/** The further fields of a JSON line, in the form of {@link failedRows}. */
const REASON_FIELDS =
  /(?<!\s)\s*,\s*"status"\s*:\s*"[a-z]+"\s*,\s*"code"\s*:\s*(?:null|"[^"]*")\s*,\s*"message"\s*:\s*(?:null|"(?:[^"\\]|\\.)*")\s*\}\s*$/;

/** The mark of UTF-8 without which some spreadsheets take a file for another encoding. */
const MARK = '\uFEFF';

/** Returns the failed rows of the input, found by their numbers. The file has the mark of UTF-8 if the input has it. */
export function failedRows(input: string, format: RowFormat, rows: readonly JobRow[]): string {
  const failed = new Map(rows.map((row) => [row.row, row]));
  if (format === 'ndjson')
    return input
      .split('\n')
      .filter((line) => line.trim() !== '')
      .flatMap((line, index) => {
        const row = failed.get(index + 1);
        if (!row) return [];
        const { status, code, message } = row;
        // The line stays a text, because JSON.parse would round a long department id.
        return [`${line.trimEnd().slice(0, -1)},${JSON.stringify({ status, code, message }).slice(1)}\n`];
      })
      .join('');
  const { mark, separator, header, records } = csv(input);
  const lines = records.flatMap(({ text }, index) => {
    const row = failed.get(index + 1);
    return row ? [[text, ...REASON.map((name) => told(row[name], separator))].join(separator)] : [];
  });
  const names = [...header.map((name) => cell(name, separator)), ...REASON].join(separator);
  return mark + [names, ...lines, ''].join('\r\n');
}

/** Returns the rows without further columns, or the unchanged input if it has none. */
export function withoutReasons(input: string, format: RowFormat): string {
  if (format === 'ndjson') return input.replaceAll(/^.*$/gm, (line) => line.replace(REASON_FIELDS, '}'));
  const firstLine = /^\uFEFF?[\r\n]*(.*)/.exec(input)?.[1] ?? '';
  if (!REASON.every((name) => firstLine.includes(name))) return input;
  const { mark, separator, header, records } = csv(input);
  // Another program may have saved the file with quotes, or with its columns in another order.
  const further = new Set(REASON.map((name) => header.findIndex((each) => each.trim() === name)));
  if (further.has(-1)) return input;
  const kept = [header, ...records.map(({ cells }) => cells)].map((cells) =>
    // A row with missing or additional cells is sent unchanged, and refused by its number.
    (cells.length === header.length ? cells.filter((_, column) => !further.has(column)) : cells)
      .map((text) => cell(text, separator))
      .join(separator),
  );
  return mark + [...kept, ''].join('\r\n');
}

/** Returns the results of rows whose input this command does not have. */
export function reasonsOnly(rows: readonly JobRow[]): string {
  const names = ['row', 'account', ...REASON] as const;
  return [
    names.join(','),
    ...rows.map((row) => names.map((name) => told(row[name], ',')).join(',')),
    '',
  ].join('\r\n');
}

interface Csv {
  readonly mark: string;
  readonly separator: string;
  readonly header: readonly string[];
  /** The rows below the header, without empty lines, as the gateway counts them: the text of each, and its cells without quotes. */
  readonly records: readonly { readonly text: string; readonly cells: readonly string[] }[];
}

function csv(input: string): Csv {
  const mark = input.startsWith(MARK) ? MARK : '';
  const text = input.slice(mark.length);
  // The gateway decides the same way: no name of a column has a semicolon.
  const separator = /^[\r\n]*[^\r\n]*;/.test(text) ? ';' : ',';
  // The pattern matches a cell with or without quotes, and the separator after it.
  const cells = new RegExp(
    `("[^"]*(?:""[^"]*)*"|[^${separator}\\r\\n]*)(${separator}|\\r\\n|\\n|\\r|$)`,
    'gy',
  );
  const records: { text: string; cells: string[] }[] = [];
  let begun: string[] = [];
  let start = 0;
  while (cells.lastIndex < text.length) {
    const [, raw = '', end = ''] = cells.exec(text) ?? [];
    begun.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
    if (end === separator && cells.lastIndex < text.length) continue;
    if (end === separator) begun.push('');
    const stop = cells.lastIndex;
    if (begun.length > 1 || begun[0] !== '')
      records.push({ text: text.slice(start, stop).replace(/(?<![\r\n])[\r\n]+$/, ''), cells: begun });
    begun = [];
    start = stop;
  }
  const [first, ...rest] = records;
  return { mark, separator, header: first?.cells ?? [], records: rest };
}

/** Returns a cell of a report. A spreadsheet would run a cell with certain first characters as a formula. */
function told(value: string | number | null, separator: string): string {
  return cell(String(value ?? '').replace(/^(?=[=+\-@\t\r])/, "'"), separator);
}

function cell(text: string, separator: string): string {
  return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
