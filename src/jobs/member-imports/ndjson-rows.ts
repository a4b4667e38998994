import { readRequestBody, UnreadableBody } from '../../validation/request-body.ts';
import {
  faultyRow,
  type FileRow,
  fileRefusal,
  MAX_ROW_BYTES,
  NEW_LINE,
  type RowFault,
  TOO_LONG,
} from './file-row.ts';

const SPACE = 0x20;

export async function* ndjsonRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  let row = 0;
  for await (const { line, text } of lines(bytes)) {
    if (row === 0) {
      const refusal = fileRefusal(text ?? Buffer.alloc(0));
      if (refusal !== undefined) return yield faultyRow(0, undefined, refusal);
    }
    row++;
    if (!text) return yield faultyRow(row, line, TOO_LONG);
    const value = readRequestBody(text);
    if (value instanceof UnreadableBody) yield { row, line, faults: faultsOf(value) };
    else if (typeof value !== 'object' || value === null || Array.isArray(value))
      yield faultyRow(row, line, 'must be a JSON object');
    else yield { row, line, values: value as Record<string, unknown> };
  }
}

interface Line {
  readonly line: number;
  /** The line without its end. Undefined for a line that is too long, after which nothing more is read. */
  readonly text: Buffer | undefined;
}

/** Yields each line that is not blank. */
async function* lines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0);
  let line = 1;
  for await (const chunk of bytes) {
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    let from = 0;
    for (let end = rest.indexOf(NEW_LINE); end >= 0; end = rest.indexOf(NEW_LINE, from)) {
      if (end - from > MAX_ROW_BYTES) return yield { line, text: undefined };
      if (!isBlank(rest, from, end)) yield { line, text: rest.subarray(from, end) };
      line++;
      from = end + 1;
    }
    rest = rest.subarray(from);
    if (rest.length > MAX_ROW_BYTES) return yield { line, text: undefined };
  }
  if (!isBlank(rest, 0, rest.length)) yield { line, text: rest };
}

function isBlank(bytes: Buffer, from: number, end: number): boolean {
  return bytes.subarray(from, end).every((byte) => byte <= SPACE);
}

function faultsOf({ problem }: UnreadableBody): RowFault[] {
  return (problem.body.errors ?? []).map((fault) => {
    const column = 'pointer' in fault ? fault.pointer.slice(1) : '';
    return { ...(column !== '' && { column }), detail: fault.detail };
  });
}
