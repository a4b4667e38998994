import type { Slices } from '../../shared/slices.ts';
import { MAX_FAULTS } from '../../validation/compiled-validation.ts';
import { CsvReader, type CsvRecord } from './csv-reader.ts';
import {
  COLUMNS,
  faultyRow,
  type FileRow,
  fileRefusal,
  MAX_NAME,
  MAX_ROW_BYTES,
  PASSED_OVER,
  type RequiredColumns,
  type RowFault,
} from './file-row.ts';

/** Empty lines, and the mark of UTF-8 read as Latin-1. */
const BEFORE_TEXT = /^[\r\n\u00ef\u00bb\u00bf]+/;
/** The size of a piece. The reader reads one piece while other requests wait, and a piece may have as many lines as bytes. */
const PIECE_BYTES = 8 * 1024;
const NULL = 'must be text in UTF-8, and has a null byte';
const TABS = 'must have commas or semicolons between the cells, and has tabs: save it as CSV first';

/**
 * Yields the rows of a CSV file with a header, separated by `,` or `;`. Empty rows at the end of the file, as spreadsheets leave them, do
 * not count.
 */
export async function* csvRows(
  bytes: AsyncGenerator<Buffer>,
  required: RequiredColumns,
  slices: Slices,
): AsyncGenerator<FileRow> {
  const head = await untilNewLine(bytes);
  const refusal = fileRefusal(head) ?? headerRefusal(firstLineOf(head));
  if (refusal !== undefined) return yield faultyRow(0, undefined, refusal);
  let header: readonly string[] | undefined;
  let row = 0;
  // Each blank row becomes a fault if another row follows. No more than MAX_FAULTS are kept, because that many faults end the reading.
  let blank: CsvRecord[] = [];
  for await (const record of recordsOf(head, bytes, slices)) {
    if (!header) {
      const { line, fault } = record;
      if (fault !== undefined) return yield faultyRow(0, line, fault);
      header = record.cells.map((name) => name.trim());
      const faults = headerFaults(header, required);
      if (faults.length > 0) return yield { row: 0, line, faults };
    } else if (isBlank(record)) {
      if (blank.length < MAX_FAULTS) blank.push(record);
    } else {
      for (const each of [...blank, record]) yield rowOf(each, ++row, header);
      blank = [];
      if (record.isLast) return;
    }
  }
}

/** Yields the records of the file. The first line with text decides the separator, because no name of the header contains either of the two. */
async function* recordsOf(
  head: Buffer,
  rest: AsyncGenerator<Buffer>,
  slices: Slices,
): AsyncGenerator<CsvRecord> {
  const reader = new CsvReader(firstLineOf(head).includes(';') ? ';' : ',');
  for (let chunk: Buffer | undefined = head; chunk; chunk = (await rest.next()).value as Buffer | undefined)
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      yield* reader.read(chunk.subarray(at, at + PIECE_BYTES));
      await slices.rest();
    }
  yield* reader.read();
}

function isBlank({ cells, fault }: CsvRecord): boolean {
  return fault === undefined && cells.every((cell) => cell.trim() === '');
}

function rowOf({ line, cells, fault }: CsvRecord, row: number, header: readonly string[]): FileRow {
  if (fault !== undefined) return faultyRow(row, line, fault);
  if (cells.length === header.length) return { row, line, values: valuesOf(header, cells) };
  return faultyRow(row, line, `must have ${header.length} cells, like the header`);
}

/** Reads the beginning of the file up to the line feed after its first text, within the longest length of a header. */
async function untilNewLine(bytes: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (!textOf(head).includes('\n') && head.length <= MAX_ROW_BYTES) {
    const { value, done } = await bytes.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  return head;
}

function textOf(head: Buffer): string {
  return head.toString('latin1').replace(BEFORE_TEXT, '');
}

function firstLineOf(head: Buffer): string {
  return textOf(head).split(/[\r\n]/, 1)[0] ?? '';
}

function headerRefusal(header: string): string | undefined {
  if (header.includes('\0')) return NULL;
  const names = header.replaceAll('"', '').split('\t');
  return names.length > 1 && names.some((name) => COLUMNS.includes(name.trim())) ? TABS : undefined;
}

function headerFaults(header: readonly string[], required: RequiredColumns): RowFault[] {
  // Without a header, the first row contains a password, which the response must not repeat.
  if (!header.some((column) => COLUMNS.includes(column)))
    return [{ detail: `must be the header line, with the names ${COLUMNS.join(', ')}` }];
  const missing = required.filter((columns) => !columns.some((column) => header.includes(column)));
  return [
    ...header.flatMap((column, index) => {
      if (!COLUMNS.includes(column) && !PASSED_OVER.includes(column)) {
        const detail = `is not one of ${COLUMNS.join(', ')}, nor another column of an export`;
        return [{ column: column.slice(0, MAX_NAME).toWellFormed(), detail }];
      }
      return header.indexOf(column) < index ? [{ column, detail: 'must be given once' }] : [];
    }),
    ...missing.map(([column = '', ...others]) => ({
      column,
      detail: ['is required', ...others].join(', or '),
    })),
  ];
}

/** Returns the values of a row. An empty or blank cell counts as absent. */
function valuesOf(header: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [index, column] of header.entries())
    if (cells[index]?.trim() !== '') values[column] = cells[index];
  return values;
}
