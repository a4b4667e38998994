import type { ImportConfig } from '../../config/app-config.ts';
import { NewMemberDto } from '../../member/dto/member.dto.ts';
import type { RequestFile } from '../../operation/request-stages.ts';
import { ProblemException, type RequestFault } from '../../problem/problem.exception.ts';
import { Slices } from '../../shared/slices.ts';
import { MAX_FAULTS, validated } from '../../validation/compiled-validation.ts';
import {
  packed,
  ROWS_PER_CHUNK,
  type RowResult,
  type WaitingMember,
  type WaitingRow,
} from '../store/job-record.ts';
import type { StoredChunk } from '../store/job-store.ts';
import { csvRows, type FileColumns, MAX_NAME, type RowFault } from './csv-rows.ts';
import { ndjsonRows } from './ndjson-rows.ts';

/** The columns of a file are the fields of a new member. */
const REQUIRED = ['account', 'password', 'name'];
const COLUMNS: FileColumns = {
  known: [...REQUIRED, 'departmentId', 'remark', 'passwordMobile'],
  required: REQUIRED,
};

export interface CheckedFile {
  readonly rows: number;
  readonly chunks: readonly StoredChunk[];
}

/**
 * Reads a file as it arrives, and keeps its rows packed: the memory does not grow with what the client sends at once. Throws
 * `validation-failed` with the first faults. `wanted`: the file may have only these accounts.
 */
export async function readFile(
  file: RequestFile,
  { maxBytes, maxRows }: ImportConfig,
  wanted?: ReadonlySet<string>,
): Promise<CheckedFile> {
  // The rows of a file are there at once; other requests are served between them.
  const slices = new Slices();
  const bytes = limited(file, maxBytes, slices);
  const faults: RequestFault[] = [];
  const rowOf = new Map<string, number>();
  const chunks: StoredChunk[] = [];
  let open: WaitingRow[] = [];
  let rows = 0;
  const close = (): void => {
    if (open.length > 0) chunks.push(chunkOf(open));
    open = [];
  };
  const all = file.kind === 'csv' ? csvRows(bytes, COLUMNS, slices) : ndjsonRows(bytes);
  for await (const { row, line, values, faults: unread = [] } of all) {
    rows = row;
    if (row > maxRows) throw tooLarge(`${maxRows} rows`);
    const { member, found }: Checked = values ? checked(row, values, rowOf, wanted) : { found: unread };
    faults.push(...found.map((fault) => ({ row, ...fault, ...(line !== undefined && { line }) })));
    if (faults.length >= MAX_FAULTS) break;
    if (member) open.push({ at: (row - 1) % ROWS_PER_CHUNK, member });
    if (row % ROWS_PER_CHUNK === 0) close();
    await slices.rest();
  }
  close();
  if (rows === 0 && faults.length === 0) faults.push({ row: 0, detail: 'must have at least one row' });
  if (faults.length > 0)
    throw new ProblemException('validation-failed', { errors: faults.slice(0, MAX_FAULTS) });
  return { rows, chunks };
}

/** The bytes of a file, up to the limit. It does not destroy the stream, because the response uses the same connection. */
async function* limited(file: RequestFile, maxBytes: number, slices: Slices): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of file.open().iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    file.digest.update(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(`${maxBytes} bytes`);
    yield chunk;
    await slices.rest();
  }
}

function tooLarge(most: string): ProblemException {
  return new ProblemException('payload-too-large', { detail: `The file may have at most ${most}.` });
}

/** `member` is there if nothing is wrong. */
interface Checked {
  readonly member?: WaitingMember;
  readonly found: readonly RowFault[];
}

/** `rowOf` has the row of each account so far. */
function checked(
  row: number,
  values: Record<string, unknown>,
  rowOf: Map<string, number>,
  wanted: ReadonlySet<string> | undefined,
): Checked {
  const { instance, faults } = validated(NewMemberDto, values);
  const found: RowFault[] = faults.map(({ path, allowed }) => ({
    column: path.join('.').slice(0, MAX_NAME),
    detail: allowed ?? 'is not a known column',
  }));
  const { account } = instance;
  if (typeof account === 'string') {
    const first = rowOf.get(account);
    if (first === undefined) rowOf.set(account, row);
    if (first !== undefined)
      found.push({ column: 'account', detail: `must not be given twice: row ${first} has it too` });
    else if (wanted && !wanted.has(account))
      found.push({ column: 'account', detail: 'must be the account of a row that failed' });
  }
  return found.length > 0 ? { found } : { found, member: { ...instance } };
}

function chunkOf(rows: readonly WaitingRow[]): StoredChunk {
  const results = rows.map(({ member }): RowResult => ({ account: member.account, status: 'pending' }));
  return { waiting: packed(rows), results: packed(results) };
}
