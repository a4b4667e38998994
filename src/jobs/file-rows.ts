import type { RequestFile } from '../operation/request-stages.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { Slices } from '../shared/slices.ts';
import { readRequestBody, UnreadableBody } from '../validation/request-body.ts';

/** One row of a file: its values, or why it could not be read. */
export interface FileRow {
  /** 1 is the first below the header; 0 is the header, or the file as a whole. */
  readonly row: number;
  /** Where the row begins; 1 is the first line of the file. Undefined for the file as a whole. */
  readonly line?: number;
  readonly values?: Record<string, unknown>;
  readonly faults?: readonly RowFault[];
}

export interface RowFault {
  readonly column?: string;
  readonly detail: string;
}

/** Far more than a row of valid values has: in UTF-8, with quotes and escapes. */
export const MAX_ROW_BYTES = 16 * 1024;
export const TOO_LONG = `must have at most ${MAX_ROW_BYTES} bytes`;
export const EMPTY = 'must have at least one row';
export const NEW_LINE = 0x0a;
/** Of a column that the caller named. */
export const MAX_NAME = 64;
const SPACE = 0x20;

/** The bytes of a file, while they are not more than `maxBytes`. The stream is left to its owner, whose connection still has a response. */
export async function* limited(file: RequestFile, maxBytes: number, slices: Slices): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of file.open().iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    file.digest.update(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new ProblemException('payload-too-large', {
        detail: `The file may have at most ${maxBytes} bytes.`,
      });
    yield chunk;
    await slices.rest();
  }
}

/** The rows of a file with one JSON object in each line. */
export async function* ndjsonRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  let row = 0;
  for await (const { line, text } of lines(bytes)) {
    if (row === 0) {
      const refusal = fileRefusal(text ?? Buffer.alloc(0));
      if (refusal !== undefined) return yield { row: 0, faults: [{ detail: refusal }] };
    }
    row++;
    if (!text) return yield { row, line, faults: [{ detail: TOO_LONG }] };
    const value = readRequestBody(text);
    if (value instanceof UnreadableBody) yield { row, line, faults: faultsOf(value) };
    else if (typeof value !== 'object' || value === null || Array.isArray(value))
      yield { row, line, faults: [{ detail: 'must be a JSON object' }] };
    else yield { row, line, values: value as Record<string, unknown> };
  }
  if (row === 0) yield { row: 0, faults: [{ detail: EMPTY }] };
}

interface Line {
  /** 1 is the first. */
  readonly line: number;
  /** Without its end; undefined for one that is too long, after which there are no more. */
  readonly text: Buffer | undefined;
}

/** Each line that is not blank. */
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
  for (let at = from; at < end; at++) if ((bytes[at] as number) > SPACE) return false;
  return true;
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

function faultsOf({ problem }: UnreadableBody): RowFault[] {
  return (problem.body.errors ?? []).map((fault) => {
    const column = 'pointer' in fault ? fault.pointer.slice(1) : '';
    return { ...(column !== '' && { column }), detail: fault.detail };
  });
}
