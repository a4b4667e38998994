import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { ProblemException } from '../problem/problem.exception.ts';
import type { Slices } from '../shared/slices.ts';
import {
  EMPTY,
  type FileRow,
  MAX_NAME,
  MAX_ROW_BYTES,
  NEW_LINE,
  fileRefusal,
  type RowFault,
  TOO_LONG,
} from './file-rows.ts';

/** The names that a header may have, and must have. */
export interface FileColumns {
  readonly known: readonly string[];
  readonly required: readonly string[];
}

/** Beyond so many cells a row is given up, and the file with it: a row of commas would have millions of them. */
const MAX_CELLS = 64;
/** The parser reads a piece at once, while other requests wait: about twenty rows. */
const PIECE_BYTES = 2 * 1024;
const RETURN = 0x0d;
const LINE_ENDS = /[\r\n]/g;
const RETURNS = /\r\n/g;
const NOT_UTF8 =
  'must be in UTF-8, and has a byte that UTF-8 does not have there, as files in Latin-1 or Windows-1252 have: save it in UTF-8';
const TABS = 'must have commas or semicolons between the cells, and has tabs: save it as CSV first';

/** The rows of a CSV file (RFC 4180) with a header, separated by `,` or `;`. It ends at the first row that cannot be told from the next. */
export async function* csvRows(
  bytes: AsyncIterable<Buffer>,
  columns: FileColumns,
  slices: Slices,
): AsyncGenerator<FileRow> {
  const { head, rest } = await untilNewLine(bytes);
  const refusal = fileRefusal(head) ?? tabsIn(head, columns);
  if (refusal !== undefined) return yield { row: 0, faults: [{ detail: refusal }] };
  /** Where the record begins that the parser reads. */
  let line = 1;
  /** In quotes, the parser counts a return with its line end as two lines. */
  let surplus = 0;
  /** Of the records that the parser has read and that are not given out yet. */
  const begins: number[] = [];
  const parser = parse({
    bom: true,
    cast: (text, context) => {
      if (context.index === 0) line = context.lines - surplus - count(text, LINE_ENDS);
      surplus += count(text, RETURNS);
      if (context.index >= MAX_CELLS) throw new TooManyCells(context.records, line);
      return text;
    },
    delimiter: delimiterOf(head),
    max_record_size: MAX_ROW_BYTES,
    on_record: (cells) => {
      begins.push(line);
      return cells;
    },
    // Reported with the number of the row.
    relax_column_count: true,
    skip_empty_lines: true,
  });
  let header: string[] | undefined;
  let row = 0;
  try {
    const source = Readable.from(asUtf8(head, rest, slices), { objectMode: false });
    // A failure of either arrives at the reader of the parser.
    for await (const cells of pipeline(source, parser, () => undefined) as AsyncIterable<string[]>) {
      const begin = begins.shift() ?? 0;
      if (!header) {
        header = cells.map((name) => name.trim());
        const faults = headerFaults(header, columns);
        if (faults.length > 0) return yield { row: 0, line: begin, faults };
        continue;
      }
      row++;
      const place = { row, line: begin };
      if (cells.length === header.length) yield { ...place, values: valuesOf(header, cells) };
      else yield { ...place, faults: [{ detail: `must have ${header.length} cells, like the header` }] };
    }
    if (!header) yield { row: 0, faults: [{ detail: EMPTY }] };
  } catch (error) {
    if (error instanceof ProblemException) throw error;
    yield faultOf(error);
  }
}

function count(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}

/** The beginning of the file up to its first line end, as far as a header may reach. */
async function untilNewLine(
  bytes: AsyncIterable<Buffer>,
): Promise<{ head: Buffer; rest: AsyncIterator<Buffer> }> {
  const rest = bytes[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (!head.includes(NEW_LINE) && head.length <= MAX_ROW_BYTES) {
    const { value, done } = await rest.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  return { head, rest };
}

/** A row with more cells than any row has. */
class TooManyCells extends Error {
  override readonly name = 'TooManyCells';

  constructor(
    readonly row: number,
    readonly line: number,
  ) {
    super('too many cells');
  }
}

/** A byte that is not UTF-8, in that line; 0 is the first. */
class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';

  constructor(readonly line: number) {
    super('not UTF-8');
  }
}

async function* asUtf8(head: Buffer, rest: AsyncIterator<Buffer>, slices: Slices): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  for (let chunk: Buffer | undefined = head; chunk;) {
    try {
      decoder.decode(chunk, { stream: true });
    } catch {
      throw new NotUtf8(line + oddLine(chunk));
    }
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      yield chunk.subarray(at, at + PIECE_BYTES);
      await slices.rest();
    }
    for (let at = chunk.indexOf(NEW_LINE); at >= 0; at = chunk.indexOf(NEW_LINE, at + 1)) line++;
    const next = await rest.next();
    chunk = next.done ? undefined : next.value;
  }
  try {
    decoder.decode();
  } catch {
    throw new NotUtf8(line);
  }
}

/** The line of a chunk that is not UTF-8. The first one may begin within a character. */
function oddLine(chunk: Buffer): number {
  let line = 0;
  for (let end = chunk.indexOf(NEW_LINE); end >= 0;) {
    const next = chunk.indexOf(NEW_LINE, end + 1);
    line++;
    if (!isUtf8(chunk.subarray(end + 1, next < 0 ? chunk.length : next)) && next >= 0) return line;
    if (next < 0) return isUtf8(chunk.subarray(end + 1)) ? 0 : line;
    end = next;
  }
  return 0;
}

function firstLineOf(head: Buffer): Buffer {
  const end = head.findIndex((byte) => byte === NEW_LINE || byte === RETURN);
  return head.subarray(0, end < 0 ? head.length : end);
}

/** The header has neither of the two in a name. A return may end it alone. */
function delimiterOf(head: Buffer): string {
  return firstLineOf(head).includes(';') ? ';' : ',';
}

function tabsIn(head: Buffer, { known }: FileColumns): string | undefined {
  const names = firstLineOf(head).toString('latin1').replaceAll('"', '').split('\t');
  return names.length > 1 && names.some((name) => known.includes(name.trim())) ? TABS : undefined;
}

function headerFaults(header: readonly string[], { known, required }: FileColumns): RowFault[] {
  // The first row of a file that has no header has a password, which the response must not repeat.
  if (!header.some((column) => known.includes(column)))
    return [{ detail: `must be the header line, with the names ${known.join(', ')}` }];
  const missing = required.filter((column) => !header.includes(column));
  return [
    ...header.flatMap((column, index) => {
      if (!known.includes(column))
        return [{ column: column.slice(0, MAX_NAME), detail: `is not one of ${known.join(', ')}` }];
      return header.indexOf(column) < index ? [{ column, detail: 'must be given once' }] : [];
    }),
    ...missing.map((column) => ({ column, detail: 'is required' })),
  ];
}

/** An empty cell is a value that is left out. */
function valuesOf(header: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [index, column] of header.entries()) if (cells[index] !== '') values[column] = cells[index];
  return values;
}

/** The row that could not be read. Rows before it may not have been given out yet. */
function faultOf(error: unknown): FileRow {
  if (error instanceof NotUtf8)
    return { row: error.line, line: error.line + 1, faults: [{ detail: NOT_UTF8 }] };
  // The parser wraps nothing that the cast throws.
  if (error instanceof TooManyCells)
    return { row: error.row, line: error.line, faults: [{ detail: `must have at most ${MAX_CELLS} cells` }] };
  if (!(error instanceof CsvError)) throw error;
  const row = Number(error['records'] ?? 0);
  if (error.code === 'CSV_MAX_RECORD_SIZE')
    return {
      row,
      faults: [{ detail: `${TOO_LONG}: a quote that is not closed makes one row of all that follows` }],
    };
  if (error.code === 'CSV_QUOTE_NOT_CLOSED')
    return { row, faults: [{ detail: 'has a quote that is not closed' }] };
  const detail =
    'is not CSV: a quote stands inside of a cell that does not begin with one, or text follows its end';
  return { row, line: Number(error['lines']), faults: [{ detail }] };
}
