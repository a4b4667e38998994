import { Readable } from 'node:stream';
import { setImmediate as handedOver } from 'node:timers/promises';
import { StreamableFile } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { type Grants, isGranted } from '../request/call-context.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { enumeration, type WordOf } from '../shared/enumeration.ts';
import { acceptedType } from '../validation/accepted-type.ts';

/** The media types of rows. A request without `Accept` gets the first one. */
export const ROW_TYPES = ['text/csv', 'application/x-ndjson'] as const;

export const cellForms = enumeration(
  'CellForm',
  ['exact', 'text'],
  "How cells of CSV are written: `exact`, or `text` for a spreadsheet, with `'` before a `=`, `+`, `-`, `@`, tab or line end where a spreadsheet may begin a formula. Only `exact` may be imported again: an import keeps each `'`",
);
export type CellForm = WordOf<typeof cellForms>;

/**
 * The places where a spreadsheet may begin a formula. Some accept the signs in full width. Where the list separator is a semicolon, a semicolon
 * or a line end in a cell begins another cell, also within quotes.
 */
const FORMULA = /(?<=^|[;\r\n])(?=[=+\-@\t\uff1d\uff0b\uff0d\uff20])|^(?=[\r\n])/g;

/** The most rows that a caller gets after it has lost its rights. */
const ROWS_PER_LOOK = 100;

type Cell = string | number | boolean | null | readonly string[];

/** How a request wants its rows. */
interface RowsWanted {
  readonly accept: string | undefined;
  readonly cells?: CellForm;
  readonly requestId: string;
}

/**
 * Streams rows. A failure before the first row becomes a problem, because that row is read before the response begins. A later failure
 * becomes the last line, and then the connection is closed early.
 */
export async function rowStream<T extends object>(
  { accept, cells = 'exact', requestId }: RowsWanted,
  columns: readonly (keyof T & string)[],
  rows: AsyncGenerator<T>,
): Promise<StreamableFile> {
  const isCsv = acceptedType(accept, ROW_TYPES) !== ROW_TYPES[1];
  const first = await rows.next();
  const lines = isCsv ? csv(columns, all(first, rows), cells) : ndjson(all(first, rows), requestId);
  const type = isCsv ? `${ROW_TYPES[0]}; charset=utf-8; header=present` : ROW_TYPES[1];
  return new StreamableFile(Readable.from(lines, { objectMode: false, highWaterMark: 64 * 1024 }), { type });
}

/**
 * Passes rows on for as long as the caller may see their enterprises. `grantsNow` resolves to its rights at this moment; it is asked again after
 * some rows, because a slow reader takes a long time. Without the rights the stream fails, so that a part is not taken for the whole.
 */
export async function* whileGranted<T>(
  rows: AsyncIterable<T>,
  grantsNow: () => Promise<Grants | undefined>,
  enterpriseOf: (row: T) => string,
): AsyncGenerator<T> {
  let grants: Grants | undefined;
  let passed = 0;
  for await (const row of rows) {
    if (passed++ % ROWS_PER_LOOK === 0) grants = await grantsNow();
    if (!grants || !isGranted(grants.enterprises, enterpriseOf(row)))
      throw new ProblemException('forbidden', { detail: 'The caller may not see the other rows any more.' });
    yield row;
  }
}

async function* csv<T extends object>(
  columns: readonly (keyof T & string)[],
  rows: AsyncGenerator<T>,
  cells: CellForm,
): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`;
  try {
    for await (const row of rows)
      yield `${columns.map((column) => cell(row[column] as Cell, cells)).join(',')}\r\n`;
  } catch (error) {
    const { code, detail, title } = problemOf(error).body;
    yield `${['#incomplete', code, detail ?? title].map((text) => cell(text, cells)).join(',')}\r\n`;
    await handedOver();
    throw error;
  }
}

async function* ndjson<T>(rows: AsyncGenerator<T>, requestId: string): AsyncGenerator<string> {
  try {
    for await (const row of rows) yield `${JSON.stringify(row)}\n`;
  } catch (error) {
    yield `${JSON.stringify({ problem: problemOf(error).bodyFor(requestId) })}\n`;
    await handedOver();
    throw error;
  }
}

function problemOf(error: unknown): ProblemException {
  const problem = asProblem(error);
  return problem instanceof ProblemException ? problem : new ProblemException('internal-error');
}

async function* all<T>(first: IteratorResult<T>, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

function cell(value: Cell, form: CellForm): string {
  if (value === null) return '';
  const exact = Array.isArray(value) ? value.join(' ') : String(value);
  const text = form === 'text' ? exact.replaceAll(FORMULA, "'") : exact;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
