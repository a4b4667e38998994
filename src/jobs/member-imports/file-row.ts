import type { ImportedMemberDto, MemberDto } from '../../member/dto/member.dto.ts';

/** A row of a file of any format. */
export interface FileRow {
  /** The number of the row. 1 is the first row below the header. 0 is the header, or the file as a whole. */
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

/** The columns that are read. */
export const COLUMNS = [
  'account',
  'userName',
  'password',
  'name',
  'departmentId',
  'remark',
  'passwordMobile',
];
/** The other columns of an export. They are ignored, because a file may be an export with changes. */
export const PASSED_OVER = Object.keys({
  ...{ memberId: 0, userId: 0, memberGlobalId: 0, enterpriseId: 0, departmentName: 0, assetNums: 0 },
  ...{ lentLockNum: 0, online: 0, deleted: 0, createdAt: 0, updatedAt: 0, boundUserInfo: 0 },
} satisfies Record<Exclude<keyof MemberDto, keyof ImportedMemberDto>, 0>);
/** Lists of columns. A file must have at least one column of each list. */
export type RequiredColumns = readonly (readonly string[])[];

/** The most bytes of a row. It is far more than valid values need, but an exported row may have thousands of asset numbers. */
export const MAX_ROW_BYTES = 64 * 1024;
export const TOO_LONG = `must have at most ${MAX_ROW_BYTES} bytes`;
export const NEW_LINE = 0x0a;
/** The name of an unknown column is cut to this length. */
export const MAX_NAME = 64;

/** Returns a row that could not be read. `line` is undefined for the file as a whole. */
export function faultyRow(row: number, line: number | undefined, detail: string): FileRow {
  return { row, line, faults: [{ detail }] };
}

/** Returns why the first bytes of a file show that its type is wrong. */
export function fileRefusal(head: Buffer): string | undefined {
  const signature = head.toString('latin1', 0, 4);
  if (signature.startsWith('PK\u0003\u0004'))
    return 'must be text in UTF-8, and is a zip archive (as a spreadsheet is): save it as CSV first';
  if (signature.startsWith('\u001f\u008b')) return 'must be text in UTF-8, and is compressed';
  if (/^(\u00ff\u00fe|\u00fe\u00ff)/.test(signature)) return 'must be in UTF-8, and is in UTF-16';
  return undefined;
}
