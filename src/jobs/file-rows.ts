import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import type { RequestFile } from '../operation/request-state.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { readRequestBody, UnreadableBody } from '../validation/request-body.ts';

/** One row of a file: its values, or why it could not be read. */
export interface FileRow {
  /** 1 is the first below the header; 0 is the header, or the file as a whole. */
  readonly row: number;
  /** The line of the file where the row begins, as an editor counts: 1 is the first. A cell in quotes may have several lines. */
  readonly line?: number;
  readonly values?: Record<string, unknown>;
  readonly faults?: readonly RowFault[];
}

/** The names that a header may have, and must have. */
export interface FileColumns {
  readonly known: readonly string[];
  readonly required: readonly string[];
}

interface RowFault {
  readonly column?: string;
  readonly detail: string;
}

/** Far more than a row of valid values has: in UTF-8, with quotes and escapes. */
const MAX_ROW_BYTES = 16 * 1024;
const TOO_LONG = `must have at most ${MAX_ROW_BYTES} bytes`;
const LATIN_1 = 'must be in UTF-8, and is not (it may be Latin-1 or Windows-1252): save it as CSV in UTF-8';
const NEW_LINE = 0x0a;
const RETURN = 0x0d;
const LINE_ENDS = /\r\n?|\n/g;
/** The parser reads a piece at once, while other requests wait: about twenty rows. */
const PIECE_BYTES = 2 * 1024;
/** Of a column that the caller named. */
export const MAX_NAME = 64;

/** The bytes of a file, while they are not more than `maxBytes`. The stream is left to its owner, whose connection still has a response. */
export async function* limited(file: RequestFile, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of file.open().iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    file.digest.update(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new ProblemException('payload-too-large', {
        detail: `The file may have at most ${maxBytes} bytes.`,
      });
    yield chunk;
  }
}

/** The rows of a CSV file (RFC 4180) with a header, separated by `,` or `;`. It ends at the first row that cannot be told from the next. */
export async function* csvRows(bytes: AsyncIterable<Buffer>, columns: FileColumns): AsyncGenerator<FileRow> {
  const { head, rest } = await untilNewLine(bytes);
  const refusal = refusalOf(head);
  if (refusal !== undefined) return yield { row: 0, faults: [{ detail: refusal }] };
  const parser = parse({
    bom: true,
    delimiter: delimiterOf(head),
    info: true,
    max_record_size: MAX_ROW_BYTES,
    // Reported with the number of the row.
    relax_column_count: true,
    skip_empty_lines: true,
  });
  const startOf = rowStarts();
  let header: string[] | undefined;
  let row = 0;
  try {
    const source = Readable.from(asUtf8(head, rest), { objectMode: false });
    // A failure of either arrives at the reader of the parser.
    for await (const { record: cells, info } of pipeline(source, parser, () => undefined) as Records) {
      const line = startOf(cells, info.lines);
      if (!header) {
        header = cells.map((name) => name.trim());
        const faults = headerFaults(header, columns);
        if (faults.length > 0) return yield { row: 0, line, faults };
        continue;
      }
      row++;
      if (cells.length === header.length) yield { row, line, values: valuesOf(header, cells) };
      else yield { row, line, faults: [{ detail: `must have ${header.length} cells, like the header` }] };
    }
    if (!header) yield { row: 0, faults: [{ detail: EMPTY }] };
  } catch (error) {
    if (error instanceof ProblemException) throw error;
    yield { row: rowOf(error), line: lineOf(error), faults: [{ detail: detailOf(error) }] };
  }
}

type Records = AsyncIterable<{ readonly record: string[]; readonly info: { readonly lines: number } }>;

/** The line in which each row begins. The parser says in which one it ends, and counts a return with its line end in quotes as two. */
function rowStarts(): (cells: readonly string[], end: number) => number {
  let [before, surplus] = [0, 0];
  return (cells, end) => {
    const ends = end > before + 1 ? cells.flatMap((cell) => cell.match(LINE_ENDS) ?? []) : [];
    const line = end - surplus - ends.join('').length;
    before = end;
    surplus += ends.filter((each) => each.length > 1).length;
    return line;
  };
}

/** The rows of a file with one JSON object in each line. */
export async function* ndjsonRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  let row = 0;
  let at = 0;
  for await (const line of lines(bytes)) {
    at++;
    if (row === 0) {
      const refusal = refusalOf(line ?? Buffer.alloc(0));
      if (refusal !== undefined) return yield { row: 0, faults: [{ detail: refusal }] };
    }
    if (line && line.toString('latin1').trim() === '') continue;
    row++;
    if (!line) return yield { row, line: at, faults: [{ detail: TOO_LONG }] };
    const value = readRequestBody(line);
    if (value instanceof UnreadableBody) yield { row, line: at, faults: faultsOf(value) };
    else if (typeof value !== 'object' || value === null || Array.isArray(value))
      yield { row, line: at, faults: [{ detail: 'must be a JSON object' }] };
    else yield { row, line: at, values: value as Record<string, unknown> };
  }
  if (row === 0) yield { row: 0, faults: [{ detail: EMPTY }] };
}

const EMPTY = 'must have at least one row';

/** Each line without its end; undefined for one that is too long, after which there are no more. */
async function* lines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer | undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    for (let end = rest.indexOf(NEW_LINE); end >= 0; end = rest.indexOf(NEW_LINE)) {
      yield end > MAX_ROW_BYTES ? undefined : rest.subarray(0, end);
      rest = rest.subarray(end + 1);
    }
    if (rest.length > MAX_ROW_BYTES) return yield undefined;
  }
  if (rest.length > 0) yield rest;
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

/** A byte that is not UTF-8, in that line; 0 is the first. */
class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';

  constructor(readonly line: number) {
    super('not UTF-8');
  }
}

async function* asUtf8(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  for (let chunk: Buffer | undefined = head; chunk;) {
    try {
      decoder.decode(chunk, { stream: true });
    } catch {
      throw new NotUtf8(line + oddLine(chunk));
    }
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
    for (const byte of chunk) if (byte === NEW_LINE) line++;
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

/** Why the file is none of the kind that it should be, by its first bytes. */
function refusalOf(head: Buffer): string | undefined {
  const signature = head.toString('latin1', 0, 4);
  if (signature.startsWith('PK\u0003\u0004'))
    return 'must be text in UTF-8, and is a zip archive (as a spreadsheet is): save it as CSV first';
  if (signature.startsWith('\u001f\u008b')) return 'must be text in UTF-8, and is compressed';
  if (/^(\u00ff\u00fe|\u00fe\u00ff)/.test(signature)) return 'must be in UTF-8, and is in UTF-16';
  if (head.subarray(0, MAX_ROW_BYTES).includes(0)) return 'must be text in UTF-8, and has a null byte';
  return undefined;
}

/** The header has neither of the two in a name. A return may end it alone. */
function delimiterOf(head: Buffer): string {
  const end = head.findIndex((byte) => byte === NEW_LINE || byte === RETURN);
  return head.subarray(0, end < 0 ? head.length : end).includes(';') ? ';' : ',';
}

function headerFaults(header: readonly string[], { known, required }: FileColumns): RowFault[] {
  if (header.some((name) => name.includes('\t')))
    return [{ detail: 'must be separated by `,` or `;`, and is separated by tabs' }];
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
function rowOf(error: unknown): number {
  if (error instanceof NotUtf8) return error.line;
  return error instanceof CsvError ? Number(error['records'] ?? 0) : 0;
}

function lineOf(error: unknown): number | undefined {
  if (error instanceof NotUtf8) return error.line + 1;
  // The parser looks for the end of a quote as far as the end of the file.
  if (!(error instanceof CsvError) || error.code === 'CSV_QUOTE_NOT_CLOSED') return undefined;
  return Number(error['lines'] ?? 1);
}

function detailOf(error: unknown): string {
  if (error instanceof CsvError) {
    if (error.code === 'CSV_MAX_RECORD_SIZE') return TOO_LONG;
    if (error.code === 'CSV_QUOTE_NOT_CLOSED') return 'has a quote that is not closed';
    return 'is not CSV: a quote stands inside of a cell that does not begin with one, or text follows its end';
  }
  if (error instanceof NotUtf8) return LATIN_1;
  throw error;
}

function faultsOf({ problem }: UnreadableBody): RowFault[] {
  return (problem.body.errors ?? []).map((fault) => {
    const column = 'pointer' in fault ? fault.pointer.slice(1) : '';
    return { ...(column !== '' && { column }), detail: fault.detail };
  });
}
