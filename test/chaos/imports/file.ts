import { newSecret } from '../../support/canary.ts';

export type RowStatus = 'added' | 'updated' | 'deleted' | 'failed';

/** A file for one enterprise, and what must become of each account when its import has ended. */
export interface ImportFile {
  readonly enterprise: string;
  readonly text: string;
  /** The query of the request. */
  readonly query: string;
  /** Accounts of the enterprise before. */
  readonly before: readonly string[];
  readonly expected: ReadonlyMap<string, RowStatus>;
}

const HEADER = 'account,password,name,departmentId,remark,passwordMobile';
/** The platform refuses each row of this number. */
const REFUSED_EVERY = 97;
const REFUSED_MOBILE = 'none';
/** The name that every row gives; members who were there have another one. */
export const NAME = 'Name';
/** Accounts of the file, and others, that the enterprise has already. */
const KNOWN = 3;
const SURPLUS = 2;
/** The platform makes these with an enterprise. */
const MADE = ['admin', 'user'].join();

/** A row of a new member. */
export function rowOf(account: string, mobile = ''): string {
  return `${account},${newSecret('m')},${NAME},,,${mobile}`;
}

/** Returns the rows below the header. */
export function textOf(rows: readonly string[]): string {
  return [HEADER, ...rows, ''].join('\n');
}

/** Rows of new members only. */
export function newMembers(enterprise: string, prefix: string, rows: number): ImportFile {
  const accounts = Array.from({ length: rows }, (_, row) => `${prefix}x${row}`);
  const expected = new Map(accounts.map((account) => [account, 'added' as const]));
  return { enterprise, text: textOf(accounts.map((each) => rowOf(each))), query: '', before: [], expected };
}

/** Among the rows are some that the platform refuses, and accounts that exist. An upsert deletes members, too. */
export function mixedFile(enterprise: string, prefix: string, rows: number, isUpsert: boolean): ImportFile {
  const accounts = Array.from({ length: rows }, (_, row) => `${prefix}x${row}`);
  const known = accounts.slice(0, KNOWN);
  const surplus = Array.from({ length: SURPLUS }, (_, index) => `${prefix}gone${index}`);
  const isRefused = (row: number) => row % REFUSED_EVERY === REFUSED_EVERY - 1;
  const expected = new Map<string, RowStatus>();
  for (const [row, account] of accounts.entries())
    expected.set(
      account,
      row < KNOWN ? (isUpsert ? 'updated' : 'failed') : isRefused(row) ? 'failed' : 'added',
    );
  if (isUpsert) for (const account of surplus) expected.set(account, 'deleted');
  return {
    enterprise,
    text: textOf(accounts.map((each, row) => rowOf(each, isRefused(row) ? REFUSED_MOBILE : ''))),
    query: isUpsert ? `?mode=upsert&deleteMissing=true&maxDeletes=${SURPLUS}&keep=${MADE}` : '',
    before: isUpsert ? [...known, ...surplus] : known,
    expected,
  };
}
