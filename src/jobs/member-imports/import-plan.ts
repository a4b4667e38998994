import { inOwnTrace } from '../../observability/tracing.ts';
import { ProblemException } from '../../problem/problem.exception.ts';
import type { ChunkRows, HeldJob } from '../store/held-job.ts';
import {
  type ImportOptions,
  ROWS_PER_CHUNK,
  type RowResult,
  type WaitingMember,
  type WaitingRow,
} from '../store/job-record.ts';
import { accountOf, isAccount } from './account-of.ts';
import type { ImportCalls, KnownMember, MembersByAccount } from './import-calls.ts';
import { callProblem, type RowOutcome } from './row-outcomes.ts';

const PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const EXISTS = 'A member with this account exists already.';
const OTHER = 'The account is there under another user name: the file may be of another enterprise.';
const COMPARED = ['name', 'departmentId', 'remark', 'passwordMobile'] as const;

/** Whether a row changes the member. What the row leaves out stays. */
function differs(row: WaitingMember, member: KnownMember): boolean {
  return COMPARED.some(
    (field) => row[field] !== undefined && comparable(row[field]) !== comparable(member[field]),
  );
}

/** A text as a file brings it back: in normal form C, without blanks around it, and with the line ends of any program. */
function comparable(text: string | null): string {
  return (text ?? '').normalize('NFC').trim().replaceAll(/\r\n?/g, '\n');
}

/** A row with a whole user name means that member, and no other one with the same account: the file may be of another enterprise. */
function isOther({ userName }: WaitingMember, member: KnownMember): boolean {
  const isWhole = userName !== undefined && accountOf(userName) !== userName;
  return isWhole && userName.toLowerCase() !== member.userName.toLowerCase();
}

/** Why a file cannot do with a member what the row says; undefined where it can. */
function impossible(row: WaitingMember, member: KnownMember | undefined): string | undefined {
  if (!isAccount(row.account))
    return 'The account has other characters than letters and digits: a file can neither add nor change such a member.';
  if (row.name === undefined)
    return `The row has no name, which ${member ? 'a change of a member' : 'a new member'} needs.`;
  return member || row.password !== undefined
    ? undefined
    : 'The row has no password, which a new member needs.';
}

function refusal(message: string) {
  return { status: 'failed', code: 'validation-failed', message } as const;
}

/** What is to be done with a row, before anything is sent. It has its result at once if there is nothing to do. */
export function plannedRow(
  row: WaitingMember,
  members: MembersByAccount,
  mode: ImportOptions['mode'],
): RowResult {
  const { account } = row;
  const member = members.get(account);
  const reason = impossible(row, member);
  if (!member) return reason === undefined ? { account, status: 'pending' } : { account, ...refusal(reason) };
  const known = { account, memberGlobalId: member.memberGlobalId };
  if (mode === 'add') return { ...known, ...refusal(EXISTS), code: 'upstream-rejected' };
  if (isOther(row, member)) return { ...known, ...refusal(OTHER) };
  if (!differs(row, member)) return { ...known, status: 'unchanged' };
  return reason === undefined
    ? { ...known, status: 'pending', was: 'different' }
    : { ...known, ...refusal(reason) };
}

/**
 * The members who are not in the file, without the acting user, the accounts to keep, and members whom no file can make. Throws
 * `too-many-deletes` if there are more than the request allows. A name that differs only in case protects its member too: the platform does not say whether it tells them
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
    ({ account, userName }) =>
      isAccount(account) && !kept.has(account.toLowerCase()) && userName.toLowerCase() !== user,
  );
  if (found.length > deletes.most)
    throw new ProblemException('too-many-deletes', {
      detail: `${found.length} members are not in the file, and maxDeletes allows to delete ${deletes.most}.`,
    });
  return found;
}

/** What became of a row whose call may have been carried out, as the members show it. */
export function foundOutcome(
  row: WaitingMember,
  { was, memberGlobalId }: RowResult,
  members: MembersByAccount,
): RowOutcome {
  const member = members.get(row.account);
  switch (was) {
    case undefined:
      return member && { status: 'added', memberGlobalId: member.memberGlobalId };
    case 'surplus':
      return member?.memberGlobalId === memberGlobalId ? undefined : { status: 'deleted' };
    case 'different':
      return member && !differs(row, member)
        ? { status: 'updated', memberGlobalId: member.memberGlobalId }
        : undefined;
  }
}

/** Adds chunks with the members to delete, and resolves to the number of chunks. May be repeated as long as nothing was sent. */
export async function makePlan(held: HeldJob, calls: ImportCalls): Promise<number> {
  const { definition, total } = held.job;
  const members = await readMembers(held, calls);
  const accounts = new Set<string>();
  let isComplete = true;
  for (let chunk = 0; chunk < held.job.chunks; chunk++) {
    const rows = await held.chunk(chunk);
    for (const { account } of rows?.results ?? []) accounts.add(account);
    if (rows) await planChunk(held, chunk, rows, members);
    else isComplete = false;
  }
  // Without every row it is not known who is missing from the file.
  const deletions = isComplete ? surplus(members, accounts, definition, definition.user.username) : [];
  let { chunks } = held.job;
  for (let from = 0; from < deletions.length; from += ROWS_PER_CHUNK)
    await held.save(chunks++, deletionRows(deletions.slice(from, from + ROWS_PER_CHUNK)));
  await held.prepared(chunks, total + deletions.length);
  return chunks;
}

async function planChunk(
  held: HeldJob,
  chunk: number,
  { results, waiting }: ChunkRows,
  members: MembersByAccount,
): Promise<void> {
  const planned = [...results];
  for (const { at, member } of waiting) planned[at] = plannedRow(member, members, held.job.definition.mode);
  // The chunk says already that a row is new.
  if (planned.every(({ status, was }) => status === 'pending' && was === undefined)) return;
  const open = waiting.filter(({ at }) => planned[at]?.status === 'pending');
  await held.save(chunk, { results: planned, waiting: open });
}

function deletionRows(members: readonly KnownMember[]): ChunkRows {
  const results = members.map(({ account, memberGlobalId }): RowResult => {
    return { account, memberGlobalId, status: 'pending', was: 'surplus' };
  });
  return { results, waiting: members.map(({ account }, at) => withoutValues(account, at)) };
}

/** A row that has no values: of a member to delete, or one whose values are gone. */
export function withoutValues(account: string, at: number): WaitingRow {
  return { at, member: { account } };
}

/** Asks until the platform gives the whole list, or the job may not go on. No members if the job is cancelled meanwhile. */
async function readMembers(held: HeldJob, calls: ImportCalls): Promise<MembersByAccount> {
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    held.assertHeld();
    try {
      return await inOwnTrace('import', () => calls.all(), held.job.definition.trace);
    } catch (error) {
      const problem = callProblem(error);
      const { outcome, status } = problem.body;
      if (held.isOverdue || outcome !== 'not_processed' || status < 500) throw problem;
      await held.pause(pauseMs);
      if ((await held.read()).isCancelled) return new Map();
    }
  }
}
