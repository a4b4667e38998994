import { ProblemException } from '../problem/problem.exception.ts';
import type { ImportOptions, RowResult, WaitingMember } from './job-record.ts';
import type { KnownMember, MembersByAccount } from './member-directory.ts';

const COMPARED = ['name', 'departmentId', 'remark', 'passwordMobile'] as const;

/** Whether a row changes the member. What the row leaves out stays, and an empty text is the same as none. */
export function differs(row: WaitingMember, member: KnownMember): boolean {
  return COMPARED.some(
    (field) => row[field] !== undefined && (row[field] || null) !== (member[field] || null),
  );
}

/** What is to be done with a row, before anything is sent: the result where that is nothing. */
export function plannedRow(
  row: WaitingMember,
  members: MembersByAccount,
  mode: ImportOptions['mode'],
): RowResult {
  const { account } = row;
  const member = members.get(account);
  if (!member) return { account, status: 'pending' };
  const { memberGlobalId } = member;
  if (mode === 'add')
    return {
      account,
      status: 'failed',
      code: 'upstream-rejected',
      message: 'A member with this account exists already.',
      memberGlobalId,
    };
  if (!differs(row, member)) return { account, status: 'unchanged', memberGlobalId };
  return { account, status: 'pending', was: 'different', memberGlobalId };
}

/**
 * The members who are not in the file, without the acting user and the accounts to keep. Throws `too-many-deletes` where there are more
 * than the request allows. A name that differs only in case protects its member too: the platform does not say whether it tells them
 * apart, and a deleted member cannot be brought back.
 */
export function surplus(
  members: MembersByAccount,
  accounts: ReadonlySet<string>,
  { deletes }: ImportOptions,
  actingUser: string,
): readonly KnownMember[] {
  if (!deletes) return [];
  const kept = new Set([...accounts, ...deletes.keep].map((account) => account.toLowerCase()));
  const user = actingUser.toLowerCase();
  const found = [...members.values()].filter(
    ({ account, userName }) => !kept.has(account.toLowerCase()) && userName.toLowerCase() !== user,
  );
  assertBounded(found.length, deletes.most);
  return found;
}

function assertBounded(count: number, most: number): void {
  if (count > most)
    throw new ProblemException('too-many-deletes', {
      detail: `${count} members are not in the file, and maxDeletes allows to delete ${most}.`,
    });
}
