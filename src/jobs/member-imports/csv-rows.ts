import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse, type Parser } from 'csv-parse';
import { ProblemException } from '../../problem/problem.exception.ts';
import type { Slices } from '../../shared/slices.ts';

export interface FileRow {
  /** 1 is the first row below the header; 0 is the header, or the file as a whole. */
  readonly row: number;
  /** The line where the row begins; 1 is the first line of the file. */
  readonly line?: number | undefined;
  readonly values?: Record<string, unknown>;
  readonly faults?: readonly RowFault[];
}

export interface RowFault {
  readonly column?: string;
  readonly detail: string;
}

export interface FileColumns {
  readonly known: readonly string[];
  /** Columns that a file may have, and of which nothing is read. */
  readonly passedOver: readonly string[];
  /** Lists of columns: the file has at least one of each list. */
  readonly required: readonly (readonly string[])[];
}

/** Far more than a row of valid values has: an exported row may have thousands of asset numbers. */
export const MAX_ROW_BYTES = 64 * 1024;
export const TOO_LONG = `must have at most ${MAX_ROW_BYTES} bytes`;
export const NEW_LINE = 0x0a;
/** The name of a column that is no field is cut to this length. */
export const MAX_NAME = 64;
/** The file is given up at a row with more cells: a row of commas would have millions of them. */
const MAX_CELLS = 64;
/** The parser reads one piece at once, while other requests wait. It has about twenty rows. */
const PIECE_BYTES = 2 * 1024;
const RETURN = 0x0d;
const LINE_ENDS = /[\r\n]/g;
const RETURNS = /\r\n/g;
const NOT_UTF8 =
  'must be in UTF-8, and has a byte that UTF-8 does not have there, as files in Latin-1 or Windows-1252 have: save it in UTF-8';
const MISPLACED_QUOTE =
  'is not CSV: a quote stands inside of a cell that does not begin with one, or text follows its end';
const UNCLOSED: Readonly<Record<string, string>> = {
  CSV_MAX_RECORD_SIZE: `${TOO_LONG}: a quote that is not closed makes one row of all that follows`,
  CSV_QUOTE_NOT_CLOSED: 'has a quote that is not closed',
};
const TABS = 'must have commas or semicolons between the cells, and has tabs: save it as CSV first';

/** A row that could not be read. `line` is not known for the file as a whole. */
export function faultyRow(row: number, line: number | undefined, detail: string): FileRow {
  return { row, line, faults: [{ detail }] };
}

/** The rows of a CSV file (RFC 4180) with a header, separated by `,` or `;`. It ends at the first row that cannot be told from the next. */
export async function* csvRows(
  bytes: AsyncGenerator<Buffer>,
  columns: FileColumns,
  slices: Slices,
): AsyncGenerator<FileRow> {
  const head = await untilNewLine(bytes);
  const refusal = fileRefusal(head) ?? tabsIn(head, columns);
  if (refusal !== undefined) return yield faultyRow(0, undefined, refusal);
  const { parser, begins } = parserOf(head);
  let header: string[] | undefined;
  let row = 0;
  try {
    const source = Readable.from(asUtf8(head, bytes, slices), { objectMode: false });
    // A failure of either arrives at the reader of the parser.
    for await (const cells of pipeline(source, parser, () => undefined) as AsyncIterable<string[]>) {
      const line = begins.shift() ?? 0;
      if (!header) {
        header = cells.map((name) => name.trim());
        const faults = headerFaults(header, columns);
        if (faults.length > 0) return yield { row: 0, line, faults };
        continue;
      }
      row++;
      if (cells.length === header.length) yield { row, line, values: valuesOf(header, cells) };
      else yield faultyRow(row, line, `must have ${header.length} cells, like the header`);
    }
  } catch (error) {
    if (error instanceof ProblemException) throw error;
    yield faultOf(error);
  }
}

/** Why the file is none of the kind that it should be, by its first bytes. */
export function fileRefusal(head: Buffer): string | undefined {
  const signature = head.toString('latin1', 0, 4);
  if (signature.startsWith('PK\u0003\u0004'))
    return 'must be text in UTF-8, and is a zip archive (as a spreadsheet is): save it as CSV first';
  if (signature.startsWith('\u001f\u008b')) return 'must be text in UTF-8, and is compressed';
  if (/^(\u00ff\u00fe|\u00fe\u00ff)/.test(signature)) return 'must be in UTF-8, and is in UTF-16';
  if (head.subarray(0, MAX_ROW_BYTES).includes(0)) return 'must be text in UTF-8, and has a null byte';
  return undefined;
}

/** `begins`: the lines where those records begin that the parser has read and not given out yet. */
function parserOf(head: Buffer): { parser: Parser; begins: number[] } {
  /** Where the record begins that the parser reads. */
  let line = 1;
  /** In quotes, the parser counts a return with its line end as two lines. */
  let surplus = 0;
  const begins: number[] = [];
  const parser = parse({
    bom: true,
    cast: (text, context) => {
      if (context.index === 0) line = context.lines - surplus - count(text, LINE_ENDS);
      surplus += count(text, RETURNS);
      if (context.index >= MAX_CELLS)
        throw new UnreadableRow(context.records, line, `must have at most ${MAX_CELLS} cells`);
      return text;
    },
    // The names of the header have neither of the two.
    delimiter: firstLineOf(head).includes(';') ? ';' : ',',
    max_record_size: MAX_ROW_BYTES,
    on_record: (cells) => {
      begins.push(line);
      return cells;
    },
    // Reported with the number of the row.
    relax_column_count: true,
    skip_empty_lines: true,
  });
  return { parser, begins };
}

function count(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}

/** Reads the beginning of the file up to its first line end, as far as a header may reach. */
async function untilNewLine(bytes: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (!head.includes(NEW_LINE) && head.length <= MAX_ROW_BYTES) {
    const { value, done } = await bytes.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  return head;
}

/** After this row the file cannot be read any further. */
class UnreadableRow extends Error {
  override readonly name = 'UnreadableRow';

  constructor(
    readonly row: number,
    readonly line: number,
    readonly detail: string,
  ) {
    super(detail);
  }
}

/** The file in pieces. Throws at a byte that is not UTF-8. */
async function* asUtf8(head: Buffer, rest: AsyncGenerator<Buffer>, slices: Slices): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  for (let chunk: Buffer | undefined = head; ; chunk = (await rest.next()).value as Buffer | undefined) {
    try {
      decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      const odd = line + (chunk ? oddLine(chunk) : 0);
      throw new UnreadableRow(odd, odd + 1, NOT_UTF8);
    }
    if (!chunk) return;
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      yield chunk.subarray(at, at + PIECE_BYTES);
      await slices.rest();
    }
    for (let at = chunk.indexOf(NEW_LINE); at >= 0; at = chunk.indexOf(NEW_LINE, at + 1)) line++;
  }
}

/** The line of a chunk that is not UTF-8. The first line may begin within a character, so it is the one only if no other is. */
function oddLine(chunk: Buffer): number {
  const lines = chunk.toString('latin1').split('\n');
  const odd = lines.findIndex((line, index) => index > 0 && !isUtf8(Buffer.from(line, 'latin1')));
  return Math.max(0, odd);
}

function firstLineOf(head: Buffer): Buffer {
  const end = head.findIndex((byte) => byte === NEW_LINE || byte === RETURN);
  return head.subarray(0, end < 0 ? head.length : end);
}

function tabsIn(head: Buffer, { known }: FileColumns): string | undefined {
  const names = firstLineOf(head).toString('latin1').replaceAll('"', '').split('\t');
  return names.length > 1 && names.some((name) => known.includes(name.trim())) ? TABS : undefined;
}

function headerFaults(header: readonly string[], { known, passedOver, required }: FileColumns): RowFault[] {
  // The first row of a file that has no header has a password, which the response must not repeat.
  if (!header.some((column) => known.includes(column)))
    return [{ detail: `must be the header line, with the names ${known.join(', ')}` }];
  const missing = required.filter((columns) => !columns.some((column) => header.includes(column)));
  return [
    ...header.flatMap((column, index) => {
      if (!known.includes(column) && !passedOver.includes(column)) {
        const detail = `is not one of ${known.join(', ')}, nor another column of an export`;
        return [{ column: column.slice(0, MAX_NAME), detail }];
      }
      return header.indexOf(column) < index ? [{ column, detail: 'must be given once' }] : [];
    }),
    ...missing.map(([column = '', ...others]) => ({
      column,
      detail: ['is required', ...others].join(', or '),
    })),
  ];
}

/** A cell that is empty or blank is a value that is left out. */
function valuesOf(header: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [index, column] of header.entries())
    if (cells[index]?.trim() !== '') values[column] = cells[index];
  return values;
}

/** The row that could not be read. Rows before it may not have been given out yet. */
function faultOf(error: unknown): FileRow {
  // The parser does not wrap what the cast throws.
  if (error instanceof UnreadableRow) return faultyRow(error.row, error.line, error.detail);
  if (!(error instanceof CsvError)) throw error;
  const row = Number(error['records'] ?? 0);
  const unclosed = UNCLOSED[error.code];
  if (unclosed !== undefined) return faultyRow(row, undefined, unclosed);
  return faultyRow(row, Number(error['lines']), MISPLACED_QUOTE);
}
