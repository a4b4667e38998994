import type { ImportConfig } from '../../config/app-config.ts';
import { sameCase } from '../../member/account-suffix.ts';
import { ImportedMemberDto } from '../../member/dto/member.dto.ts';
import type { RequestFile } from '../../request/request-stages.ts';
import { ProblemException, type RequestFault } from '../../problem/problem.exception.ts';
import { Slices } from '../../shared/slices.ts';
import { MAX_FAULTS, validated } from '../../validation/compiled-validation.ts';
import {
  type ImportOptions,
  packed,
  ROWS_PER_CHUNK,
  type RowResult,
  type WaitingMember,
  type WaitingRow,
} from '../store/job-record.ts';
import type { StoredChunk } from '../store/stored-job.ts';
import { accountOf } from './account-of.ts';
import { csvRows } from './csv-rows.ts';
import { MAX_NAME, PASSED_OVER, type RequiredColumns, type RowFault } from './file-row.ts';
import { ndjsonRows } from './ndjson-rows.ts';

/** Existing members need no password, and no name if their data does not change. */
function requiredIn(mode: ImportOptions['mode']): RequiredColumns {
  return [['account', 'userName'], ...(mode === 'add' ? [['password'], ['name']] : [])];
}

export interface CheckedFile {
  readonly rows: number;
  readonly chunks: readonly StoredChunk[];
}

/**
 * Reads a file as it arrives and keeps its rows packed, so that the memory does not grow with the speed of the client. Throws
 * `validation-failed` with the first faults. `wanted` lists the only accounts that the file may have.
 */
export async function readFile(
  file: RequestFile,
  mode: ImportOptions['mode'],
  { maxRows }: ImportConfig,
  wanted?: ReadonlySet<string>,
): Promise<CheckedFile> {
  // All rows of a file may be available at once, so other requests are served between them.
  const slices = new Slices();
  const bytes = file.chunks();
  const faults: RequestFault[] = [];
  const rowOf = new Map<string, number>();
  const required = requiredIn(mode);
  const chunks: StoredChunk[] = [];
  let open: WaitingRow[] = [];
  let rows = 0;
  const close = (): void => {
    if (open.length > 0) chunks.push(chunkOf(open));
    open = [];
  };
  const all = file.kind === 'csv' ? csvRows(bytes, required, slices) : ndjsonRows(bytes);
  for await (const { row, line, values, faults: unread = [] } of all) {
    rows = row;
    if (row > maxRows)
      throw new ProblemException('payload-too-large', {
        detail: `The file may have at most ${maxRows} rows.`,
      });
    const { member, found }: Checked = values
      ? checked(row, values, required, rowOf, wanted)
      : { found: unread };
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

/** A checked row. `member` is present if the row has no fault. */
interface Checked {
  readonly member?: WaitingMember;
  readonly found: readonly RowFault[];
}

/** Checks a row. `rowOf` has the row number of each account or user name so far. Its keys are in lower case, as the accounts of `wanted` are. */
function checked(
  row: number,
  values: Record<string, unknown>,
  required: RequiredColumns,
  rowOf: Map<string, number>,
  wanted: ReadonlySet<string> | undefined,
): Checked {
  const { instance, faults } = validated(ImportedMemberDto, givenOf(values));
  const found: RowFault[] = [
    ...required
      .filter((columns) => !columns.some((column) => Object.hasOwn(instance, column)))
      .map(([column = '']) => ({ column, detail: 'is required' })),
    ...faults.map(({ path, allowed }) => ({
      column: path.join('.').slice(0, MAX_NAME).toWellFormed(),
      detail: allowed ?? 'is not a known column',
    })),
  ];
  const { userName, ...terms } = instance;
  const account = terms.account ?? (typeof userName === 'string' ? accountOf(userName) : undefined);
  const named: Pick<WaitingMember, 'userName' | 'besideAccount'> =
    userName === undefined ? {} : terms.account === undefined ? { userName } : { besideAccount: userName };
  if (typeof account === 'string') {
    // Two user names may begin with the same account, and only the plan can tell whose account it is.
    const name = sameCase(named.userName ?? account);
    const first = rowOf.get(name);
    if (first === undefined) rowOf.set(name, row);
    if (first !== undefined)
      found.push({
        column: named.userName === undefined ? 'account' : 'userName',
        detail: `must not be given twice, in any case of letters: row ${first} has it too`,
      });
    else if (wanted && !wanted.has(sameCase(account)))
      found.push({ column: 'account', detail: 'must be the account of a row that failed' });
  }
  return found.length > 0 || account === undefined
    ? { found }
    : { found, member: { ...terms, account, ...named } };
}

/** Drops null and empty texts from a line of JSON: they mean "not set". Only an empty remark is kept, because it removes the remark. */
function givenOf(values: Record<string, unknown>): Record<string, unknown> {
  const isGiven = ([column, value]: readonly [string, unknown]) =>
    value !== null && (value !== '' || column === 'remark') && !PASSED_OVER.includes(column);
  return Object.fromEntries(Object.entries(values).filter(isGiven));
}

function chunkOf(rows: readonly WaitingRow[]): StoredChunk {
  const results = rows.map(({ member }): RowResult => ({ account: member.account, status: 'pending' }));
  return { waiting: packed(rows), results: packed(results) };
}
